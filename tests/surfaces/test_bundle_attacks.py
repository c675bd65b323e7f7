import json
from typing import Any

import httpx2
import pytest

from preceptor import Preceptor
from tests.requirements import covers
from tests.surfaces.helpers import Json, new_org, problem, rows

PATH = "/api/instructions"
JSON = {"Content-Type": "application/json"}


def bundle(version: Json, **instruction: Any) -> Json:
    return {"instructions": [{"versions": [{"name": "x", "type": "system"} | version]} | instruction]}


REVIVAL: dict[str, Json] = {
    "langchain": {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {}},
    "a class": {"__class__": "subprocess.Popen"},
    "a reduction": {"__reduce__": "x"},
    "a reference": {"$ref": "file:///etc/passwd"},
    "python": {"py/object": "os.system"},
    "a prototype": {"__proto__": {"isAdmin": True}},
}
SERVERS: dict[str, Json] = {
    "an owner": {"owner": {"orgId": "acme", "userId": "admin"}},
    "an id": {"instructionId": "x"},
    "usage": {"usageCount": 9},
    "a rating": {"averageRating": 5},
    "an author": {"createdBy": "admin"},
    "a moment": {"createdAt": "2026-01-01T00:00:00Z"},
    "a revision": {"revision": 1},
}


@covers("S30")
@pytest.mark.parametrize("extra", [*REVIVAL.values(), *SERVERS.values()], ids=[*REVIVAL, *SERVERS])
async def test_a_field_we_do_not_know_is_refused_wherever_it_stands(
    client: httpx2.AsyncClient, preceptor: Preceptor, extra: Json
):
    before = rows(preceptor)
    places: list[Json] = [
        {"instructions": [], **extra},
        bundle({}, **extra),
        bundle(extra),
        bundle({"content": extra}),
        bundle({"content": {"examples": [{"input": "a", "expectedOutput": "b"} | extra]}}),
    ]
    for place in places:
        problem(await client.post(f"{PATH}/import", json=place), 422, "invalid")
    assert rows(preceptor) == before


@covers("S30")
async def test_text_that_would_run_elsewhere_is_kept_as_text(client: httpx2.AsyncClient):
    texts = [
        "{{7*7}}",
        "${jndi:ldap://x}",
        "__import__('os').system('id')",
        "<script>alert(1)</script>",
        "'; DROP TABLE",
    ]
    answer = await client.post(f"{PATH}/import", json=bundle({"content": {"guidelines": texts}}))
    assert answer.status_code == 200, answer.text
    [kept] = (await client.get(f"{PATH}/export")).json()["instructions"]
    assert kept["versions"][0]["content"]["guidelines"] == texts


@covers("S10")
@pytest.mark.parametrize(
    "text", ["{{other}}", "{{a.b}}", "{{a[b]}}", "{{0}}", "{{", "{% for x in y %}", "{{a:>1000000000}}"]
)
async def test_a_template_in_a_bundle_takes_declared_names_only(client: httpx2.AsyncClient, text: str):
    template = {"type": "template", "content": {"systemPrompt": text}, "variables": [{"name": "a"}]}
    problem(await client.post(f"{PATH}/import", json=bundle(template)), 422, "undeclared_variable")
    new = {"name": "x"} | template
    problem(await client.post(PATH, json=new), 422, "undeclared_variable")
    assert (await client.get(f"{PATH}/export")).json()["instructions"] == []


@covers("S10")
async def test_a_template_stays_within_its_declared_size(client: httpx2.AsyncClient):
    variables = [{"name": "a", "maxLength": 10_000}]
    template = {"name": "x", "type": "template", "content": {"systemPrompt": "{{a}}" * 1_000}, "variables": variables}
    made = (await client.post(PATH, json=template)).json()
    path = f"{PATH}/from-template/{made['instructionId']}"
    problem(await client.post(path, json={"customizations": {"a": "x" * 10_000}}), 422, "invalid")
    problem(await client.post(path, json={"customizations": {"a": "x" * 10_001}}), 422, "invalid")
    filled = (await client.post(path, json={"customizations": {"a": "{{a}}"}})).json()
    assert filled["content"]["systemPrompt"] == "{{a}}" * 1_000


