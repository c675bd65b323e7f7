import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise
from random import Random
from typing import Any

import httpx2
import pytest

from preceptor import Preceptor
from tests.requirements import covers
from tests.surfaces.helpers import query
from tests.surfaces.test_instructions import PATH, create, listed, read, revise
from tests.surfaces.test_templates import GREETING

MANY = 16
ROUNDS = 1000 if os.environ.get("PRECEPTOR_NIGHTLY") else 4
DICE = Random(16)
Json = dict[str, Any]
Edit = Callable[[httpx2.AsyncClient, Json, int, dict[str, str]], Awaitable[httpx2.Response]]


async def put(client: httpx2.AsyncClient, made: Json, number: int, headers: dict[str, str]) -> httpx2.Response:
    body = {"content": {"guidelines": [f"by {number}"]}, "bump": DICE.choice(["major", "minor", "patch"])}
    return await client.put(f"{PATH}/{made['familyId']}", json=body, headers=headers)


async def restore(client: httpx2.AsyncClient, made: Json, number: int, headers: dict[str, str]) -> httpx2.Response:
    return await client.post(f"{PATH}/{made['familyId']}/restore/{made['instructionId']}", headers=headers)


async def either(client: httpx2.AsyncClient, made: Json, number: int, headers: dict[str, str]) -> httpx2.Response:
    return await (put if number % 2 else restore)(client, made, number, headers)


EDITS: dict[str, Edit] = {"PUT": put, "restore": restore, "PUT and restore": either}


async def in_order(client: httpx2.AsyncClient, family_id: str) -> list[Json]:
    """The versions, oldest first, after checking that they are one chain without a gap, with one head."""
    versions = (await listed(client, f"{PATH}/{family_id}/versions"))[::-1]
    parents = [None, *(version["instructionId"] for version in versions[:-1])]
    assert [version["parentInstructionId"] for version in versions] == parents
    numbers = [tuple(map(int, version["version"].split("."))) for version in versions]
    for before, after in pairwise(numbers):
        major, minor, patch = before
        assert after in {(major + 1, 0, 0), (major, minor + 1, 0), (major, minor, patch + 1)}
    assert [version["isLatestVersion"] for version in versions] == [False] * (len(versions) - 1) + [True]
    assert (await read(client, family_id)) == versions[-1]
    return versions


@covers("F16")
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
async def test_without_a_tag_every_edit_becomes_a_version_of_its_own(client: httpx2.AsyncClient, edit: Edit):
    for _ in range(ROUNDS):
        made = await create(client)
        answers = await asyncio.gather(*(edit(client, made, number, {}) for number in range(MANY)))
        assert {answer.status_code for answer in answers} <= {200, 201}, [answer.text for answer in answers]
        versions = await in_order(client, made["familyId"])
        ids = [answer.json()["instructionId"] for answer in answers]
        assert sorted(ids) == sorted(version["instructionId"] for version in versions[1:])
        kept = {version["instructionId"]: version["content"] for version in versions}
        assert all(kept[answer.json()["instructionId"]] == answer.json()["content"] for answer in answers)


@covers("F16")
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
async def test_with_the_tag_they_read_one_edit_succeeds_and_the_others_are_told(client: httpx2.AsyncClient, edit: Edit):
    for _ in range(ROUNDS):
        made = await create(client)
        answers = await asyncio.gather(*(edit(client, made, number, {"If-Match": '"1"'}) for number in range(MANY)))
        statuses = Counter(answer.status_code for answer in answers)
        assert statuses[412] == MANY - 1
        assert statuses[200] + statuses[201] == 1
        assert len(await in_order(client, made["familyId"])) == 2


@covers("F16")
async def test_of_many_who_move_a_label_from_where_they_saw_it_one_does(client: httpx2.AsyncClient):
    made = await create(client)
    versions = [await revise(client, made["familyId"], name=f"n{number}") for number in range(MANY)]
    path = f"{PATH}/{made['familyId']}/labels/production"

    async def move(number: int, tag: str | None) -> httpx2.Response:
        headers = {} if tag is None else {"If-Match": tag}
        return await client.put(path, json={"instructionId": versions[number]["instructionId"]}, headers=headers)

    tag = '"0"'
    for _ in range(ROUNDS):
        before = tag
        answers = await asyncio.gather(*(move(number, before) for number in range(1, MANY)))
        assert Counter(answer.status_code for answer in answers) == {200: 1, 412: MANY - 2}
        [won] = [answer for answer in answers if answer.status_code == 200]
        assert (await client.get(path)).content == won.content
        tag = (await move(0, won.headers["etag"])).headers["etag"]
    answers = await asyncio.gather(*(move(number, None) for number in range(MANY)))
    assert {answer.status_code for answer in answers} == {200}
    last = max(answers, key=lambda answer: answer.json()["revision"])
    assert (await client.get(path)).content == last.content


@covers("F16")
async def test_of_many_who_move_a_status_with_the_tag_they_read_one_does(client: httpx2.AsyncClient):
    for _ in range(ROUNDS):
        made = await create(client)
        path = f"{PATH}/{made['familyId']}/status"
        moves = [client.post(path, json={"status": "deprecated"}, headers={"If-Match": '"1"'}) for _ in range(MANY)]
        statuses = Counter(answer.status_code for answer in await asyncio.gather(*moves))
        assert statuses == {200: 1, 412: MANY - 1}
        free = await asyncio.gather(*(client.post(path, json={"status": "archived"}) for _ in range(MANY)))
        assert {answer.status_code for answer in free} == {200}
        assert {answer.json()["revision"] for answer in free} == {3}


@covers("F16")
async def test_edits_and_a_deletion_at_once_are_carried_out_one_after_the_other(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    """What was answered as done is there; what came after the deletion was told so; nothing fails."""
    for _ in range(ROUNDS):
        made = await create(client)
        template = await create(client, **GREETING)
        family = f"{PATH}/{made['familyId']}"
        filled = {"customizations": {"company": "x"}}
        doing: list[Awaitable[httpx2.Response]] = [put(client, made, number, {}) for number in range(5)]
        doing += [restore(client, made, number, {}) for number in range(3)]
        doing += [client.put(f"{family}/labels/l{n}", json={"instructionId": made["familyId"]}) for n in range(3)]
        doing += [client.delete(family) for _ in range(2)]
        doing += [client.post(f"{PATH}/from-template/{template['familyId']}", json=filled) for _ in range(3)]
        DICE.shuffle(doing)
        answers = await asyncio.gather(*doing)
        statuses = Counter(answer.status_code for answer in answers)
        assert set(statuses) <= {200, 201, 204, 404}, statuses
        assert statuses[204] == 1
        done = [
            answer.json()["instructionId"]
            for answer in answers
            if answer.status_code in {200, 201} and answer.json().get("familyId") == made["familyId"]
            if "content" in answer.json()
        ]
        of_family = f"SELECT id FROM instruction_versions WHERE family = '{made['familyId']}'"
        kept = [known for (known,) in query(preceptor, of_family)]
        assert sorted(kept) == sorted([made["instructionId"], *done])
        assert (await client.get(family)).status_code == 404
