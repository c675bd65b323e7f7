"""What the tests of the HTTP surface share: every operation of the document, an example of each, who may do what."""

import re
import sqlite3
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import httpx2
import psycopg
from fastapi import FastAPI

from preceptor import Preceptor
from preceptor.adapters.storage.webhook_tables import metadata
from preceptor.domain.ids import KeyId, OrgId, UserId
from preceptor.domain.keys import ApiKey, StoredKey, hash_of, key_text
from preceptor.domain.ownership import SYSTEM, Permission, Role, permissions_of
from preceptor.engine.repositories.work import Work
from tests.conftest import NOBODY

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
    "instructions_create": Permission.INSTRUCTION_WRITE,
    "instructions_page": Permission.INSTRUCTION_READ,
    "instructions_templates": Permission.INSTRUCTION_READ,
    "instructions_from_template": Permission.INSTRUCTION_WRITE,
    "instructions_get": Permission.INSTRUCTION_READ,
    "instructions_revise": Permission.INSTRUCTION_WRITE,
    "instructions_delete": Permission.INSTRUCTION_WRITE,
    "instructions_versions": Permission.INSTRUCTION_READ,
    "instructions_restore": Permission.INSTRUCTION_WRITE,
    "instructions_set_status": Permission.INSTRUCTION_WRITE,
    "instructions_rate": Permission.INSTRUCTION_WRITE,
    "instructions_copy": Permission.INSTRUCTION_WRITE,
    "instructions_test": Permission.INSTRUCTION_READ,
    "instructions_labels": Permission.INSTRUCTION_READ,
    "instructions_label": Permission.INSTRUCTION_READ,
    "instructions_move_label": Permission.INSTRUCTION_WRITE,
    "instructions_remove_label": Permission.INSTRUCTION_WRITE,
    "bundles_export": Permission.INSTRUCTION_READ,
    "bundles_bring_in": Permission.INSTRUCTION_WRITE,
    "experiments_create": Permission.EXPERIMENT_RUN,
    "experiments_page": Permission.EXPERIMENT_RUN,
    "experiments_get": Permission.EXPERIMENT_RUN,
    "experiments_start": Permission.EXPERIMENT_RUN,
    "experiments_stop": Permission.EXPERIMENT_RUN,
    "experiments_promote": Permission.EXPERIMENT_RUN,
    "experiments_results": Permission.EXPERIMENT_RUN,
    "experiments_series": Permission.EXPERIMENT_RUN,
    "experiments_conversations": Permission.EXPERIMENT_RUN,
    "outcomes_tell": Permission.CONVERSATION_WRITE,
    "outcomes_rate": Permission.CONVERSATION_WRITE,
    "agents_create": Permission.AGENT_WRITE,
    "agents_page": Permission.AGENT_READ,
    "agents_get": Permission.AGENT_READ,
    "agents_change": Permission.AGENT_WRITE,
    "providers_create": Permission.SETTINGS_MANAGE,
    "providers_page": Permission.SETTINGS_MANAGE,
    "providers_get": Permission.SETTINGS_MANAGE,
    "providers_change": Permission.SETTINGS_MANAGE,
    "providers_remove": Permission.SETTINGS_MANAGE,
    "providers_test": Permission.SETTINGS_MANAGE,
    "webhooks_create": Permission.SETTINGS_MANAGE,
    "webhooks_page": Permission.SETTINGS_MANAGE,
    "webhooks_get": Permission.SETTINGS_MANAGE,
    "webhooks_change": Permission.SETTINGS_MANAGE,
    "webhooks_remove": Permission.SETTINGS_MANAGE,
    "webhooks_rotate": Permission.SETTINGS_MANAGE,
    "webhooks_test": Permission.SETTINGS_MANAGE,
    "webhooks_deliveries": Permission.SETTINGS_MANAGE,
    "webhooks_redeliver": Permission.SETTINGS_MANAGE,
    "mcp_servers_create": Permission.SETTINGS_MANAGE,
    "mcp_servers_page": Permission.SETTINGS_MANAGE,
    "mcp_servers_get": Permission.SETTINGS_MANAGE,
    "mcp_servers_change": Permission.SETTINGS_MANAGE,
    "mcp_servers_remove": Permission.SETTINGS_MANAGE,
    "mcp_servers_refresh": Permission.SETTINGS_MANAGE,
    "mcp_servers_approve": Permission.SETTINGS_MANAGE,
    "assignments_assign": Permission.AGENT_WRITE,
    "assignments_page": Permission.INSTRUCTION_READ,
    "assignments_effective": Permission.INSTRUCTION_READ,
    "assignments_impact": Permission.INSTRUCTION_READ,
    "assignments_get": Permission.INSTRUCTION_READ,
    "assignments_change": Permission.AGENT_WRITE,
    "assignments_remove": Permission.AGENT_WRITE,
    "impact_ask": Permission.INSTRUCTION_READ,
    "imports_bring_in": Permission.CONVERSATION_WRITE,
    "conversations_start": Permission.CONVERSATION_WRITE,
    "conversations_page": Permission.CONVERSATION_READ,
    "conversations_get": Permission.CONVERSATION_READ,
    "conversations_change": Permission.CONVERSATION_WRITE,
    "conversations_archive": Permission.CONVERSATION_WRITE,
    "conversations_events": Permission.CONVERSATION_READ,
    "messages_send": Permission.CONVERSATION_WRITE,
    "messages_page": Permission.CONVERSATION_READ,
    "messages_context": Permission.CONTEXT_READ,
    "messages_plan": Permission.CONTEXT_READ,
    "views_page": Permission.CONVERSATION_READ,
    "views_restore": Permission.CONVERSATION_WRITE,
    "views_compact": Permission.CONVERSATION_WRITE,
    "views_regenerate": Permission.CONVERSATION_WRITE,
    "views_edit": Permission.CONVERSATION_WRITE,
    "erasing_erase": Permission.CONVERSATION_ERASE,
    "attachments_add": Permission.CONVERSATION_WRITE,
    "turns_get": Permission.RECORD_READ,
    "reasoning_tables": Permission.AGENT_READ,
    "reasoning_test": Permission.AGENT_READ,
    "reasoning_back_test": Permission.REPLAY_RUN,
    "reasoning_metrics": Permission.RECORD_READ,
    "turns_cancel": Permission.CONVERSATION_WRITE,
    "executions_create": Permission.EXECUTION_RUN,
    "executions_page": Permission.EXECUTION_RUN,
    "executions_get": Permission.EXECUTION_RUN,
    "executions_cancel": Permission.EXECUTION_RUN,
    "executions_retry": Permission.EXECUTION_RUN,
    "executions_events": Permission.EXECUTION_RUN,
    "replays_create": Permission.REPLAY_RUN,
    "replays_page": Permission.REPLAY_RUN,
    "replays_get": Permission.REPLAY_RUN,
    "replays_items": Permission.REPLAY_RUN,
    "replays_cancel": Permission.REPLAY_RUN,
    "replays_events": Permission.REPLAY_RUN,
    "replays_set_gate": Permission.INSTRUCTION_WRITE,
    "replays_gate": Permission.INSTRUCTION_READ,
    "replays_remove_gate": Permission.INSTRUCTION_WRITE,
    "replays_run_gate": Permission.REPLAY_RUN,
    "openai_models": Permission.AGENT_READ,
    "openai_model": Permission.AGENT_READ,
    "openai_chat": Permission.CONVERSATION_WRITE,
    "openai_respond": Permission.CONVERSATION_WRITE,
    "mcp_speak": Permission.AGENT_READ,
}

