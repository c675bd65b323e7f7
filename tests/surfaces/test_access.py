import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from fastapi import APIRouter

from preceptor import Preceptor
from preceptor.domain.ownership import Permission, Role
from preceptor.surfaces import http as application
from preceptor.surfaces.http import create_app
from preceptor.surfaces.rest.routing import Api, WithoutPermission
from tests.conftest import ADMIN, ADMIN_KEY
from tests.requirements import covers
from tests.surfaces.helpers import (
    NEEDS,
    PUBLIC,
    Operation,
    app_of,
    bearer,
    insert_key,
    new_key,
    new_org,
    one_of_everything,
    operations,
    problem,
    rows,
)

CANARY = "canary-9f3a"
STREAMS = {"conversations_events"}
"""Which never end."""
ALL = "viewer editor operator admin"
FROM_EDITOR = "editor operator admin"
FROM_OPERATOR = "operator admin"
ROLES: dict[str, str] = {
    "agent:read": ALL,
    "conversation:read": ALL,
    "conversation:write": ALL,
    "agent:write": FROM_EDITOR,
    "delegate": FROM_EDITOR,
    "instruction:read": FROM_EDITOR,
    "instruction:write": FROM_EDITOR,
    "conversation:read_any": FROM_OPERATOR,
    "record:read": FROM_OPERATOR,
    "context:read": FROM_OPERATOR,
    "execution:run": FROM_OPERATOR,
    "replay:run": FROM_OPERATOR,
    "experiment:run": FROM_OPERATOR,
    "conversation:erase": "admin",
    "constraint:override": "admin",
    "key:manage": "admin",
    "user:manage": "admin",
    "settings:manage": "admin",
    "org:manage": "admin",
}


@dataclass(frozen=True)
class House:
    """An organisation with one of everything, and the ids by which its things are named in paths."""

    client: httpx2.AsyncClient
    stranger: httpx2.AsyncClient
    preceptor: Preceptor
    ids: dict[str, str]

    @property
    def guarded(self) -> list[Operation]:
        return [operation for operation in operations(app_of(self.client)) if operation.id not in PUBLIC]

    async def ask(self, operation: Operation, headers: Any, query: str = "", **ids: str) -> httpx2.Response:
        path = operation.at(self.ids | ids) + query
        return await self.stranger.request(operation.method, path, headers=headers, **operation.sent(self.ids | ids))


