"""Asking an MCP server: what it has, and to do it. All that it says is a stranger's word, and of limited size."""

import asyncio
import logging
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from preceptor.adapters.mcp.held import Held
from preceptor.domain.mcp_servers import MOST_TOOLS, Approved, Offer
from preceptor.domain.messages.message import Outcome, ToolCall, ToolResult
from preceptor.domain.prompts.prompt import Effect
from preceptor.engine.mcp_servers import ServerFailed

if TYPE_CHECKING:
    from mcp import Client

PATIENCE = 60.0
LARGEST_RESULT = 100_000
"""Characters of a result that a model is shown."""
CHANGED = "{} is not what was approved any more, so it was not called. An admin can look at it and approve it again."

_log = logging.getLogger(__name__)


async def offers_of(held: Held) -> tuple[Offer, ...]:
    """All that the server has now, up to a limit."""
    from mcp import MCPError

    held.calls += 1
    try:
        async with asyncio.timeout(PATIENCE):
            return await _offers(await held.client())
    except (MCPError, TimeoutError, OSError) as error:
        held.drop()
        said = f"The MCP server {held.name!r} does not tell its tools ({type(error).__name__}). Try again later."
        raise ServerFailed(said) from None
    finally:
        held.calls -= 1


async def _offers(client: "Client") -> tuple[Offer, ...]:
    found: list[Offer] = []
    cursor: str | None = None
    while len(found) < MOST_TOOLS:
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        found += [
            Offer(name=tool.name, description=_clean(tool.description or ""), parameters=dict(tool.input_schema))
            for tool in page.tools
        ]
        cursor = page.next_cursor
        if cursor is None:
            break
    return tuple({one.name: one for one in found[:MOST_TOOLS]}.values())


async def carry_out(held: Held, tool: Approved, call: ToolCall, deadline: float) -> ToolResult:
    """Call it, if it is still what was approved. Whatever goes wrong is in the result."""
    if complaint := misfit(tool, call):
        return _failed(call, complaint)
    sent = False
    limit = asyncio.timeout(min(PATIENCE, deadline))
    held.calls += 1
    try:
        async with limit:
            client = await held.client()
            now = next((one for one in await _offers(client) if one.name == tool.name), None)
            if now is None or now.hash != tool.hash:
                _log.warning("mcp_tool_changed", extra={"tool": call.name})
                return _failed(call, CHANGED.format(call.name))
            sent = True
            return _told(call, await client.call_tool(tool.name, dict(call.arguments)))
    except ServerFailed as failure:
        return _failed(call, str(failure))
    except Exception as error:  # noqa: BLE001 - whatever a server does, the turn goes on
        return _broken(held, tool, call, error, sent=sent, late=limit.expired())
    finally:
        held.calls -= 1


def _broken(held: Held, tool: Approved, call: ToolCall, error: Exception, *, sent: bool, late: bool) -> ToolResult:
    from mcp import MCPError

    if isinstance(error, MCPError):
        return _failed(call, f"{call.name} answered with an error: {error}")
    held.drop()
    _log.warning("mcp_call_failed", extra={"tool": call.name, "error": type(error).__name__})
    unknown = sent and tool.effect is Effect.ONCE
    said = "did not finish in time" if late else "broke off"
    return _failed(call, f"{call.name} {said}.", Outcome.UNKNOWN if unknown else Outcome.ERROR)


def misfit(tool: Approved, call: ToolCall) -> str | None:
    """What is wrong with the arguments, by the schema that was approved."""
    library: Any = import_module("jsonschema")

    try:
        checker = library.Draft202012Validator(tool.parameters)
        found = library.exceptions.best_match(checker.iter_errors(dict(call.arguments)))
    except (library.SchemaError, RecursionError, ValueError, TypeError, LookupError):
        return f"The schema of {call.name} cannot be read, so it cannot be called."
    if found is None:
        return None
    where = ".".join(map(str, found.absolute_path)) or "arguments"
    return f"The arguments of {call.name} do not fit: {where}: {found.message[:300]}. Call it again with ones that do."


def _told(call: ToolCall, result: Any) -> ToolResult:
    """Its text, and the names of what is not text. Metadata is a stranger's: nothing in it has a meaning here."""
    text = "\n".join(_part(part) for part in _parts(result))
    outcome = Outcome.ERROR if result.is_error else Outcome.OK
    return ToolResult(call.id, call.name, sized(text), is_error=bool(result.is_error), outcome=outcome)


def _parts(result: Any) -> Sequence[Any]:
    return result.content


def _part(part: Any) -> str:
    if part.type == "text":
        return str(part.text)
    if part.type == "resource" and getattr(part.resource, "text", None) is not None:
        return str(part.resource.text)
    return f"[{part.type}: not shown]"


def _failed(call: ToolCall, sentence: str, outcome: Outcome = Outcome.ERROR) -> ToolResult:
    return ToolResult(call.id, call.name, sized(sentence), is_error=True, outcome=outcome)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def sized(text: str) -> str:
    text = _clean(text)
    if len(text) <= LARGEST_RESULT:
        return text
    return f"{text[:LARGEST_RESULT]}… [cut: {len(text):,} characters in all]"
