"""What became of a turn that was gone through again, as people read it: what differs in the answer, the plan, and in
what the models were shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from preceptor.domain.ids import InstructionId
from preceptor.domain.prompts.source import AnySource, FromInstruction
from preceptor.domain.replays.replay import CallItem, Changed, Item
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.views.diff import Block, changes_in, compared
from preceptor.surfaces.web.views.sources import Sourced, kind_of, link_to, named

PLAN = "plan"
MEASURES = {
    "promptTokens": msg("Tokens of what is shown"),
    "rulesKept": msg("Share of answers that keep the rules"),
    "answerLength": msg("Characters of an answer"),
    "cost": msg("Cost"),
}
VALIDITY = (
    msg(
        "Each call was shown what it was shown then, but for what was changed, and answered anew. "
        "What a user would have said to a different answer is not known."
    ),
    msg(
        "No model was asked. What each call would be shown is compared with what it was shown; "
        "answers are those of then."
    ),
    msg(
        "Each turn was gone through anew, with the tool results of then, and only as far as "
        "the same tools were called. No tool was run."
    ),
    msg(
        "No model was asked, so every turn goes the way it went. What each call would be "
        "shown is compared with what it was shown."
    ),
)
"""What a replay says of itself, for the translators."""


class ShownPart(Sourced, frozen=True):
    """A part of what a model is shown that is there on one side only."""

    side: str
    text: str
    source: str
    link: str | None


class CallView(msgspec.Struct, frozen=True):
    call: CallItem
    parts: tuple[ShownPart, ...]
    blocks: list[Block]
    """Of what was answered then and now; none where no one was asked."""

    @property
    def is_plan(self) -> bool:
        return self.call.purpose == PLAN

    @property
    def before(self) -> str:
        return "\n".join(_plan_lines(self.call.before)) if self.is_plan else self.call.before

    @property
    def changed(self) -> bool:
        return bool(changes_in(self.blocks))


class ItemView(msgspec.Struct, frozen=True):
    item: Item
    calls: tuple[CallView, ...]
    tokens_before: int
    tokens_after: int


def item_view(item: Item, names: Mapping[InstructionId, str]) -> ItemView:
    calls = tuple(_call(item, call, names) for call in item.calls)
    return ItemView(
        item, calls, sum(call.tokens_before for call in item.calls), sum(call.tokens_after for call in item.calls)
    )


def instructions_in(items: Iterable[Item]) -> list[InstructionId]:
    sources = (_source(one.source) for item in items for call in item.calls for one in call.context_diff)
    return [one.instruction_id for one in sources if isinstance(one, FromInstruction)]


def around(places: Sequence[int], place: int) -> tuple[int | None, int | None]:
    """The one before and the one after."""
    before = [one for one in places if one < place]
    after = [one for one in places if one > place]
    return (before[-1] if before else None), (after[0] if after else None)


def _call(item: Item, call: CallItem, names: Mapping[InstructionId, str]) -> CallView:
    parts = tuple(_part(one, item.conversation_id, names) for one in call.context_diff)
    lines = _plan_lines if call.purpose == PLAN else str.splitlines
    blocks = [] if call.after is None else compared(lines(call.before), lines(call.after))
    return CallView(call, parts, blocks)


def _plan_lines(text: str) -> list[str]:
    """A plan, one line for each thing it says, however the model handed it over."""
    try:
        said = msgspec.json.format(text[text.index("{") :], indent=2)
    except (ValueError, msgspec.DecodeError):
        return text.splitlines()
    return said.splitlines()


def _part(one: Changed, conversation: str, names: Mapping[InstructionId, str]) -> ShownPart:
    source = _source(one.source)
    told, link = named(source, one.role, names), link_to(source, conversation)
    return ShownPart(kind_of(source), one.side, one.text, told, link)


def _source(told: dict[str, Any]) -> AnySource:
    return msgspec.convert(told, AnySource)
