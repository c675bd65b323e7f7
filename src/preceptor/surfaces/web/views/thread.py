"""A turn as people read it: a fold over what its events tell. The page is the fold, the stream is its next steps.

Each step says what changes on a page: `Put` a part into a place, `Text` to append, something to `Fold` or to `Drop`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec

from preceptor.domain.delegation import DELEGATE, ClosedBy, Span
from preceptor.domain.ids import InstructionId, MessageId
from preceptor.domain.messages.message import Kind, Message, Role
from preceptor.domain.reasoning.verdict import Level, Verdict
from preceptor.domain.turns.facts import (
    TURN_ENDED,
    Accepted,
    Ended,
    Judgement,
    MessageAbandoned,
    MessageDelta,
    MessageStarted,
    Planned,
    PlanReady,
    SpanClosed,
)
from preceptor.engine.threads import Thread, Told
from preceptor.surfaces.web.views.said import (
    Change,
    Drop,
    Fold,
    Group,
    Put,
    Question,
    Step,
    Text,
    completed,
    question_of,
    steps_in,
)

STANDS_FOR_OTHERS = frozenset({Kind.SUMMARY, Kind.COMPACTION, Kind.MEMORY})


class TurnView(msgspec.Struct):
    turn_id: str
    question: Question | None = None
    guard: Verdict | None = None
    guardian: str = ""
    intent: str | None = None
    confidence: float | None = None
    items: list[Step | Group] = []
    answer: str | None = None
    """What is said in the place of an answer: a question back, or why there is none."""
    ended: Ended | None = None
    pins: Accepted | None = None
    names: dict[InstructionId, str] = {}
    """What its instructions are called."""
    milliseconds: int = 0
    began: int = 0
    groups: dict[str, Group] = {}
    spoken: dict[str, Step] = {}
    calls: dict[str, Step] = {}

    @property
    def status(self) -> str:
        return self.ended.status.value if self.ended else "running"

    @property
    def instructions(self) -> tuple[InstructionId, ...]:
        return () if self.pins is None else tuple(pin.instruction_id for pin in self.pins.pins.instructions)

    @property
    def blocked(self) -> bool:
        return self.status == "blocked"

    @property
    def steps(self) -> list[Step]:
        """The intermediate ones, which can be cleaned up."""
        return [step for step in steps_in(self.items) if step.intermediate and step.visible and step.whole]

    def tell(self, told: Told) -> list[Change]:
        """One step of the fold, and what it changes on a page."""
        self.began = self.began or told.at
        fact: Any = told.fact
        if isinstance(fact, dict):
            return self._told_user(told.kind, cast("dict[str, Any]", fact))
        match fact:
            case Message() as message:
                return self._said(message)
            case Ended() as ended:
                self.milliseconds = (told.at - self.began) // 1000
                return self._over(ended)
            case SpanClosed() as closed:
                return self._closed(closed)
            case MessageDelta(message_id=message_id, text=text, thinking=False):
                return self._heard(message_id, text)
            case MessageAbandoned():
                return self._abandoned(fact)
            case PlanReady(user_intent=intent):
                self.intent = intent
                return [self._understood()] if intent else []
            case _:
                return self._told_record(fact)

    def _abandoned(self, fact: MessageAbandoned) -> list[Change]:
        """What was half said is said again, unless the turn was over: then it is all there is."""
        step = self.spoken.get(fact.message_id)
        if step is not None and fact.why == TURN_ENDED and step.text.strip():
            step.broken = True
            return [self._shown(step)]
        self._forget(fact.message_id)
        return [Drop(f"m-{fact.message_id}")]

    def _told_user(self, kind: str, fact: dict[str, Any]) -> list[Change]:
        """What users are told in fewer words than the record has."""
        match kind:
            case "message.started":
                return self._begun(fact["messageId"], fact["spanId"])
            case "delegation.opened":
                return self._opened(fact["spanId"], fact["parent"], fact["reason"], None)
            case "turn.accepted":
                return [self._whole()]
            case _:
                return []

    def _told_record(self, fact: Any) -> list[Change]:
        match fact:
            case MessageStarted():
                return self._begun(fact.message_id, fact.span_id)
            case Span():
                return self._opened(fact.span_id, fact.parent, fact.reason, fact.agent_prompt)
            case Accepted():
                self.pins = fact
                return [self._whole()]
            case Judgement():
                return self._judged(fact)
            case Planned(plan=plan):
                self.confidence = None if plan.degraded else plan.intent_confidence
                return []
            case _:
                return []

    def _heard(self, message_id: str, text: str) -> list[Change]:
        step = self.spoken.get(message_id)
        if step is None:
            return []
        block = step.hear(text)
        if block is None:
            return [Text(f"b-{message_id}", text)]
        rest = Put("rest", f"b-{message_id}", f"m-{message_id}", step)
        return [Put("block", block.id, f"w-{message_id}", block), rest]

    def _whole(self) -> Put:
        return Put("turn", f"t-{self.turn_id}", "thread", self)

    def _understood(self) -> Put:
        """It stands before everyone who speaks, also one who was there before it."""
        return self._whole() if self.items else Put("plan", f"p-{self.turn_id}", f"said-{self.turn_id}", self)

    def _into(self, span_id: str | None) -> str:
        return f"steps-{span_id}" if span_id in self.groups else f"said-{self.turn_id}"

    def _items(self, span_id: str | None) -> list[Step | Group]:
        group = self.groups.get(span_id or "")
        return self.items if group is None else group.items

    def _begun(self, message_id: str, span_id: str | None) -> list[Change]:
        step = Step(message_id, span_id, intermediate=span_id is not None)
        self.spoken[message_id] = step
        self._items(span_id).append(step)
        return [self._shown(step)]

    def _shown(self, step: Step) -> Put:
        return Put("step", f"m-{step.message_id}", self._into(step.span_id), step)

    def _said(self, message: Message) -> list[Change]:
        if message.role is Role.USER and message.from_client:
            self.items.append(completed(Step(message.id, kind="brought"), message))
            return [self._shown(_last(self.items))]
        if message.role is Role.USER:
            self.question = question_of(message)
            return [Put("user", f"m-{message.id}", f"said-{self.turn_id}", self.question)]
        if message.role is Role.TOOL:
            return self._answered(message)
        if message.role is Role.SYSTEM or message.kind in {Kind.SYNTHETIC_PLAN, *STANDS_FOR_OTHERS}:
            return []
        known = message.id in self.spoken
        step = self.spoken.get(message.id) or Step(message.id, message.span_id)
        completed(step, message)
        if not known:
            self.spoken[message.id] = step
            self._items(message.span_id).append(step)
        self.calls |= {call.id: step for call in message.tool_calls}
        self._weigh(message)
        if not step.visible:
            return [Drop(f"m-{message.id}")] if known else []
        return [self._shown(step)]

    def _answered(self, message: Message) -> list[Change]:
        changed: dict[str, Step] = {}
        self._weigh(message)
        for result in message.tool_results:
            step = self.calls.get(result.tool_call_id)
            if step is None:
                continue
            step.weight += message.tokens
            if (group := self.groups.get(message.span_id or "")) is not None and result.name == DELEGATE:
                group.weight += step.tokens  # it goes with the call that opened it
            if (use := step.tools.get(result.tool_call_id)) is not None:
                use.result, use.is_error = result.content, result.is_error
            changed[step.message_id] = step
        for step in changed.values():
            step.answers.append(message.id)
        return [self._shown(step) for step in changed.values() if step.visible]

    def _weigh(self, message: Message) -> None:
        group = self.groups.get(message.span_id or "")
        while group is not None:
            group.weight += message.tokens
            group = self.groups.get(group.parent or "")

    def _forget(self, message_id: str) -> None:
        step = self.spoken.pop(message_id, None)
        if step is not None:
            self._items(step.span_id).remove(step)

    def _opened(self, span_id: str, parent: str | None, reason: str | None, asked: str | None) -> list[Change]:
        group = Group(span_id, reason, asked, parent)
        self.groups[span_id] = group
        self._items(parent).append(group)
        return [Put("group", f"d-{span_id}", self._into(parent), group)]

    def _closed(self, closed: SpanClosed) -> list[Change]:
        group = self.groups.get(closed.span_id)
        if group is None:
            return []
        group.closed, group.tokens, group.why = True, closed.tokens, closed.why
        group.carried = closed.closed_by is ClosedBy.CARRIED
        return [Fold(f"d-{closed.span_id}", group)]

    def _judged(self, judgement: Judgement) -> list[Change]:
        judged = judgement.judged
        if judgement.what != "question" or not isinstance(judged, Verdict) or judged.level is Level.SAFE:
            return []
        self.guard, self.guardian = judged, judgement.guardian
        return [Put("guard", f"g-{self.turn_id}", f"said-{self.turn_id}", self)]

    def _over(self, ended: Ended) -> list[Change]:
        self.ended = ended
        empty = [step for step in steps_in(self.items) if not step.whole and not step.text.strip()]
        for step in empty:
            self._forget(step.message_id)
        for group in self.groups.values():
            group.closed = True
        said = None if ended.message is None else self.spoken.get(ended.message.id)
        if ended.message is not None and (said is None or said.span_id is not None):
            self.answer = ended.message.text
        return [*(Drop(f"m-{step.message_id}") for step in empty), *self._last_words()]

    def _last_words(self) -> Iterator[Change]:
        into = f"said-{self.turn_id}"
        if self.intent and self.blocked:
            yield Put("plan", f"p-{self.turn_id}", into, self)
        if self.answer:
            yield Put("answer", f"a-{self.turn_id}", into, self)
        yield Put("end", f"e-{self.turn_id}", f"t-{self.turn_id}", self)


def turn_of(turn_id: str, told: Iterable[Told]) -> TurnView:
    turn = TurnView(turn_id)
    for each in told:
        turn.tell(each)
    return turn


def turns_of(thread: Thread) -> list[TurnView]:
    """The turns of a thread, as its view shows them."""
    views = {one.turn_id: turn_of(one.turn_id, one.told) for one in thread.turns}
    for turn in views.values():
        _hide(turn.items, thread.gone)
    for message in thread.messages:
        if message.kind in STANDS_FOR_OTHERS and message.turn_id in views:
            items = views[message.turn_id].items
            items.insert(_before_answer(items), completed(Step(message.id), message))
    return [turn for turn in views.values() if turn.question is None or turn.question.id not in thread.gone]


def _hide(items: list[Step | Group], gone: frozenset[MessageId]) -> int:
    """Take out what is no longer shown; answers how many."""
    hidden = 0
    for item in list(items):
        if isinstance(item, Group):
            item.hidden = _hide(item.items, gone)
            hidden += item.hidden
            if item.hidden and not item.items:
                items.remove(item)
        elif item.message_id in gone:
            items.remove(item)
            hidden += item.visible
    return hidden


def _last(items: Sequence[Step | Group]) -> Step:
    last = items[-1]
    assert isinstance(last, Step)
    return last


def _before_answer(items: Sequence[Step | Group]) -> int:
    last = items[-1] if items else None
    return len(items) - 1 if isinstance(last, Step) and not last.intermediate else len(items)