@covers("S30")
async def test_a_bundle_of_five_megabytes_is_read_and_a_larger_one_is_not(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    many = [
        {"versions": [{"name": f"n{n}", "type": "task", "content": {"systemPrompt": "x" * 49_000}}]} for n in range(100)
    ]
    whole = json.dumps({"instructions": many}).encode()
    padded = whole + b" " * (5_000_000 - len(whole))
    answer = await client.post(f"{PATH}/import?dryRun=true", content=padded, headers=JSON)
    assert (answer.status_code, len(answer.json()["steps"])) == (200, 100)
    before = rows(preceptor)
    too_large = await client.post(f"{PATH}/import", content=padded + b" ", headers=JSON)
    problem(too_large, 413, "payload_too_large")
    assert rows(preceptor) == before


HUGE: dict[str, Any] = {
    "too many instructions": {
        "instructions": [{"familyId": str(n), "versions": [{"name": "x", "type": "task"}]} for n in range(2_001)]
    },
    "too many versions": {
        "instructions": [
            {"versions": [{"name": "x", "type": "task", "version": f"1.0.{n}"} for n in range(1_001)]},
        ]
    },
    "a text too long": bundle({"content": {"systemPrompt": "x" * 50_001}}),
    "too many lines": bundle({"content": {"guidelines": ["x"] * 501}}),
}


@covers("S30")
@pytest.mark.parametrize("body", HUGE.values(), ids=HUGE)
async def test_a_bundle_that_swells_is_refused(client: httpx2.AsyncClient, body: Json):
    problem(await client.post(f"{PATH}/import", json=body), 422, "invalid")


@covers("S30")
@pytest.mark.parametrize(
    "raw", [b"[" * 100_000, b'{"a":' * 50 + b"1" + b"}" * 50, b'{"instructions": [], "instructions": []}', b"\xff"]
)
async def test_json_that_two_readers_could_read_differently_is_refused(client: httpx2.AsyncClient, raw: bytes):
    problem(await client.post(f"{PATH}/import", content=raw, headers=JSON), 400, "malformed_json")


@covers("S30")
@pytest.mark.parametrize("kind", ["application/yaml", "text/plain", "application/x-python-serialize"])
async def test_nothing_but_json_is_read_over_http(client: httpx2.AsyncClient, kind: str):
    answer = await client.post(f"{PATH}/import", content=b'{"instructions": []}', headers={"Content-Type": kind})
    problem(answer, 415, "unsupported_media_type")


@covers("S30")
async def test_an_id_in_a_bundle_never_becomes_an_id_nor_reaches_another_organisation(client: httpx2.AsyncClient):
    new = {"name": "Ours", "type": "task", "content": {"systemPrompt": "ours"}, "isPublic": True}
    ours = (await client.post(PATH, json=new)).json()
    other = await new_org(client, "acme")
    claimed = bundle({"content": {"systemPrompt": "theirs"}, "isPublic": True}, familyId=ours["familyId"])
    done = (await client.post(f"{PATH}/import", json=claimed, headers=other)).json()["steps"]
    assert [step["action"] for step in done] == ["create"]
    assert done[0]["familyId"] != ours["familyId"]
    seen = (await client.get(f"{PATH}/{ours['familyId']}", headers=other)).json()
    assert seen["content"]["systemPrompt"] == "ours"
    assert len((await client.get(f"{PATH}/{ours['familyId']}/versions")).json()["items"]) == 1


@covers("S30")
async def test_an_assignment_in_a_bundle_obeys_the_locks(client: httpx2.AsyncClient):
    content = {"constraints": [{"id": "c", "text": "Never", "locked": True}]}
    body = bundle({"content": content}, familyId="f")
    body["assignments"] = [
        {"agentId": "assistant", "instruction": "f", "customizations": {"disabledConstraints": ["c"]}}
    ]
    key = {"name": "editor", "role": "editor"}
    editor = {"Authorization": f"Bearer {(await client.post('/api/keys', json=key)).json()['key']}"}
    problem(await client.post(f"{PATH}/import", json=body, headers=editor), 403, "forbidden")
    assert (await client.get(f"{PATH}/export")).json()["instructions"] == []
