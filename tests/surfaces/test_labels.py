from typing import Any

import httpx2
import orjson

from preceptor import Preceptor
from tests.surfaces.helpers import problem, query, rows
from tests.surfaces.test_instructions import PATH, create, listed, revise

Json = dict[str, Any]


async def label(client: httpx2.AsyncClient, made: Json, name: str, tag: str | None = None) -> httpx2.Response:
    headers = {} if tag is None else {"If-Match": tag}
    path = f"{PATH}/{made['familyId']}/labels/{name}"
    return await client.put(path, json={"instructionId": made["instructionId"]}, headers=headers)


async def test_a_label_points_at_a_version_and_moves_only_from_where_it_was_seen(client: httpx2.AsyncClient):
    first = await create(client)
    second = await revise(client, first["familyId"], name="Two")
    made = await label(client, first, "production", '"0"')
    assert (made.status_code, made.headers["etag"]) == (200, '"1"')
    assert (made.json()["version"], made.json()["movedBy"]) == ("1.0.0", "admin")
    problem(await label(client, second, "production", '"0"'), 412, "precondition_failed")
    problem(await label(client, second, "production", '"7"'), 412, "precondition_failed")
    moved = await label(client, second, "production", '"1"')
    assert (moved.status_code, moved.headers["etag"], moved.json()["version"]) == (200, '"2"', "1.0.1")
    await label(client, first, "staging")
    assert [(one["name"], one["version"]) for one in await listed(client, f"{PATH}/{first['familyId']}/labels")] == [
        ("production", "1.0.1"),
        ("staging", "1.0.0"),
    ]
    assert (await client.get(f"{PATH}/{first['familyId']}/labels/production")).content == moved.content


async def test_a_label_that_is_where_it_should_be_does_not_move(client: httpx2.AsyncClient, preceptor: Preceptor):
    made = await create(client)
    first = await label(client, made, "production")
    before = rows(preceptor)
    again = await label(client, made, "production")
    assert (again.content, again.headers["etag"]) == (first.content, '"1"')
    assert rows(preceptor) == before


async def test_a_removed_label_is_gone_and_its_tags_are_never_used_again(client: httpx2.AsyncClient):
    made = await create(client)
    path = f"{PATH}/{made['familyId']}/labels/production"
    await label(client, made, "production")
    problem(await client.delete(path, headers={"If-Match": '"9"'}), 412, "precondition_failed")
    assert (await client.delete(path, headers={"If-Match": '"1"'})).status_code == 204
    for answer in (await client.get(path), await client.delete(path)):
        problem(answer, 404, "not_found")
    assert await listed(client, f"{PATH}/{made['familyId']}/labels") == []
    problem(await label(client, made, "production", '"1"'), 412, "precondition_failed")
    assert (await label(client, made, "production", '"0"')).headers["etag"] == '"2"'


async def test_a_family_means_its_head_and_another_familys_version_is_refused(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    made, other = await create(client), await create(client)
    path = f"{PATH}/{made['instructionId']}/labels/production"
    before = rows(preceptor)
    problem(await client.put(path, json={"instructionId": other["instructionId"]}), 404, "not_found")
    problem(await client.put(path, json={"instructionId": "nothing"}), 404, "not_found")
    assert rows(preceptor) == before
    pointed = await client.put(path, json={"instructionId": made["familyId"]})
    assert pointed.json()["instructionId"] == made["instructionId"]


async def test_a_name_that_could_be_taken_for_something_else_is_no_label(client: httpx2.AsyncClient):
    made = await create(client)
    for name in ("latest", "exact", "Production", "1.0.0", "^1", "a b", "x" * 64, "ü"):
        problem(await label(client, made, name), 422, "invalid")


async def test_every_move_of_a_label_is_written_down(client: httpx2.AsyncClient, preceptor: Preceptor):
    first = await create(client)
    second = await revise(client, first["familyId"], name="Two")
    await label(client, first, "production")
    await label(client, second, "production")
    await client.delete(f"{PATH}/{first['familyId']}/labels/production")
    events = query(preceptor, "SELECT kind, payload FROM events WHERE kind LIKE '%.label_%' ORDER BY seq")
    facts = [(kind.rpartition(".")[2], orjson.loads(payload)) for kind, payload in events]
    assert [(kind, fact["by"], fact["before"], fact.get("after")) for kind, fact in facts] == [
        ("label_moved", "admin", None, first["instructionId"]),
        ("label_moved", "admin", first["instructionId"], second["instructionId"]),
        ("label_removed", "admin", second["instructionId"], None),
    ]


async def test_versions_and_labels_are_read_in_pages_or_all_at_once(client: httpx2.AsyncClient):
    first = await create(client)
    for number in range(4):
        await revise(client, first["familyId"], name=f"Name {number}")
        await label(client, first, f"label-{number}")
    for list_ in (f"{PATH}/{first['familyId']}/versions", f"{PATH}/{first['familyId']}/labels"):
        whole = await listed(client, list_)
        page = (await client.get(list_, params={"limit": 2})).json()
        assert (len(whole) >= 4, page["items"]) == (True, whole[:2])
        rest = (await client.get(list_, params={"cursor": page["nextCursor"]})).json()
        assert (rest["items"], rest["nextCursor"]) == (whole[2:], None)
        problem(await client.get(list_, params={"cursor": "x"}), 400, "bad_cursor")
        problem(await client.get(list_, params={"limit": 0}), 422, "invalid")
