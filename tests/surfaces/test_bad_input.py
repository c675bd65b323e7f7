import asyncio
import json
from collections.abc import AsyncIterator
from itertools import product
from typing import Any

import httpx2
import pytest

from preceptor import Preceptor
from preceptor.surfaces.rest import bodies
from tests.requirements import covers
from tests.surfaces.helpers import Operation, app_of, one_of_everything, operations, problem, rows

LIMIT = 1_000_000
ROOM = {
    "bundles_bring_in": 5_000_000,
    "imports_bring_in": 20_000_000,
    "openai_chat": 4_000_000,
    "openai_respond": 4_000_000,
}
"""The operations that take more than others."""
OTHER_PEOPLES_FORMATS = {"openai_chat", "openai_respond", "mcp_speak"}
"""Their clients send fields that we do not know, and such fields mean nothing here."""
JSON = {"Content-Type": "application/json"}

MALFORMED = {
    "not JSON": b"{",
    "a key twice": b'{"name": "a", "name": "b"}',
    "a key twice, deep inside": b'{"name": "a", "metadata": {"a": [{"b": 1, "b": 2}]}}',
    "NaN": b'{"name": NaN}',
    "Infinity": b'{"name": Infinity}',
    "minus Infinity": b'{"name": -Infinity}',
    "a float that is infinite": b'{"name": 1e999}',
    "33 levels": b'{"a":' + b"[" * 32 + b"]" * 32 + b"}",
    "a million levels": b"[" * 999_000,
    "1,001 keys": json.dumps({f"key-{n}": n for n in range(1001)}).encode(),
    "a NUL": b'{"name": "a\\u0000b"}',
    "a NUL byte": b'{"name": "a\x00b"}',
    "half a surrogate pair": b'{"name": "\\ud800"}',
    "the other half": b'{"name": "\\udfff"}',
    "a byte order mark": b'\xef\xbb\xbf{"name": "a"}',
    "UTF-16": '{"name": "a"}'.encode("utf-16"),
    "a byte that is not UTF-8": b'{"name": "\xff"}',
    "more after the end": b'{"name": "a"} {}',
    "5,000 digits": b'{"name": ' + b"9" * 5000 + b"}",
    "a number of 65 bits": b'{"name": 18446744073709551616}',
    "single quotes": b"{'name': 'a'}",
    "a comment": b'{"name": "a" /* ! */}',
    "a comma too many": b'{"name": "a",}',
}


@pytest.fixture
async def ids(client: httpx2.AsyncClient) -> dict[str, str]:
    return await one_of_everything(client, "example")


def with_a_body(client: httpx2.AsyncClient) -> list[Operation]:
    return [operation for operation in operations(app_of(client)) if operation.body is not None]


@covers("B7", "B8")
async def test_json_that_two_readers_could_understand_differently_is_refused_by_every_operation(
    client: httpx2.AsyncClient, preceptor: Preceptor, ids: dict[str, str]
):
    before = rows(preceptor)
    for body, operation in product(MALFORMED.values(), with_a_body(client)):
        answer = await client.request(operation.method, operation.at(ids), content=body, headers=JSON)
        problem(answer, 400, "malformed_json")
    assert rows(preceptor) == before


@covers("B7")
async def test_a_body_over_the_limit_is_refused_before_it_is_read(
    client: httpx2.AsyncClient, preceptor: Preceptor, ids: dict[str, str]
):
    sent = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(10_000):
            sent += 65_536
            yield b"\xff" * 65_536

    before = rows(preceptor)
    for operation in with_a_body(client):
        at = operation.at(ids)
        whole = await client.request(
            operation.method, at, content=b"\xff" * (ROOM.get(operation.id, LIMIT) + 1), headers=JSON
        )
        problem(whole, 413, "payload_too_large")
        claimed = JSON | {"Content-Length": "9" * 5000}
        problem(await client.request(operation.method, at, content=b"", headers=claimed), 413, "payload_too_large")
        sent = 0
        problem(await client.request(operation.method, at, content=chunks(), headers=JSON), 413, "payload_too_large")
    assert rows(preceptor) == before


@covers("B7")
async def test_a_body_that_does_not_arrive_is_given_up_on(
    client: httpx2.AsyncClient, preceptor: Preceptor, monkeypatch: pytest.MonkeyPatch
):
    async def endless() -> AsyncIterator[bytes]:
        yield b'{"name": '
        await asyncio.Event().wait()

    monkeypatch.setattr(bodies, "BODY_PATIENCE", 0.05)
    before = rows(preceptor)
    answer = await client.post("/api/agents", content=endless(), headers=JSON)
    problem(answer, 408, "body_timeout")
    assert answer.headers["connection"] == "close"
    assert rows(preceptor) == before