EXAMPLE_COMMAND = {"type": "agent.loadInstructions", "resource": {"type": "agent", "id": "assistant"}}
BODIES: dict[str, Json] = {
    "organisations_create": {"orgId": "example", "name": "Example"},
    "users_create": {"userId": "example", "name": "Example"},
    "keys_mint": {"name": "Example", "role": "viewer"},
    "instructions_create": {"name": "Example", "type": "system", "content": {"systemPrompt": "Example"}},
    "instructions_from_template": {"customizations": {"who": "Example"}},
    "instructions_revise": {"content": {"guidelines": ["Example"]}},
    "instructions_set_status": {"status": "deprecated"},
    "instructions_rate": {"score": 5},
    "instructions_test": {"input": "Example"},
    "instructions_move_label": {"instructionId": "{instruction_id}"},
    "bundles_bring_in": {"instructions": [{"versions": [{"name": "Example", "type": "task"}]}]},
    "experiments_create": {
        "name": "Example",
        "agentIds": ["assistant"],
        "settings": {"variant": {"parameters": {"temperature": 0.5}}},
        "status": "draft",
    },
    "experiments_promote": {"arm": "variant"},
    "outcomes_tell": {"metric": "resolution", "value": True},
    "outcomes_rate": {"score": 5},
    "agents_create": {"name": "Example"},
    "agents_change": {"name": "Example"},
    "providers_create": {"providerId": "example", "kind": "openai-compatible", "url": NOBODY, "apiKey": "Example"},
    "providers_change": {"apiKey": "Example"},
    "providers_test": {"model": "example"},
    "webhooks_create": {"url": NOBODY, "events": ["experiment.ended"]},
    "webhooks_change": {"description": "Example"},
    "mcp_servers_create": {"serverId": "example", "url": f"{NOBODY}/mcp"},
    "mcp_servers_change": {"apiKey": "Example"},
    "mcp_servers_approve": {"tools": []},
    "assignments_assign": {"instructionId": "{template_id}"},
    "assignments_impact": {"instructionId": "{family_id}"},
    "assignments_change": {"priority": 1},
    "impact_ask": {"content": {"guidelines": ["Example"]}},
    "imports_bring_in": {"records": [{"messages": [{"role": "user", "content": "Example"}]}]},
    "conversations_start": {"agentId": "assistant"},
    "conversations_change": {"title": "Example"},
    "messages_send": {"content": "Example"},
    "reasoning_test": {"agentId": "{agent_id}", "facts": {"level": "Safe", "mode": "enforce", "on_error": "block"}},
    "reasoning_back_test": {"thresholds": {"spamScore": 0.5}},
    "views_compact": {"messageIds": ["{message_id}"], "strategy": "drop"},
    "views_regenerate": {},
    "views_edit": {"messageId": "{question_id}", "content": "Example"},
    "executions_create": {"steps": [{"index": 0, "name": "Example", "command": EXAMPLE_COMMAND}]},
    "replays_create": {"filter": {"limit": 1}},
    "replays_set_gate": {"turns": 1},
    "replays_run_gate": {"instructionId": "{instruction_id}"},
    "openai_chat": {"model": "assistant", "messages": [{"role": "user", "content": "Example"}]},
    "openai_respond": {"model": "assistant", "input": "Example"},
    "mcp_speak": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
}

