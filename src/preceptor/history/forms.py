"""Forms: how to read an entry off a message, and how to show less of it, for each kind of message we are given."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar, cast

from preceptor.domain.errors import Invalid
from preceptor.domain.history.entry import ELISION_TOKENS, Entry, entry_of
from preceptor.domain.history.summary import SummaryRequest, summary_message
from preceptor.domain.history.view import Alteration, elision, shown_as
from preceptor.domain.ids import ConversationId, MessageId, TurnId
from preceptor.domain.messages.message import Kind, Message, Role, ToolResult
from preceptor.wire.carried import Origin, role_of
from preceptor.wire.openai_messages import from_openai, paired, text_of

Given = TypeVar("Given", dict[str, Any], Message)
Count = Callable[[str], int]
SUMMARY_NAME = "preceptor_summary"
"""The `name` by which a summary among OpenAI's messages is known again. It is never known by what it says."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Form(Protocol[Given]):
    def entry(self, given: Given, seq: int, count: Count | None) -> Entry: ...

    def message(self, given: Given, seq: int) -> Message: ...

    def shown(self, given: Given, seq: int, alteration: Alteration | None) -> Given: ...

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

    def shown(self, given: Message, seq: int, alteration: Alteration | None) -> Message:  # noqa: ARG002 - as forms are asked
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
        self._paired = paired(messages)

    def _whole(self, given: dict[str, Any], seq: int) -> Mapping[str, Any]:
        """With ids for calls and their answers; a summary has none."""
        return given if given.get("name") == SUMMARY_NAME else self._paired[seq]

    def entry(self, given: dict[str, Any], seq: int, count: Count | None) -> Entry:
        whole = self._whole(given, seq)
        content = text_of(given.get("content")) + str(given.get("refusal") or "")
        role, _ = role_of(str(given.get("role", "user")), content)
        calls = cast("list[dict[str, Any]]", whole.get("tool_calls") or [])
        result = str(whole["tool_call_id"]) if whole.get("tool_call_id") else ""
        said = count(content) if count else 0
        called = sum(count(str(call.get("function"))) for call in calls) if count else 0
        return Entry(
            seq=seq,
            id=MessageId(f"message-{seq}"),
            role=Role.TOOL if result else role,
            kind=Kind.SUMMARY if given.get("name") == SUMMARY_NAME else Kind.MESSAGE,
            tokens=said + called,
            created_at=_when(given),
            calls=tuple(str(call["id"]) for call in calls),
            results=(result,) if result else (),
            speaks=bool(content) and not result,
            payload=max(0, said - ELISION_TOKENS) if result else 0,
        )

    def message(self, given: dict[str, Any], seq: int) -> Message:
        (message,) = from_openai([self._whole(given, seq)], Origin(created_at=_when(given), prefix=f"{seq}-"))
        return message

    def shown(self, given: dict[str, Any], seq: int, alteration: Alteration | None) -> dict[str, Any]:
        if alteration is None:
            return given
        shown = dict(given)
        if alteration.as_user:
            shown["role"] = "user"
        if alteration.elided:
            content = text_of(given.get("content"))
            shown["content"] = elision(ToolResult(tool_call_id="", name="", content=content))
        if alteration.calls is not None:
            older, written = shown.pop("function_call", None), shown.pop("tool_calls", None) or ()
            ids = [call["id"] for call in self._whole(given, seq).get("tool_calls") or ()]
            pairs = [*zip(ids, written or (older,), strict=False)]
            kept = {id_: call for id_, call in reversed(pairs) if id_ in alteration.calls}
            if kept:
                shown |= {"tool_calls": [*reversed(kept.values())]} if written else {"function_call": older}
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
