"""MCP servers whose tools agents may use. A tool is what it was when someone approved it, or it is not used at all."""

import hashlib
import re
import unicodedata
from enum import StrEnum
from typing import Annotated, Any, Literal

import orjson
from pydantic import AwareDatetime, Field, StringConstraints

from preceptor.domain.delegation import CONTROL_TOOLS
from preceptor.domain.ids import OrgId
from preceptor.domain.prompts.prompt import Effect, ToolSpec
from preceptor.domain.providers import ConnectionId, Secret, Url
from preceptor.domain.reasoning.plan import TOOL_NAME
from preceptor.domain.value import Json, Revised, Text, Value, left_out, texts_in

LONGEST_DESCRIPTION = 4_000
LARGEST_SCHEMA = 32_000
MOST_TOOLS = 200
BETWEEN = "__"
"""Between a server's name and a tool's. Providers take no dot in the name of a tool."""

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN_BREAKS = frozenset("\n\t\r")
_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})

DeclaredEffect = Literal["read", "idempotent", "once"]
RemoteName = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Standing(StrEnum):
    """How a tool of another's server stands with us. Only what is approved is used."""

    NEW = "new"
    APPROVED = "approved"
    CHANGED = "changed"
    """It is no longer what was approved."""
    GONE = "gone"
    """It was approved, and the server no longer has it."""
    REFUSED = "refused"
    """It cannot be approved as it is."""


class Offer(Value):
    """A tool as its server describes it now."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)

    @property
    def hash(self) -> str:
        told = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return hashlib.sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()


class Approved(Offer):
    """A tool as someone approved it: this is what models are told, whatever the server says later."""

    effect: Effect = Effect.ONCE
    by: str = ""


class McpTool(Value):
    name: str
    full_name: str = Field(description="What agents and models call it.")
    standing: Standing
    why: Text | None = Field(default=None, description="Why it cannot be approved.")
    hash: str | None = Field(default=None, description="Of its present description and schema: send it to approve it.")
    description: str = ""
    parameters: dict[Text, Json] = Field(default_factory=dict)
    effect: Effect | None = None
    approved_hash: str | None = None


class NewMcpServer(Value):
    server_id: ConnectionId
    url: Url = Field(description="Its streamable HTTP address. PRECEPTOR_EGRESS_ALLOW must name its host.")
    api_key: Secret | None = Field(default=None, description="Sent as a bearer token. Sealed, and never shown again.")


class McpServerChange(Value):
    """What to change; what is left out stays. A new address forgets the key and every approval."""

    url: Url = left_out()
    api_key: Secret | None = None


class ApprovedTool(Value):
    name: RemoteName
    hash: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")] = Field(description="Of what you looked at.")
    effect: DeclaredEffect = Field(
        default="once", description="What may be done when nobody knows whether it ran: only `once` is not repeated."
    )


class Approval(Value):
    """Exactly these tools may be used; all others of the server may not."""

    tools: Annotated[tuple[ApprovedTool, ...], Field(max_length=MOST_TOOLS)]


class StoredServer(Value):
    """A server as it is kept. Without an address it is one of the operator's own configuration."""

    server_id: str
    url: str | None = None
    has_key: bool = False
    offered: tuple[Offer, ...] = ()
    approved: tuple[Approved, ...] = ()
    listed_at: AwareDatetime | None = None
    problem: str | None = None
    created_at: AwareDatetime
    updated_at: AwareDatetime
    revision: int

    def context(self, org: OrgId) -> bytes:
        """What its key is sealed for."""
        return f"mcp/{org}/{self.server_id}/{self.url}".encode()

    def shown(self) -> "McpServer":
        now = {one.name: one for one in self.offered}
        pinned = {one.name: one for one in self.approved}
        names = [*now, *(name for name in pinned if name not in now)]
        tools = tuple(_standing(self.server_id, name, now.get(name), pinned.get(name)) for name in names)
        return McpServer(
            server_id=self.server_id,
            url=self.url,
            operators=self.url is None,
            has_key=self.has_key,
            listed_at=self.listed_at,
            problem=self.problem,
            tools=tools,
            created_at=self.created_at,
            updated_at=self.updated_at,
            revision=self.revision,
        )


class McpServer(Revised):
    """A server as it may be shown, with what it offers and how each tool stands."""

    server_id: str
    url: str | None
    operators: bool = Field(description="It comes from the operator's configuration, and only approvals are yours.")
    has_key: bool
    listed_at: AwareDatetime | None = Field(description="When it last told what it has.")
    problem: str | None = Field(description="Why it could not be asked, if the last try failed.")
    tools: tuple[McpTool, ...]
    created_at: AwareDatetime
    updated_at: AwareDatetime
    revision: int


def full_name(server_id: str, tool: str) -> str:
    return f"{server_id}{BETWEEN}{tool}"


def spec_of(server_id: str, tool: Approved) -> ToolSpec:
    return ToolSpec(full_name(server_id, tool.name), tool.description, tool.parameters, tool.effect)


def objection(server_id: str, offer: Offer) -> str | None:
    """Why a tool cannot be used at all; None if it can be."""
    if offer.name in CONTROL_TOOLS | {TOOL_NAME}:
        return "Its name is one by which Preceptor passes control."
    if not _NAME.fullmatch(offer.name) or len(full_name(server_id, offer.name)) > 64:
        return "Its name has other characters than letters, digits, `_` and `-`, or is too long."
    if len(offer.description) > LONGEST_DESCRIPTION:
        return f"Its description is longer than {LONGEST_DESCRIPTION} characters."
    if len(orjson.dumps(offer.parameters)) > LARGEST_SCHEMA:
        return f"Its schema is larger than {LARGEST_SCHEMA} bytes."
    if offer.parameters.get("type") != "object":
        return "Its schema is not that of an object."
    told = [offer.description, *texts_in(offer.parameters), *_keys_in(offer.parameters)]
    if any(unicodedata.category(letter) in _HIDDEN and letter not in _PLAIN_BREAKS for letter in "".join(told)):
        return "Its description or schema has characters that cannot be seen."
    return None


def _keys_in(schema: Any) -> list[str]:
    return re.findall(r'"((?:[^"\\]|\\.)*)"\s*:', orjson.dumps(schema).decode())


def _standing(server_id: str, name: str, now: Offer | None, pinned: Approved | None) -> McpTool:
    told = now or pinned
    assert told is not None
    why = None if now is None else objection(server_id, now)
    return McpTool(
        name=name,
        full_name=full_name(server_id, name),
        standing=_judged(now, pinned, why),
        why=why,
        hash=None if now is None or why is not None else now.hash,
        description=told.description[:LONGEST_DESCRIPTION],
        parameters=told.parameters if why is None else {},
        effect=None if pinned is None else pinned.effect,
        approved_hash=None if pinned is None else pinned.hash,
    )


def _judged(now: Offer | None, pinned: Approved | None, why: str | None) -> Standing:
    if now is None:
        return Standing.GONE
    if why is not None:
        return Standing.REFUSED
    if pinned is None:
        return Standing.NEW
    return Standing.APPROVED if pinned.hash == now.hash else Standing.CHANGED


def usable(server: StoredServer) -> tuple[Approved, ...]:
    """What models are told of: approved, and not known to have changed since."""
    now = {one.name: one.hash for one in server.offered}
    return tuple(one for one in server.approved if now.get(one.name) == one.hash)