@covers("B7")
async def test_a_body_of_exactly_the_limit_is_read(client: httpx2.AsyncClient):
    padded = json.dumps({"name": "a"}).encode().ljust(LIMIT)
    assert (await client.post("/api/agents", content=padded, headers=JSON)).status_code == 201


KINDS = {
    "gzip": {"Content-Encoding": "gzip"},
    "gzip among others": {"Content-Encoding": "identity, gzip"},
    "plain text": {"Content-Type": "text/plain"},
    "a form": {"Content-Type": "application/x-www-form-urlencoded"},
    "nothing at all": {"Content-Type": ""},
}


@covers("B7", "S27")
@pytest.mark.parametrize("headers", KINDS.values(), ids=KINDS)
async def test_a_body_that_is_packed_or_not_said_to_be_json_is_refused(
    client: httpx2.AsyncClient, ids: dict[str, str], headers: dict[str, str]
):
    for operation in with_a_body(client):
        content = json.dumps(operation.body).encode()
        answer = await client.request(operation.method, operation.at(ids), content=content, headers=JSON | headers)
        problem(answer, 415, "unsupported_media_type")


@covers("B7")
async def test_too_many_headers_and_a_foreign_host_are_refused(client: httpx2.AsyncClient):
    many = [(f"x-{number}", "1") for number in range(10_000)]
    problem(await client.get("/healthz", headers=many), 431, "headers_too_large")
    problem(await client.get("/healthz", headers={"X-Large": "x" * 40_000}), 431, "headers_too_large")
    for host in ("evil.example", "", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "[::1", "localhost:x:y"):
        problem(await client.get("/healthz", headers={"Host": host}), 400, "wrong_host")
    problem(await client.get("/healthz", headers=[("Host", "localhost"), ("Host", "evil.example")]), 400, "wrong_host")
    assert (await client.get("/healthz", headers={"Host": "LOCALHOST.:3003"})).status_code == 200


FOREIGN_FIELDS: dict[str, Any] = {
    "id": "x",
    "orgId": "rivals",
    "org_id": "rivals",
    "owner": {"orgId": "rivals", "userId": "admin"},
    "createdBy": "admin",
    "createdAt": "2020-01-01T00:00:00Z",
    "updatedAt": "2020-01-01T00:00:00Z",
    "revision": 7,
    "isLatestVersion": True,
    "usageCount": 7,
    "averageRating": 5,
    "revokedAt": None,
    "secretHash": "0",
    "key": "pcp_x",
    "__proto__": {},
    "a/b~c": 1,
}


@covers("S3")
async def test_fields_that_are_the_servers_own_are_refused_by_name(
    client: httpx2.AsyncClient, preceptor: Preceptor, ids: dict[str, str]
):
    before = rows(preceptor)
    for operation in with_a_body(client):
        body = operation.body or {}
        if operation.id in OTHER_PEOPLES_FORMATS:
            continue
        for field, value in FOREIGN_FIELDS.items():
            if field not in body:
                answer = await client.request(operation.method, operation.at(ids), json=body | {field: value})
                pointer = "/" + field.replace("~", "~0").replace("/", "~1")
                assert pointer in [said["path"] for said in problem(answer, 422, "invalid")["errors"]]
    assert rows(preceptor) == before


async def test_a_field_has_one_name_and_one_type(client: httpx2.AsyncClient):
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("/api/agents", {"agent_id": "x", "name": "x"}),
        ("/api/agents", {"name": 5}),
        ("/api/agents", {"name": "x", "capabilities": "abc"}),
        ("/api/keys", {"name": "x", "role": "viewer", "expiresAt": 4_000_000_000}),
        ("/api/keys", {"name": "x", "role": "viewer", "expiresAt": "4000000000"}),
        ("/api/keys", {"name": "x", "role": "viewer", "expiresAt": "2999-12-31"}),
        ("/api/keys", {"name": "x", "role": "viewer", "expiresAt": "2999-12-31T00:00:00"}),
        ("/api/keys", {"name": "x", "role": "viewer", "expiresAt": "9999-12-31T23:59:59-12:00"}),
        ("/api/conversations", {"agentId": "assistant", "metadata": {"n": 1e300}}),
    ]
    for path, body in wrong:
        problem(await client.post(path, json=body), 422, "invalid")
    told = {"name": "x", "role": "viewer", "expiresAt": "2999-12-31T23:00:00+07:00"}
    assert (await client.post("/api/keys", json=told)).json()["expiresAt"] == "2999-12-31T16:00:00Z"


