"""Conversations in exports of other systems: OpenAI-style JSON lines, Langfuse traces, LangSmith runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

import msgspec

from preceptor.domain.errors import Malformed
from preceptor.domain.messages.brought import Brought
from preceptor.domain.messages.message import AnyPart, Role, Text, ToolCall, ToolResult
from preceptor.wire import strict_json

Json = Mapping[str, Any]
_ROLES = {
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
    "AIMessageChunk": Role.ASSISTANT,
    "HumanMessage": Role.USER,
    "AIMessage": Role.ASSISTANT,
    "SystemMessage": Role.SYSTEM,
    "ToolMessage": Role.TOOL,
}


class Trace(NamedTuple):
    """What one conversation said, by whichever names it was told."""

    records: tuple[int, ...]
    """The numbers of the records it was in."""
    name: str | None
    said: tuple[Brought, ...]
    at: datetime | None = None


class Unread(NamedTuple):
    record: int
    why: str


def format_of(records: Sequence[Json]) -> str:
    """Which export this is, by the names in it."""
    for record in records:
        if record.keys() & {"observations", "sessionId", "projectId"}:
            return "langfuse"
        if record.keys() & {"run_type", "trace_id", "inputs"}:
            return "langsmith"
    return "openai"


def read(records: Sequence[Json], kind: str) -> tuple[list[Trace], list[Unread]]:
    """The conversations of an export, and the records that hold none."""
    look = {"openai": _openai, "langfuse": _langfuse, "langsmith": _langsmith}[kind]
    threads: dict[str, list[tuple[int, Trace]]] = {}
    unread: list[Unread] = []
    for number, record in enumerate(records):
        if kind == "langsmith" and record.get("parent_run_id"):
            continue  # part of another
        said = tuple(_messages(look(record)))
        if not any(one.role is Role.USER for one in said):
            unread.append(Unread(number, "no user says anything in it"))
            continue
        name = thread_of(record)
        trace = Trace((number,), _name(record), said, _moment(record))
        threads.setdefault(name or f"#{number}", []).append((number, trace))
    return [_joined([trace for _, trace in group]) for group in threads.values()], unread


def _joined(traces: list[Trace]) -> Trace:
    """The traces of one thread as one conversation: each adds what those before it did not say."""
    ordered = sorted(traces, key=lambda one: (one.at or datetime.min.replace(tzinfo=UTC), one.records))
    said: list[Brought] = []
    for trace in ordered:
        spoken = [one for one in trace.said if one.role is not Role.SYSTEM]
        if len(spoken) >= len(said) and spoken[: len(said)] == said:
            said = spoken
            continue
        last = max(at for at, one in enumerate(spoken) if one.role is Role.USER)
        said += spoken[last:]
    system = [one for trace in ordered for one in trace.said if one.role is Role.SYSTEM]
    records = tuple(number for trace in ordered for number in trace.records)
    return Trace(records, ordered[0].name, (*system, *said), ordered[0].at)


def _openai(record: Json) -> Iterator[Any]:
    """`messages`, with the answer among them or beside them."""
    asked = _fields(record.get("request") or record.get("body")) or record
    yield from _listed(asked.get("messages") or record.get("messages"))
    yield from _answer(record.get("response") or record.get("completion") or record.get("choices"))


def _langfuse(record: Json) -> Iterator[Any]:
    seen = [one for one in map(_fields, _listed(record.get("observations"))) if one.get("type") == "GENERATION"]
    best = max(seen, key=lambda one: str(one.get("startTime", "")), default=record)
    asked = best.get("input") if best.get("input") is not None else record.get("input")
    answer = best.get("output") if best.get("output") is not None else record.get("output")
    yield from _asked(asked)
    yield from _answer(answer)


def _langsmith(record: Json) -> Iterator[Any]:
    yield from _asked(record.get("inputs"))
    yield from _answer(record.get("outputs"))


def _asked(given: Any) -> Iterator[Any]:
    match given:
        case str():
            yield {"role": "user", "content": given}
        case list():
            yield from _flat(cast("list[Any]", given))
        case dict():
            said = cast("dict[str, Any]", given)
            if _listed(said.get("messages")):
                yield from _flat(said["messages"])
            elif "role" in said or "type" in said:
                yield said
            else:
                words = next(
                    (said[name] for name in ("input", "question", "query", "prompt", "text") if name in said), None
                )
                yield from _asked(words)
        case _:
            return


def _answer(given: Any) -> Iterator[Any]:
    match given:
        case str():
            yield {"role": "assistant", "content": given}
        case list():
            for one in cast("list[Any]", given):
                yield from _answer(one)
        case dict():
            said = cast("dict[str, Any]", given)
            inner = [
                name for name in ("choices", "generations", "message", "output", "messages", "answer") if name in said
            ]
            if "role" in said or "kwargs" in said or (str(said.get("type")) in _ROLES and "content" in said):
                yield said
            elif inner:
                part = said[inner[0]]
                yield from _listed(part)[-1:] if inner[0] == "messages" else _answer(part)
            elif isinstance(said.get("text") or said.get("content"), str):
                yield {"role": "assistant", "content": said.get("text") or said.get("content")}
        case _:
            return


def _flat(given: Iterable[Any]) -> Iterator[Any]:
    for one in given:
        if isinstance(one, list):
            yield from _flat(cast("list[Any]", one))
        else:
            yield one


def _messages(told: Iterable[Any]) -> Iterator[Brought]:
    for one in told:
        message = _fields(one)
        named = message.get("id")
        if "kwargs" in message:
            kind = str(cast("list[Any]", named)[-1]) if isinstance(named, list) and named else ""
            message = {"role": kind, **_fields(message["kwargs"])}
        role = _ROLES.get(str(message.get("role") or message.get("type") or ""))
        parts = () if role is None else tuple(_parts(role, message))
        if role is not None and parts:
            yield Brought(role, parts)


def _parts(role: Role, message: Json) -> Iterator[AnyPart]:
    text = _text(message.get("content"))
    if role is Role.TOOL:
        name = str(message.get("name") or "tool")
        yield ToolResult(str(message.get("tool_call_id") or name), name, text)
        return
    if text:
        yield Text(text)
    if role is Role.ASSISTANT:
        calls = message.get("tool_calls") or _fields(message.get("additional_kwargs")).get("tool_calls")
        for at, call in enumerate(map(_fields, _listed(calls))):
            function = _fields(call.get("function")) or call
            arguments = function.get("arguments", function.get("args"))
            name = str(function.get("name") or "tool")
            yield ToolCall(str(call.get("id") or f"call_{at}"), name, _arguments(arguments))


def _arguments(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            given = strict_json.read(given.encode("utf-8", "replace"))
        except Malformed:
            return {"raw": _clean(given)}
    found = msgspec.to_builtins(given)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _text(content: Any) -> str:
    match content:
        case str():
            return _clean(content)
        case list():
            pieces = [one if isinstance(one, str) else _fields(one).get("text") for one in cast("list[Any]", content)]
            return _clean("".join(piece for piece in pieces if isinstance(piece, str)))
        case _:
            return ""


def _clean(text: str) -> str:
    """Text that every database can keep."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def thread_of(given: Any) -> str | None:
    """By what name a record says that it belongs together with others, if it does."""
    record = _fields(given)
    extra = _fields(_fields(record.get("extra")).get("metadata")) or _fields(record.get("metadata"))
    names = (record.get("sessionId"), extra.get("thread_id"), extra.get("session_id"), extra.get("conversation_id"))
    return next((name for name in names if isinstance(name, str) and name), None)


def _name(record: Json) -> str | None:
    named = record.get("name") or record.get("id")
    return _clean(named)[:200].strip() or None if isinstance(named, str) else None


def _moment(record: Json) -> datetime | None:
    for name in ("timestamp", "start_time", "startTime", "createdAt", "created_at"):
        said = record.get(name)
        if isinstance(said, str):
            try:
                found = datetime.fromisoformat(said)
                return found.astimezone(UTC) if found.tzinfo is not None else found.replace(tzinfo=UTC)
            except (ValueError, OverflowError):
                continue
    return None


def _fields(given: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}


def _listed(given: Any) -> list[Any]:
    return cast("list[Any]", given) if isinstance(given, list) else []
