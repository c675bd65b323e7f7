"""Calls: what is on the record of each call of a model, from before it is made."""

from enum import StrEnum

import msgspec

from preceptor.domain.history.view import Alteration, shown_as
from preceptor.domain.ids import CallId, MessageId, SpanId
from preceptor.domain.messages.message import Message
from preceptor.domain.prompts.prompt import Ask, Segment
from preceptor.domain.prompts.reply import Fault, Finish, Usage


class Altered(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A message that was shown in another form, and what that form costs."""

    tokens: int
    elided: bool = False
    calls: tuple[str, ...] | None = None
    results: tuple[str, ...] | None = None
    as_user: bool = False

    def of(self, message: Message) -> Message:
        calls = None if self.calls is None else frozenset(self.calls)
        results = None if self.results is None else frozenset(self.results)
        how = Alteration(elided=self.elided, calls=calls, results=results, as_user=self.as_user)
        return msgspec.structs.replace(shown_as(message, how), tokens=self.tokens)


class Call(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A model call that is about to be made: who asks which model, and the record of what it is shown."""

    call_id: CallId
    purpose: str
    span_id: SpanId | None = None
    model: str
    attempt: int
    """Of this model, for this step."""
    fallback: int = 0
    """Whether it is the agent's own model, or the first, second … in its place."""
    tokens: int
    format: str
    sha256: str
    ask: Ask
    system: str
    """The hash of the system prompt's pieces, which are kept by it."""
    tools: str | None = None
    shown: tuple[tuple[int, int], ...]
    """Which messages, as runs of their places in the conversation."""
    summaries: tuple[tuple[int, MessageId], ...] = ()
    """Among them these, which have no place of their own: each with its number in the order."""
    aside: tuple[MessageId, ...] = ()
    """Then these, which were said in a branch."""
    altered: dict[MessageId, Altered] = {}
    tail: tuple[Segment, ...] = ()
    overhead: int = 0
    left_out: tuple["LeftOut", ...] = ()
    invalidated: int = 0
    """Tokens of the turn before that a provider's cache can no longer serve, because less of it is shown."""
    images: bool = False
    """Whether the images of these messages were shown with them."""
    analyses: int = 1
    """Of how many turns, this one first, the whole analysis was shown."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    what: str
    why: str
    tokens: int = 0
    places: tuple[int, int] | None = None


class CallOutcome(StrEnum):
    OK = "ok"
    FAILED = "failed"
    ORPHANED = "orphaned"
    """The process died while it waited. Whether the provider answered, and charged, is not known."""


class CallEnded(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    call_id: CallId
    outcome: CallOutcome
    span_id: SpanId | None = None
    usage: Usage = Usage()
    finish: Finish | None = None
    fault: Fault | None = None
    sentence: str | None = None
    status: int | None = None
    retry_after: float | None = None
    milliseconds: int = 0
