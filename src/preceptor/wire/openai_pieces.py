"""The pieces of an answer in OpenAI's chat format: text, tool calls, usage, errors. Nothing in them is trusted."""

import json
import re
from itertools import groupby
from typing import Any, cast

import msgspec
import orjson

from preceptor.domain.errors import Malformed
from preceptor.domain.messages.message import ToolCall
from preceptor.domain.prompts.reply import Delta, Fault, Finish, Usage
from preceptor.wire.strict_json import read

LARGEST_ARGUMENTS = 1_000_000
DEEPEST_ARGUMENTS = 64
SHOWN_OF_MALFORMED = 2_000
LONGEST_COMPLAINT = 300

FINISHES = {
    "stop": Finish.STOP,
    "eos": Finish.STOP,
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "tool_calls": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "tool_use": Finish.TOOL_CALLS,
    "content_filter": Finish.CONTENT_FILTER,
}
_FAULTS = {
    "rate_limit_exceeded": Fault.RATE_LIMITED,
    "rate_limit_error": Fault.RATE_LIMITED,
    "insufficient_quota": Fault.PAYMENT,
    "billing_error": Fault.PAYMENT,
    "overloaded_error": Fault.OVERLOADED,
    "invalid_request_error": Fault.REJECTED,
    "context_length_exceeded": Fault.TOO_LONG,
    "authentication_error": Fault.UNAUTHORIZED,
    "permission_error": Fault.UNAUTHORIZED,
    "not_found_error": Fault.REJECTED,
    "request_too_large": Fault.TOO_LONG,
    "timeout_error": Fault.TIMEOUT,
    "api_error": Fault.SERVER,
    "invalid_api_key": Fault.UNAUTHORIZED,
}
_UNKEEPABLE = re.compile("[\x00\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_SECRETS = re.compile(r"(?i)\b(?:bearer|basic)\s+\S+|\b(?:sk|pk|key|token|org|proj)[-_][\w*.-]{6,}|\b[\w+/=-]{40,}")


class Calling(msgspec.Struct):
    """A tool call while it is being said."""

    id: str = ""
    name: str = ""
    size: int = 0
    _pieces: list[str] = []

    def hear(self, function: dict[str, Any]) -> None:
        self.name = self.name or text_of(function.get("name"))
        arguments = function.get("arguments")
        piece = orjson.dumps(arguments).decode() if isinstance(arguments, dict) else text_of(arguments)
        self.size += len(piece)
        if self.size <= LARGEST_ARGUMENTS:
            self._pieces.append(piece)

    def said(self, call_id: str, *, cut: bool) -> ToolCall:
        """The call, its arguments read strictly. In an answer that was cut, even no arguments may be too few."""
        raw, name = mended("".join(self._pieces)), mended(self.name)
        if self.size > LARGEST_ARGUMENTS:
            told = f"{self.size} characters of arguments; at most {LARGEST_ARGUMENTS} are read"
            return ToolCall(call_id, name, {}, f"{raw[:SHOWN_OF_MALFORMED]}… ({told})")
        if not raw.strip() and not cut:
            return ToolCall(call_id, name, {})
        arguments = read_object(raw)
        return ToolCall(call_id, name, {}, raw) if arguments is None else ToolCall(call_id, name, arguments)


def event_of(data: bytes) -> dict[str, Any] | None:
    """The JSON object that an event of a stream is; None if it is none."""
    event: Any
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError:
        # Half a character, escaped, is no JSON to a strict reader; the other half comes with the next event.
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return None
    return cast("dict[str, Any]", event) if isinstance(event, dict) else None


def read_object(raw: str) -> dict[str, Any] | None:
    """A JSON object that means the same to every reader, or nothing."""
    try:
        value = read(raw.encode(), max_depth=DEEPEST_ARGUMENTS)
    except Malformed:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def fields_of(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def text_of(value: Any) -> str:
    """Text, given as such or as a list of parts."""
    if isinstance(value, str):
        return value
    parts = cast("list[Any]", value) if isinstance(value, list) else []
    return "".join(text for part in parts if isinstance(text := fields_of(part).get("text"), str))


def mended(text: str) -> str:
    """The halves of characters put together, and what no database can keep replaced."""
    if not _UNKEEPABLE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\x00", "\ufffd")


def usage_of(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    usage = fields_of(cast("Any", value))
    cached = fields_of(usage.get("prompt_tokens_details")).get("cached_tokens", usage.get("prompt_cache_hit_tokens"))
    return Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), _count(cached))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else 0


def fault_of(error: Any) -> Fault:
    """Which fault an error object names. One that names none we know is the server's."""
    facts = fields_of(error)
    for name in (facts.get("code"), facts.get("type")):
        if isinstance(name, str) and name in _FAULTS:
            return _FAULTS[name]
        if isinstance(name, int):
            return fault_of_status(name)
    return Fault.SERVER


def fault_of_status(status: int) -> Fault:
    match status:
        case 401 | 403:
            return Fault.UNAUTHORIZED
        case 402:
            return Fault.PAYMENT
        case 408:
            return Fault.TIMEOUT
        case 413:
            return Fault.TOO_LONG
        case 429:
            return Fault.RATE_LIMITED
        case 503 | 529:
            return Fault.OVERLOADED
        case 409 | 425:
            return Fault.SERVER
        case _:
            return Fault.SERVER if status >= 500 else Fault.REJECTED


def complaint_of(error: Any) -> str:
    """What an error object says, short, on one line and without anything that looks like a secret."""
    facts = fields_of(error)
    said = text_of(facts.get("message")) if facts else text_of(error)
    plain = _SECRETS.sub("***", _CONTROL.sub(" ", mended(said))).strip()
    return plain if len(plain) <= LONGEST_COMPLAINT else f"{plain[:LONGEST_COMPLAINT]}…"


def together(deltas: list[Delta]) -> list[Delta]:
    """What came at once, as one piece; thoughts and words stay apart."""
    said: list[Delta] = []
    for thinking, run in groupby(deltas, key=lambda delta: delta.thinking):
        pieces = [delta.text for delta in run]
        said.append(Delta("".join(pieces), thinking))
    return said


class _Said(msgspec.Struct):
    content: str | None = None
    refusal: Any = None
    reasoning: Any = None
    reasoning_content: Any = None
    tool_calls: Any = None


class _Choice(msgspec.Struct):
    delta: _Said
    index: int = 0
    finish_reason: Any = None


class _Piece(msgspec.Struct):
    choices: list[_Choice]
    usage: Any = None
    error: Any = None


_PIECE = msgspec.json.Decoder(_Piece)


def plain_words(data: bytes) -> str | None:
    """The words of an event that has nothing else to say, as nearly all of a stream have; None of any other."""
    try:
        piece = _PIECE.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if len(piece.choices) != 1 or piece.usage or piece.error:
        return None
    [choice] = piece.choices
    said = choice.delta
    if choice.index or choice.finish_reason is not None or said.tool_calls or said.refusal:
        return None
    return None if said.reasoning or said.reasoning_content else said.content
