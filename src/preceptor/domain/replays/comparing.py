"""Comparing what was with what is now: requests part by part, answers line by line, measures unit by unit."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import msgspec

from preceptor.domain.errors import recorded
from preceptor.domain.messages.message import AnyPart, Message, ToolCall, texts
from preceptor.domain.prompts.prompt import Prompt
from preceptor.domain.prompts.source import FromTool
from preceptor.domain.replays.replay import Changed, Comparison, Difference, Sums
from preceptor.domain.replays.statistics import paired

LONGEST = 20_000
"""Characters of one part that a difference quotes."""


class Part(NamedTuple):
    """A piece of what a model is shown."""

    role: str
    text: str
    source: dict[str, Any]

    @property
    def key(self) -> tuple[str, str]:
        return self.role, self.text


def parts_of(prompt: Prompt) -> list[Part]:
    """Everything that is shown, in order."""
    system = [Part("system", one.text, msgspec.to_builtins(one.source)) for one in prompt.system]
    shown = [Part(one.message.role, said(one.message.parts), msgspec.to_builtins(one.source)) for one in prompt.shown]
    tail = [Part("user", one.text, msgspec.to_builtins(one.source)) for one in prompt.tail]
    tools = [Part("tools", _told(tool), msgspec.to_builtins(FromTool(tool.name))) for tool in prompt.tools]
    return [*system, *shown, *tail, *tools]


def context_diff(before: Prompt, after: Prompt) -> tuple[Changed, ...]:
    """The parts that only one of them has."""
    old, new = parts_of(before), parts_of(after)
    matcher = SequenceMatcher(None, [part.key for part in old], [part.key for part in new], autojunk=False)
    found: list[Changed] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            found += [_changed("before", part) for part in old[i1:i2]]
            found += [_changed("after", part) for part in new[j1:j2]]
    return tuple(found)


def _changed(side: str, part: Part) -> Changed:
    return Changed(side=side, role=part.role, text=part.text[:LONGEST], source=part.source)


def _told(tool: Any) -> str:
    told = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return msgspec.json.encode(told).decode()


def said(parts: Sequence[AnyPart]) -> str:
    """What a message says and what it calls, as text."""
    calls = [f"→ {part.name} {_arguments(part)}" for part in parts if isinstance(part, ToolCall)]
    words = texts(parts)
    if not words and not calls:
        return msgspec.json.encode(parts).decode() if parts else ""
    return "\n".join([*([words] if words else []), *calls])


def _arguments(call: ToolCall) -> str:
    return call.malformed or msgspec.json.encode(call.arguments, order="sorted").decode()


def answer_diff(before: str, after: str) -> Difference:
    old, new = before.splitlines(), after.splitlines()
    removed: list[str] = []
    added: list[str] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            removed += old[i1:i2]
            added += new[j1:j2]
    return Difference(removed=tuple(removed), added=tuple(added))


def divergence(before: Sequence[AnyPart], after: Sequence[AnyPart]) -> str | None:
    """Why what follows then says nothing about what would follow now; None if the same tools were called."""
    old, new = _calls(before), _calls(after)
    if old == new:
        return None
    return recorded("It called %(now)s instead of %(then)s.", now=_listed(new), then=_listed(old))


def _calls(parts: Sequence[AnyPart]) -> list[tuple[str, str]]:
    return [(part.name, _arguments(part)) for part in parts if isinstance(part, ToolCall)]


def _listed(calls: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {arguments[:200]}" for name, arguments in calls) or "nothing"


def in_its_place(before: Message, after: Sequence[AnyPart]) -> Message:
    """What was answered now in the place of what was answered then, under the ids that the tool results know."""
    known = iter([part.id for part in before.parts if isinstance(part, ToolCall)])
    parts: tuple[AnyPart, ...] = tuple(
        msgspec.structs.replace(part, id=next(known)) if isinstance(part, ToolCall) else part for part in after
    )
    return msgspec.structs.replace(before, parts=parts)


class Digest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What sums and comparisons need of a turn: no word of it."""

    conversation: str
    same: bool = False
    failed: bool = False
    diverged: bool = False
    answered: bool = False
    """Whether a model was asked."""
    broken_before: bool = False
    broken: bool = False
    """Whether the answer breaks a rule."""
    ruled: bool = False
    prompt_before: int = 0
    prompt: int = 0
    length_before: int = 0
    length: int = 0
    cost_before: float = 0.0
    cost: float = 0.0
    tokens: int = 0


def sums_of(digests: Sequence[Digest]) -> Sums:
    done = [one for one in digests if not one.failed]
    return Sums(
        turns=len(digests),
        same=sum(one.same for one in done),
        changed=sum(not one.same for one in done),
        rule_breaks=sum(one.broken for one in done),
        diverged=sum(one.diverged for one in done),
        failed=len(digests) - len(done),
        tokens=sum(one.tokens for one in digests),
        cost=sum(one.cost for one in digests if one.answered),
    )


def compared(digests: Sequence[Digest]) -> tuple[Comparison, ...]:
    """Each measure of the turns that were gone through, before and after."""
    done = [one for one in digests if not one.failed]
    live = [one for one in done if one.answered and not one.diverged]
    ruled = [one for one in done if one.ruled]
    measures = (
        ("promptTokens", [(one.conversation, float(one.prompt_before), float(one.prompt)) for one in done]),
        ("rulesKept", [(one.conversation, float(not one.broken_before), float(not one.broken)) for one in ruled]),
        ("answerLength", [(one.conversation, float(one.length_before), float(one.length)) for one in live]),
        ("cost", [(one.conversation, one.cost_before, one.cost) for one in live]),
    )
    return tuple(_comparison(name, pairs) for name, pairs in measures if pairs)


def _comparison(metric: str, pairs: Sequence[tuple[str, float, float]]) -> Comparison:
    units = list(_by_conversation(pairs))
    before = sum(old for old, _ in units) / len(units)
    after = sum(new for _, new in units) / len(units)
    found = paired([new - old for old, new in units])
    return Comparison(
        metric=metric,
        units=len(units),
        turns=len(pairs),
        before=before,
        after=after,
        difference=found.mean,
        low=found.low,
        high=found.high,
        p_value=found.p_value,
    )


def _by_conversation(pairs: Iterable[tuple[str, float, float]]) -> Iterator[tuple[float, float]]:
    """The means of each conversation: what is compared is what is independent of each other."""
    groups: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for conversation, before, after in pairs:
        groups[conversation].append((before, after))
    for group in groups.values():
        yield sum(old for old, _ in group) / len(group), sum(new for _, new in group) / len(group)