FILES: dict[str, Json] = {"attachments_add": {"file": ("example.txt", b"Example")}}
"""What is sent as a form."""


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    public: bool
    body: Json | None
    status: int
    """What it answers when all is well."""

    @property
    def ids(self) -> list[str]:
        """The ids that its path names."""
        return re.findall(r"{(\w+)}", self.path)

    def told(self, ids: Mapping[str, str]) -> Json | None:
        """Its body with the ids filled in."""
        return self.body and filled(self.body, ids)

    def sent(self, ids: Mapping[str, str]) -> dict[str, Any]:
        """Its body as the client is told to send it."""
        return {"files": FILES[self.id]} if self.id in FILES else {"json": self.told(ids)}

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
            body = BODIES[name] if "requestBody" in told and name not in FILES else None
            status = min(int(code) for code in told["responses"] if code.startswith("2") and code.isdecimal())
            found.append(Operation(name, method.upper(), path, "security" not in told, body, status))
    return found


def filled(value: Any, ids: Mapping[str, str]) -> Any:
    """A value with the ids that it names, wherever they stand."""
    if isinstance(value, dict):
        return {name: filled(one, ids) for name, one in cast("Json", value).items()}
    if isinstance(value, list):
        return [filled(one, ids) for one in cast("list[Any]", value)]
    return value.format_map(ids) if isinstance(value, str) and value[:1] == "{" else value