@pytest.fixture
async def house(client: httpx2.AsyncClient, preceptor: Preceptor) -> AsyncGenerator[House]:
    ids = await one_of_everything(client, CANARY)
    transport = httpx2.ASGITransport(app_of(client), raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as stranger:
        yield House(client, stranger, preceptor, ids)


@covers("S1", "S27")
async def test_the_operations_without_a_credential_are_the_known_ones(client: httpx2.AsyncClient):
    found = operations(app_of(client))
    assert {operation.id for operation in found if operation.public} == PUBLIC
    assert {operation.id for operation in found if not operation.public} == set(NEEDS)


CREDENTIALS = {
    "no key": {},
    "an empty header": {"Authorization": ""},
    "a scheme without a key": {"Authorization": "Bearer "},
    "a key without a scheme": {"Authorization": ADMIN_KEY},
    "another scheme": {"Authorization": f"Basic {ADMIN_KEY}"},
    "garbage": bearer("pcp_garbage"),
    "a key that could be ours": bearer("pcp_abcdefabcdef_" + "A" * 43),
    "the admin's key with a letter more": bearer(ADMIN_KEY + "x"),
    "the admin's key and a word": bearer(ADMIN_KEY + " x"),
    "two keys in one header": bearer(f"{ADMIN_KEY}, {ADMIN_KEY}"),
    "10 KB": bearer("k" * 10_000),
    "SQL": bearer("' OR '1'='1'; --"),
    "bytes that are not text": {"Authorization": "Bearer \xff\xfe"},
    "the key in another header": {"X-Api-Key": ADMIN_KEY},
    "the key as a cookie": {"Cookie": f"preceptor_session={ADMIN_KEY}; key={ADMIN_KEY}"},
}


@covers("S1", "S23", "S27")
async def test_without_a_valid_credential_no_operation_does_or_tells_anything(house: House):
    before = rows(house.preceptor)
    for (kind, headers), operation in product(CREDENTIALS.items(), house.guarded):
        encoded = {name: value.encode("latin-1") for name, value in headers.items()}
        answer = await house.ask(operation, encoded)
        assert CANARY not in str(problem(answer, 401, "unauthenticated")), (kind, operation)
        assert answer.headers["www-authenticate"] == 'Bearer realm="preceptor"'
    assert rows(house.preceptor) == before


@covers("S1", "S23")
async def test_a_credential_that_is_ambiguous_expired_or_revoked_is_none(house: House):
    revoked = await new_key(house.client, role="admin")
    assert (await house.client.get("/api/agents", headers=revoked)).status_code == 200
    key_id = revoked["Authorization"].split("_")[1]
    assert (await house.client.delete(f"/api/keys/{key_id}")).status_code == 204
    expired = await insert_key(house.preceptor, expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    before = rows(house.preceptor)
    for operation in house.guarded:
        for headers in (
            list(ADMIN.items()) * 2,
            list((ADMIN | {"authorization": "x"}).items()),
            bearer(expired),
            revoked,
        ):
            problem(await house.ask(operation, headers), 401, "unauthenticated")
        problem(
            await house.ask(operation, {}, f"?key={ADMIN_KEY}&authorization=Bearer+{ADMIN_KEY}"), 401, "unauthenticated"
        )
    assert rows(house.preceptor) == before


@covers("S1", "R194")
async def test_what_belongs_to_another_organisation_looks_exactly_like_what_is_absent(house: House):
    rival = await new_org(house.client, "rivals")
    before = rows(house.preceptor)
    for operation in house.guarded:
        if operation.on_one:
            nothing = dict.fromkeys(house.ids, "no-such-thing")
            foreign, absent = await house.ask(operation, rival), await house.ask(operation, rival, **nothing)
            problem(foreign, 404, "model_not_found" if operation.id == "openai_model" else "not_found")
            assert same(foreign, house.ids) == same(absent, nothing), operation
    taken = await house.stranger.post("/api/conversations", json={"agentId": CANARY}, headers=rival)
    absent = await house.stranger.post("/api/conversations", json={"agentId": "no-such-thing"}, headers=rival)
    assert same(taken, house.ids) == same(absent, {"agent_id": "no-such-thing"})
    assert rows(house.preceptor) == before


def same(answer: httpx2.Response, ids: dict[str, str]) -> tuple[int, str, list[tuple[str, str]]]:
    """An answer without what may differ: the id that was asked for, and the request's own."""
    text, request_id = answer.text, answer.headers["x-request-id"]
    for known in (request_id, *ids.values()):
        text = text.replace(known, "…")
    headers = [pair for pair in answer.headers.multi_items() if pair[0] not in {"x-request-id", "content-length"}]
    return answer.status_code, text, headers


@covers("S1", "R194")
async def test_another_organisations_admin_is_shown_nothing_of_ours(house: House):
    rival = await new_org(house.client, "rivals")
    for operation in house.guarded:
        if not operation.on_one:
            answer = await house.ask(operation, rival)
            assert answer.status_code in {200, 201, 202, 403, 404}, answer.text
            assert CANARY not in answer.text, operation


@covers("S1")
@pytest.mark.parametrize("role", ["viewer", "editor", "operator", "admin"])
async def test_a_role_may_do_what_the_table_says_and_nothing_else(house: House, role: str):
    key = await new_key(house.client, role=role)
    before = rows(house.preceptor)
    refused = [operation for operation in house.guarded if role not in ROLES[NEEDS[operation.id]].split()]
    for operation in refused:
        assert NEEDS[operation.id] in problem(await house.ask(operation, key), 403, "forbidden")["detail"]
    assert rows(house.preceptor) == before
    for operation in house.guarded:
        if operation not in refused and operation.id not in STREAMS:
            answer = await house.ask(operation, key)
            assert answer.status_code in {200, 201, 202, 204, 404}, f"{operation}: {answer.text}"


@covers("S1")
async def test_a_service_key_with_another_permission_is_refused_and_one_with_that_permission_is_not(house: House):
    settings, records = [await new_key(house.client, permissions=[name]) for name in ("settings:manage", "record:read")]
    before = rows(house.preceptor)
    for operation in house.guarded:
        unrelated = records if NEEDS[operation.id] == "settings:manage" else settings
        problem(await house.ask(operation, unrelated), 403, "forbidden")
    assert rows(house.preceptor) == before
    for operation in house.guarded:
        if operation.id not in STREAMS:
            fitting = await new_key(house.client, permissions=[NEEDS[operation.id]])
            answer = await house.ask(operation, fitting)
            assert answer.status_code in {200, 201, 202, 204, 404} or operation.id in {
                "keys_mint",
                "users_create",
                "sign_in_create",
                "executions_create",
            }


async def test_each_role_has_the_permissions_that_the_contract_gives_it(client: httpx2.AsyncClient):
    assert set(ROLES) == {permission.value for permission in Permission}
    for role in ALL.split():
        made = (await client.post("/api/keys", json={"name": role, "role": role})).json()
        assert made["permissions"] == sorted(name for name, roles in ROLES.items() if role in roles.split())


async def test_an_admin_of_another_organisation_does_not_run_the_installation(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    rival = await new_org(client, "rivals")
    made = (await client.post("/api/keys", json={"name": "x", "role": "admin"}, headers=rival)).json()
    assert set(ROLES) - set(made["permissions"]) == {"org:manage"}
    problem(await client.get("/api/orgs", headers=rival), 403, "forbidden")


@covers("S1")
async def test_no_one_gives_away_more_than_they_have(client: httpx2.AsyncClient, preceptor: Preceptor):
    clerk = await new_key(client, permissions=["key:manage", "user:manage", "agent:read"], userId="admin")
    before = rows(preceptor)
    for wish in ({"role": "viewer"}, {"role": "admin"}, {"permissions": ["agent:read", "agent:write"]}):
        problem(await client.post("/api/keys", json={"name": "x"} | wish, headers=clerk), 403, "forbidden")
    for role in ALL.split():
        user = {"userId": "x", "name": "x", "role": role}
        problem(await client.post("/api/users", json=user, headers=clerk), 403, "forbidden")
    problem(await client.post("/api/sign-in-links", headers=clerk), 403, "forbidden")
    assert rows(preceptor) == before
    less = await client.post("/api/keys", json={"name": "x", "permissions": ["agent:read"]}, headers=clerk)
    assert less.status_code == 201


@covers("R194")
async def test_a_viewer_sees_and_changes_only_its_own_conversations(client: httpx2.AsyncClient, preceptor: Preceptor):
    vera, viktor = [bearer(await insert_key(preceptor, user=name, role=Role.VIEWER)) for name in ("vera", "viktor")]
    made = (await client.post("/api/conversations", json={"agentId": "assistant"}, headers=vera)).json()
    assert made["owner"] == {"orgId": "default", "userId": "vera", "groupId": None}
    path = f"/api/conversations/{made['conversationId']}"
    before = rows(preceptor)
    for method, where in (("GET", path), ("PATCH", path), ("DELETE", path), ("GET", f"{path}/events")):
        body = {"title": "mine now"} if method == "PATCH" else None
        problem(await client.request(method, where, json=body, headers=viktor), 404, "not_found")
    assert rows(preceptor) == before
    shown = [(await client.get("/api/conversations", headers=who)).json()["items"] for who in (vera, viktor, ADMIN)]
    assert shown == [[made], [], [made]]
    assert (await client.get(path, headers=vera)).json() == made


async def plain() -> None: ...


def test_an_endpoint_without_a_permission_cannot_become_an_operation():
    with pytest.raises(WithoutPermission, match=re.escape("/api/things/plain")):
        Api("/api/things", "things").get("/plain")(plain)


async def test_a_route_that_is_not_an_operation_keeps_the_application_from_starting(
    preceptor: Preceptor, monkeypatch: pytest.MonkeyPatch
):
    router = APIRouter()
    router.get("/api/things/plain")(plain)
    monkeypatch.setattr(application, "ROUTERS", (*application.ROUTERS, SimpleNamespace(router=router)))
    with pytest.raises(WithoutPermission, match=re.escape("/api/things/plain")):
        create_app(preceptor)
