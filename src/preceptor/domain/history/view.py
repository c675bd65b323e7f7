"""Views: what is shown of a tape after a cut, mended so that every provider accepts it."""

from bisect import bisect_left
from collections.abc import Sequence
from enum import StrEnum
from types import MappingProxyType

import msgspec

from preceptor.domain.history.entry import Entry
from preceptor.domain.history.limits import Levels
from preceptor.domain.history.outline import exchanges
from preceptor.domain.history.tape import Tape
from preceptor.domain.messages.message import AnyPart, Message, Role, ToolCall, ToolResult


class Reason(StrEnum):
    """Why something is not shown."""

    MAX_TOKENS = "max_tokens"
    CONTEXT_WINDOW = "context_window"
    MAX_HISTORY_SIZE = "max_history_size"
    INTERMEDIATE = "intermediate"
    STRATEGY = "strategy"
    TOOL_ANSWER = "tool_answer"
    EARLIER_ANALYSIS = "earlier_analysis"
    UNANSWERED_CALL = "unanswered_call"
    UNASKED_ANSWER = "unasked_answer"
    CANNOT_OPEN = "cannot_open"


class LeftOut(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A run of messages that is not shown, or not all of it. `first` and `last` are places in the conversation."""

    first: int
    last: int
    count: int
    tokens: int
    reason: Reason


class Alteration(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown of a message when that is not all of it."""

    without_analysis: bool = False
    elided: bool = False
    calls: frozenset[str] | None = None
    """Only these calls. None: all."""
    results: frozenset[str] | None = None
    as_user: bool = False
    """It stands first, where only a user may speak."""


class View(msgspec.Struct, frozen=True):
    kept: tuple[Entry, ...]
    altered: "MappingProxyType[int, Alteration]"
    """By `seq`."""
    left_out: tuple[LeftOut, ...]
    tokens: int
    """At most what the kept messages cost, format included."""


_UNALTERED = Alteration()
_AS_THEY_ARE: "MappingProxyType[int, Alteration]" = MappingProxyType({})
_USER = Role.USER


def view_of(tape: Tape, levels: Levels, start: int, question: int, reason: Reason) -> View:
    """What is kept from `start` on, with all pins before it."""
    left_out = _before(tape, levels.cut, start, reason)
    end = len(tape)
    pins = [tape[at] for at in tape.pins[: bisect_left(tape.pins, start)]] if tape.pins else []
    tokens = tape.pinned + tape.loose[end] - tape.loose[start]
    plain = tape.tools[end] == tape.tools[start] and tape.analyses[end] == tape.analyses[start]
    plain = plain and not (pins and any(entry.analysis for entry in pins))
    rest = tape[start:end]
    if levels.spans > start and tape.spans[levels.spans] > tape.spans[start]:
        gone = [at for at in range(start, levels.spans) if tape[at].intermediate and not tape[at].is_pin]
        left_out += _runs([tape[at] for at in gone], Reason.INTERMEDIATE)
        hidden = frozenset(gone)
        rest = [tape[at] for at in range(start, end) if at not in hidden]
        tokens -= tape.spans[levels.spans] - tape.spans[start]
    kept = [*pins, *rest] if pins else rest
    if plain:
        return _plain(kept, left_out, tokens, tape.overhead)
    asked = tape[question].seq if question < end else end and tape[end - 1].seq + 1
    elided = tape[levels.payloads].seq if levels.payloads < end else asked
    return _mended(kept, left_out, asked, elided if levels.payloads > start else -1, tape.overhead)


def _plain(kept: Sequence[Entry], left_out: list[LeftOut], tokens: int, overhead: int) -> View:
    """Nobody calls a tool or makes a plan: only how it opens is to be looked at."""
    if kept and kept[0].role is _USER:
        return View(tuple(kept), _AS_THEY_ARE, tuple(left_out), tokens)
    altered: dict[int, Alteration] = {}
    opened = _opened(kept, altered, left_out)
    if opened is not kept:
        tokens = _cost(opened, altered, 0) + overhead * len(opened)
    return View(tuple(opened), MappingProxyType(altered), tuple(left_out), tokens)


def _mended(kept: Sequence[Entry], left_out: list[LeftOut], asked: int, elided: int, overhead: int) -> View:
    altered: dict[int, Alteration] = {}
    for entry in kept:
        old_plan, old_answer = entry.analysis and entry.seq < asked, entry.payload and entry.seq < elided
        if old_plan or old_answer:
            altered[entry.seq] = Alteration(without_analysis=bool(old_plan), elided=bool(old_answer))
        if old_plan:
            left_out.append(_one(entry, Reason.EARLIER_ANALYSIS, entry.analysis))
        if old_answer:
            left_out.append(_one(entry, Reason.TOOL_ANSWER, entry.payload))
    kept = _opened(_closed(_paired(kept, altered, left_out), altered, left_out), altered, left_out)
    tokens = _cost(kept, altered, asked) + overhead * len(kept)
    return View(tuple(kept), MappingProxyType(altered), tuple(left_out), tokens)


def _cost(kept: Sequence[Entry], altered: dict[int, Alteration], asked: int) -> int:
    elided = sum(entry.payload for entry in kept if altered.get(entry.seq, _UNALTERED).elided)
    return sum(entry.tokens + (entry.analysis if entry.seq >= asked else 0) for entry in kept) - elided


def _paired(kept: Sequence[Entry], altered: dict[int, Alteration], left_out: list[LeftOut]) -> list[Entry]:
    """Every call with its answers right behind it, and every answer behind its call. The rest is left out."""
    valid: dict[int, frozenset[str]] = {}
    for group in exchanges(kept):
        open_calls = dict.fromkeys(kept[group[0]].calls)
        asked, found = len(kept[group[0]].calls) == len(open_calls), frozenset[str]()
        for at in group[1:]:
            answers = frozenset(call for call in kept[at].results if call in open_calls)
            for call in answers:
                del open_calls[call]
            valid[at] = answers
            found |= answers
        valid[group[0]] = found if open_calls or not asked else frozenset(kept[group[0]].calls)
    return [entry for at, entry in enumerate(kept) if _is_whole(entry, valid.get(at), altered, left_out)]


def _is_whole(
    entry: Entry, valid: frozenset[str] | None, altered: dict[int, Alteration], left_out: list[LeftOut]
) -> bool:
    """Whether anything of it can be shown. What cannot is noted."""
    if not entry.calls and not entry.results:
        return True
    valid = valid or frozenset()
    written = entry.calls or entry.results
    if len(written) == len(valid) and not (entry.calls and entry.results):
        return True
    reason = Reason.UNANSWERED_CALL if entry.calls else Reason.UNASKED_ANSWER
    left_out.append(_one(entry, reason, 0 if valid or entry.speaks else entry.tokens))
    if not valid and not (entry.speaks and entry.role is not Role.TOOL):
        return False
    kept_calls, kept_results = (valid, frozenset[str]()) if entry.calls else (frozenset[str](), valid)
    was = altered.get(entry.seq, _UNALTERED)
    altered[entry.seq] = msgspec.structs.replace(was, calls=kept_calls, results=kept_results)
    return True


def _closed(kept: list[Entry], altered: dict[int, Alteration], left_out: list[LeftOut]) -> list[Entry]:
    """An assistant that was about to call a tool does not speak last: it would only go on from there."""
    end = len(kept)
    while end and kept[end - 1].calls and altered.get(kept[end - 1].seq, _UNALTERED).calls == frozenset():
        end -= 1
        left_out.append(_one(kept[end], Reason.UNANSWERED_CALL, kept[end].tokens))
    return kept[:end]


def _opened(kept: Sequence[Entry], altered: dict[int, Alteration], left_out: list[LeftOut]) -> Sequence[Entry]:
    """A user speaks first. What stands for others may take that place; anything else that comes before is left out."""
    at = 0
    while at < len(kept) and kept[at].role is Role.SYSTEM:
        at += 1
    start = at
    while at < len(kept) and kept[at].role is not Role.USER:
        entry = kept[at]
        if entry.is_pin:
            altered[entry.seq] = msgspec.structs.replace(altered.get(entry.seq, _UNALTERED), as_user=True)
            break
        left_out.append(_one(entry, Reason.CANNOT_OPEN, entry.tokens))
        at += 1
    return [*kept[:start], *kept[at:]] if at > start else kept


def _before(tape: Tape, cut: int, start: int, reason: Reason) -> list[LeftOut]:
    found = _run(tape, 0, cut, reason) if cut else []
    return found + _run(tape, cut, start, Reason.MAX_HISTORY_SIZE) if start > cut else found


def _run(tape: Tape, begin: int, end: int, reason: Reason) -> list[LeftOut]:
    if not (count := tape.counts[end] - tape.counts[begin]):
        return []
    tokens = tape.loose[end] - tape.loose[begin]
    return [LeftOut(tape[begin].seq, tape[end - 1].seq, count, tokens, reason)]


def _runs(entries: Sequence[Entry], reason: Reason) -> list[LeftOut]:
    found: list[LeftOut] = []
    for entry in entries:
        last = found[-1] if found else None
        if last is not None and entry.seq == last.last + 1:
            found[-1] = LeftOut(last.first, entry.seq, last.count + 1, last.tokens + entry.tokens, reason)
        else:
            found.append(_one(entry, reason, entry.tokens))
    return found


def _one(entry: Entry, reason: Reason, tokens: int) -> LeftOut:
    return LeftOut(entry.seq, entry.seq, 1, tokens, reason)


def elision(result: ToolResult) -> str:
    return f"[This answer of {len(result.content)} characters is left out here.]"


def shown_as(message: Message, alteration: Alteration | None) -> Message:
    """The message as the model is shown it: the same, or less."""
    if alteration is None:
        return message
    parts: list[AnyPart] = []
    seen: set[str] = set()
    for part in message.parts:
        match part:
            case ToolCall(id=call) if alteration.calls is not None:
                if call in alteration.calls and call not in seen:
                    seen.add(call)
                    parts.append(part)
            case ToolResult(tool_call_id=call) if alteration.results is not None and call not in alteration.results:
                pass
            case ToolResult() if alteration.elided:
                parts.append(msgspec.structs.replace(part, content=elision(part)))
            case _:
                parts.append(part)
    return msgspec.structs.replace(
        message,
        parts=tuple(parts),
        role=Role.USER if alteration.as_user else message.role,
        analysis=None if alteration.without_analysis else message.analysis,
    )