async def one_of_everything(client: httpx2.AsyncClient, name: str) -> dict[str, str]:
    """Make one of everything; returns the ids by which they are named in paths."""
    agent = (await client.post("/api/agents", json={"agentId": name, "name": name})).json()
    hook = (await client.post("/api/webhooks", json={"url": NOBODY, "description": name})).json()["webhookId"]
    conversation = (await client.post("/api/conversations", json={"agentId": name, "title": name})).json()
    said = f"/api/conversations/{conversation['conversationId']}/messages"
    turn = (await client.post(said, json={"content": name})).json()
    key = (await client.post("/api/keys", json={"name": name, "role": "viewer"})).json()
    new = {"name": name, "type": "system", "content": {"systemPrompt": name}, "tags": [name]}
    instruction = (await client.post("/api/instructions", json=new)).json()
    gap = {"type": "template", "content": {"systemPrompt": "{{who}}"}, "variables": [{"name": "who"}]}
    template = (await client.post("/api/instructions", json=new | gap)).json()
    path = f"/api/instructions/{instruction['familyId']}/labels/{name}"
    label = (await client.put(path, json={"instructionId": instruction["instructionId"]})).json()
    assigned = (await client.post("/api/instructions", json=new)).json()
    given = {"instructionId": assigned["familyId"], "customizations": {"additionalGuidelines": [name]}}
    await client.post(f"/api/agents/{name}/instructions", json=given)
    design = {"name": name, "agentIds": [name], "settings": {"variant": {"parameters": {"temperature": 0.5}}}}
    experiment = (await client.post("/api/instructions/experiments", json=design)).json()
    await client.put(f"{path}/gate", json={"turns": 1})
    command = {"type": "agent.loadInstructions", "resource": {"type": "agent", "id": name}}
    steps = [{"index": 0, "name": name, "command": command}]
    execution = await until_ended(client, await client.post("/api/executions", json={"steps": steps}))
    replay = await until_ended(client, await client.post("/api/replays", json={"turnIds": [turn["turnId"]]}))
    provider = {"providerId": name, "kind": "openai-compatible", "url": NOBODY, "apiKey": name}
    await client.post("/api/providers", json=provider)
    await client.post("/api/mcp-servers", json={"serverId": name, "url": f"{NOBODY}/{name}"})
    sent = (await client.get(f"/api/webhooks/{hook}/deliveries")).json()["items"]
    await client.patch(f"/api/webhooks/{hook}", json={"events": ["turn.blocked"]})
    return {
        "webhook_id": hook,
        "delivery_id": sent[0]["deliveryId"],
        "experiment_id": experiment["experimentId"],
        "execution_id": execution["executionId"],
        "replay_id": replay["replayId"],
        "provider_id": name,
        "server_id": name,
        "agent_id": agent["agentId"],
        "model": agent["agentId"],
        "family_id": assigned["familyId"],
        "conversation_id": conversation["conversationId"],
        "turn_id": turn["turnId"],
        "message_id": turn["message"]["id"],
        "question_id": (await client.get(said)).json()["items"][0]["id"],
        "view_id": conversation["conversationId"],
        "key_id": key["keyId"],
        "table_id": "DT-001",
        "instruction_id": instruction["familyId"],
        "version_id": instruction["instructionId"],
        "template_id": template["instructionId"],
        "label": label["name"],
    }


async def until_ended(client: httpx2.AsyncClient, started: httpx2.Response, **options: Any) -> Json:
    """What came of an execution or a replay that was asked for: its stream ends when it does."""
    told: Json = started.json()
    assert started.status_code in {200, 202}, started.text
    kind = "execution" if "executionId" in told else "replay"
    path = f"/api/{kind}s/{told[f'{kind}Id']}"
    assert (await client.get(f"{path}/events", **options)).status_code == 200
    return (await client.get(path, **options)).json()


def app_of(client: Any) -> FastAPI:
    return client._transport.app


def rows(preceptor: Preceptor) -> dict[str, int]:
    """How many rows each table has, over all organisations."""
    return {name: count for name, [(count,)] in answers(preceptor, "SELECT count(*) FROM {table}").items()}


def answers(preceptor: Preceptor, question: str) -> dict[str, list[tuple[Any, ...]]]:
    """What each table answers to a question, all asked over one connection."""
    with asking(preceptor) as ask:
        return {table: ask(question.format(table=table)) for table in metadata.tables}


def query(preceptor: Preceptor, sql: Any) -> list[tuple[Any, ...]]:
    with asking(preceptor) as ask:
        return ask(sql)


@contextmanager
def asking(preceptor: Preceptor) -> Generator[Callable[[Any], list[tuple[Any, ...]]]]:
    """Ask the database itself, from outside of Preceptor and above the walls between organisations."""
    url = preceptor.settings.database
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            yield lambda sql: connection.execute(sql).fetchall()
        return
    with psycopg.connect(url, options="-c preceptor.org=*") as connection:

        def ask(sql: Any) -> list[tuple[Any, ...]]:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

        yield ask


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