async def test_a_complaint_names_a_place_in_what_was_sent_and_says_what_to_do(client: httpx2.AsyncClient):
    execute = {"type": "agent.execute", "resource": {"type": "agent", "id": "assistant"}}
    step = {"index": 0, "name": "x", "command": execute | {"data": {"userMessage": "x", "instructions": {"no": 1}}}}
    answer = await client.post("/api/executions", json={"steps": [step]})
    paths = {said["path"] for said in problem(answer, 422, "invalid")["errors"]}
    above = "/steps/0/command/data/instructions"
    assert paths >= {f"{above}/$from", f"{above}/no"}
    assert not [path for path in paths if "agent.execute" in path]
    nameless = await client.post("/api/agents", json={})
    assert problem(nameless, 422, "invalid")["errors"] == [{"path": "/name", "message": "Field required"}]
    blank = await client.post("/api/agents", json={"name": " "})
    assert problem(blank, 422, "invalid")["detail"] == "/name: There must be something in it that can be seen."
    bare = await client.patch("/api/agents/assistant", json={"name": "x"}, headers={"If-Match": "1"})
    said = 'if-match: Send the ETag as you read it, such as "1" with its quotes, or *.'
    assert problem(bare, 422, "invalid")["detail"] == said


async def test_a_parameter_that_an_operation_does_not_have_is_refused_and_named(
    client: httpx2.AsyncClient, preceptor: Preceptor, ids: dict[str, str]
):
    before = rows(preceptor)
    asked = [one for one in operations(app_of(client)) if one.path.startswith("/api/")]
    assert len(asked) > 50
    for one in asked:
        answer = await client.request(one.method, one.at(ids), params={"nonesuch": "1"}, **one.sent(ids))
        told = problem(answer, 422, "invalid")
        assert [complaint["path"] for complaint in told["errors"]] == ["nonesuch"], one.id
    assert rows(preceptor) == before


MEANT = {
    "agent": "Perhaps agentId was meant",
    "agent_id": "Perhaps agentId was meant",
    "AGENTID": "Perhaps agentId was meant",
    "offset": "It takes agentId, status, q, cursor, limit",
}


@pytest.mark.parametrize("name", MEANT)
async def test_who_misspells_a_parameter_is_told_which_one_was_meant(client: httpx2.AsyncClient, name: str):
    told = problem(await client.get("/api/conversations", params={name: "x", "limit": "0"}), 422, "invalid")
    assert told["errors"][0] == {"path": name, "message": f"This operation has no such parameter. {MEANT[name]}"}
    assert [complaint["path"] for complaint in told["errors"]] == [name, "limit"]
    none = problem(await client.get("/api/agents/assistant", params={"limit": "1"}), 422, "invalid")
    assert none["detail"] == "limit: This operation has no such parameter. It takes none."


async def test_a_parameter_that_is_said_twice_is_refused_rather_than_chosen_from(client: httpx2.AsyncClient):
    told = problem(await client.get("/api/conversations?limit=1&limit=2&q=a"), 422, "invalid")
    assert told["errors"] == [{"path": "limit", "message": "Say it once: it is here more than once"}]


async def test_a_thousand_misspelled_parameters_take_no_time(client: httpx2.AsyncClient):
    query = "&".join(f"agentId{number}=x" for number in range(1000))
    told = problem(await client.get(f"/api/conversations?{query}"), 422, "invalid")
    assert [complaint["path"] for complaint in told["errors"]] == [f"agentId{number}" for number in range(5)]


async def test_an_operation_that_needs_a_body_says_so(client: httpx2.AsyncClient):
    told = problem(await client.post("/api/agents"), 422, "invalid")
    assert told["errors"] == [{"path": "/", "message": "This operation needs a body, and there is none"}]


async def test_clients_of_openai_may_send_parameters_that_we_do_not_know(client: httpx2.AsyncClient):
    assert (await client.get("/v1/models", params={"api-version": "2030-01-01"})).status_code == 200
    assert (await client.get("/v1/models/assistant", params={"api-version": "2030-01-01"})).status_code == 200
