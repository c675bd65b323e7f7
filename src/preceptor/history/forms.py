"""Forms: how to read an entry off a message, and how to show less of it, for each kind of message we are given."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar, cast

from preceptor.domain.errors import Invalid
from preceptor.domain.history.entry import ELISION_TOKENS, Entry, entry_of
from preceptor.domain.history.summary import SummaryRequest, summary_message
from preceptor.domain.history.view import Alteration, elision, shown_as
from preceptor.domain.ids import ConversationId, MessageId, TurnId
from preceptor.domain.messages.message import Kind, Message, Role, ToolResult
from preceptor.wire.carried import Origin, role_of
from preceptor.wire.openai_messages import from_openai, text_of

Given = TypeVar("Given", dict[str, Any], Message)
Count = Callable[[str], int]
SUMMARY_NAME = "preceptor_summary"
"""The `name` by which a summary among OpenAI's messages is known again. It is never known by what it says."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Form(Protocol[Given]):
    def entry(self, given: Given, seq: int, count: Count | None) -> Entry: ...

    def message(self, given: Given, seq: int) -> Message: ...

    def shown(self, given: Given, alteration: Alteration | None) -> Given: ...

    def summary(self, text: str, request: SummaryRequest, id_: MessageId, tokens: int) -> Given: ...


def form_of(messages: Sequence[Given]) -> Form[Given]:
    own = bool(messages) and isinstance(messages[0], Message)
    form: Any = OwnForm() if own else OpenAIForm(cast("Sequence[dict[str, Any]]", messages))
    return form


class OwnForm:
    def entry(self, given: Message, seq: int, count: Count | None) -> Entry:
        return entry_of(given, seq, count)

    def message(self, given: Message, seq: int) -> Message:  # noqa: ARG002 - as forms are asked
        return given

    def shown(self, given: Message, alteration: Alteration | None) -> Message:
        return shown_as(given, alteration)

    def summary(self, text: str, request: SummaryRequest, id_: MessageId, tokens: int) -> Message:
        return summary_message(
            text,
            request,
            id_=id_,
            conversation_id=ConversationId(""),
            turn_id=TurnId(""),
            tokens=tokens,
            created_at=_LONG_AGO,
        )


class OpenAIForm:
    def __init__(self, messages: Sequence[dict[str, Any]] = ()) -> None:
        calls: list[Any] = [call for given in messages for call in given.get("tool_calls") or ()]
        functions = {call.get("id"): cast("dict[str, Any]", call.get("function") or {}) for call in calls}
        self._names = {id_: function.get("name") for id_, function in functions.items()}
        """What was called: an answer says only which call it is for."""

    def entry(self, given: dict[str, Any], seq: int, count: Count | None) -> Entry:
        content = text_of(given.get("content"))
        role, _ = role_of(str(given.get("role", "user")), content)
        calls = cast("list[dict[str, Any]]", given.get("tool_calls") or [])
        result = str(given["tool_call_id"]) if given.get("tool_call_id") else ""
        said = count(content) if count else 0
        called = sum(count(str(call.get("function"))) for call in calls) if count else 0
        return Entry(
            seq=seq,
            id=MessageId(f"message-{seq}"),
            role=Role.TOOL if result else role,
            kind=Kind.SUMMARY if given.get("name") == SUMMARY_NAME else Kind.MESSAGE,
            tokens=said + called,
            created_at=_when(given),
            calls=tuple(str(call.get("id") or f"call_{seq}_{at}") for at, call in enumerate(calls)),
            results=(result,) if result else (),
            speaks=bool(content) and not result,
            payload=max(0, said - ELISION_TOKENS) if result else 0,
        )

    def message(self, given: dict[str, Any], seq: int) -> Message:
        if (name := self._names.get(given.get("tool_call_id"))) is not None:
            given = {"name": name, **given}
        (message,) = from_openai([given], Origin(created_at=_when(given), prefix=f"{seq}-"))
        return message

    def shown(self, given: dict[str, Any], alteration: Alteration | None) -> dict[str, Any]:
        if alteration is None:
            return given
        shown = dict(given)
        if alteration.as_user:
            shown["role"] = "user"
        if alteration.elided:
            content = text_of(given.get("content"))
            shown["content"] = elision(ToolResult(tool_call_id="", name="", content=content))
        if alteration.calls is not None and "tool_calls" in shown:
            kept = {
                call["id"]: call for call in reversed(shown.pop("tool_calls")) if call.get("id") in alteration.calls
            }
            shown |= {"tool_calls": list(reversed(kept.values()))} if kept else {}
        return shown

    def summary(self, text: str, request: SummaryRequest, id_: MessageId, tokens: int) -> dict[str, Any]:  # noqa: ARG002 - as forms are asked
        return {"role": "assistant", "name": SUMMARY_NAME, "content": text}


def _when(given: dict[str, Any]) -> datetime:
    """Such messages rarely say when they were said; `created_at`, a number of seconds or a moment, is understood."""
    at = given.get("created_at")
    try:
        if isinstance(at, str):
            at = datetime.fromisoformat(at)
        if isinstance(at, datetime):
            return at if at.tzinfo else at.replace(tzinfo=UTC)
        return datetime.fromtimestamp(at, UTC) if isinstance(at, int | float) else _LONG_AGO
    except (ValueError, OverflowError, OSError):
        raise Invalid(
            f"created_at is {str(at)[:80]!r}, which is no moment. Give seconds since 1970, or 2026-01-31T12:00:00Z."
        ) from None
