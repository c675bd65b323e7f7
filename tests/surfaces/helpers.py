"""What the tests of the HTTP surface share: every operation of the document, an example of each, who may do what."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpx2
import psycopg
from fastapi import FastAPI

from preceptor import Preceptor
from preceptor.adapters.storage.tables import metadata
from preceptor.domain.ids import KeyId, OrgId, UserId
from preceptor.domain.keys import ApiKey, StoredKey, hash_of, key_text
from preceptor.domain.ownership import SYSTEM, Permission, Role, permissions_of
from preceptor.engine.ports import Work

Json = dict[str, Any]

PUBLIC = {"health_healthz", "health_readyz", "health_metrics"}
"""The operations that need no credential. Whoever adds one says so here."""

NEEDS: dict[str, Permission] = {
    "sign_in_create": Permission.USER_MANAGE,
    "organisations_create": Permission.ORG_MANAGE,
    "organisations_page": Permission.ORG_MANAGE,
    "users_create": Permission.USER_MANAGE,
    "users_page": Permission.USER_MANAGE,
    "keys_mint": Permission.KEY_MANAGE,
    "keys_page": Permission.KEY_MANAGE,
    "keys_revoke": Permission.KEY_MANAGE,
    "agents_create": Permission.AGENT_WRITE,
    "agents_page": Permission.AGENT_READ,
    "agents_get": Permission.AGENT_READ,
    "agents_change": Permission.AGENT_WRITE,
    "conversations_start": Permission.CONVERSATION_WRITE,
    "conversations_page": Permission.CONVERSATION_READ,
    "conversations_get": Permission.CONVERSATION_READ,
    "conversations_change": Permission.CONVERSATION_WRITE,
    "conversations_archive": Permission.CONVERSATION_WRITE,
    "conversations_events": Permission.CONVERSATION_READ,
}

BODIES: dict[str, Json] = {
    "organisations_create": {"orgId": "example", "name": "Example"},
    "users_create": {"userId": "example", "name": "Example"},
    "keys_mint": {"name": "Example", "role": "viewer"},
    "agents_create": {"name": "Example"},
    "agents_change": {"name": "Example"},
    "conversations_start": {"agentId": "assistant"},
    "conversations_change": {"title": "Example"},
}


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    public: bool
    body: Json | None

    def at(self, ids: Mapping[str, str]) -> str:
        """Its path with the ids filled in. An id nobody told us of is a KeyError."""
        return self.path.format_map(ids)

    @property
    def on_one(self) -> bool:
        return "{" in self.path


def operations(app: FastAPI) -> list[Operation]:
    """Every operation of the document, each with a body that it accepts."""
    found: list[Operation] = []
    for path, methods in app.openapi()["paths"].items():
        for method, told in methods.items():
            name: str = told["operationId"]
            body = BODIES[name] if "requestBody" in told else None
            found.append(Operation(name, method.upper(), path, "security" not in told, body))
    return found


def app_of(client: Any) -> FastAPI:
    return client._transport.app


def rows(preceptor: Preceptor) -> dict[str, int]:
    """How many rows each table has, over all organisations."""
    return {name: count for name, [(count,)] in answers(preceptor, "SELECT count(*) FROM {table}").items()}


def answers(preceptor: Preceptor, question: str) -> dict[str, list[tuple[Any, ...]]]:
    return {table: query(preceptor, question.format(table=table)) for table in metadata.tables}


def query(preceptor: Preceptor, sql: Any) -> list[tuple[Any, ...]]:
    """Ask the database itself, from outside of Preceptor and above the walls between organisations."""
    url = preceptor.settings.database
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            return connection.execute(sql).fetchall()
    with psycopg.connect(url, options="-c preceptor.org=*") as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def problem(response: httpx2.Response, status: int, code: str) -> Json:
    """The problem document that a response must be."""
    told: Json = response.json()
    assert (response.status_code, told["status"], told["code"]) == (status, status, code), response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert told["requestId"] == response.headers["x-request-id"]
    assert told["title"]
    assert told["detail"]
    return told


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def new_org(client: httpx2.AsyncClient, name: str) -> dict[str, str]:
    """Another organisation; returns the header of its admin's key."""
    made = await client.post("/api/orgs", json={"orgId": name, "name": name})
    assert made.status_code == 201
    return bearer(made.json()["adminKey"])


async def new_key(client: httpx2.AsyncClient, **what: Any) -> dict[str, str]:
    made = await client.post("/api/keys", json={"name": "made by a test"} | what)
    assert made.status_code == 201, made.text
    return bearer(made.json()["key"])


async def insert_key(
    preceptor: Preceptor,
    *,
    org: str = "default",
    user: str = "admin",
    role: Role = Role.ADMIN,
    expires_at: datetime | None = None,
) -> str:
    """Put a key straight into the store, also one that could not be had in any other way."""
    world = preceptor.session.world
    key_id, org_id = KeyId(world.new_handle()), OrgId(org)
    text = key_text(key_id, world.new_secret())
    permissions = tuple(sorted(permissions_of(role, org_id)))

    async def program(work: Work) -> None:
        shown = ApiKey(
            key_id=key_id,
            name="made by a test",
            role=role,
            permissions=permissions,
            user_id=UserId(user),
            created_at=work.now,
            expires_at=expires_at,
        )
        await work.keys.add(StoredKey(org_id=org_id, shown=shown, secret_hash=hash_of(text)))

    owner = SYSTEM.owner.model_copy(update={"org_id": org_id})
    await preceptor.session.store.write(owner, program)
    return text
