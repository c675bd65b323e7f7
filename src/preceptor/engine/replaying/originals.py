"""Originals: a past turn with every call it made, each put together again as it was and as it would be now."""

from collections.abc import Sequence

import msgspec

from preceptor.domain.errors import NotFound
from preceptor.domain.ids import TurnId
from preceptor.domain.instructions.content import ValidationRules
from preceptor.domain.messages.message import Kind, Message, Role
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.prompts.prompt import Ask
from preceptor.domain.times import from_micros
from preceptor.domain.turns.calls import Call, CallOutcome
from preceptor.domain.turns.turn import Turn, fold
from preceptor.engine.connecting import connected
from preceptor.engine.contexts import placed_for
from preceptor.engine.following import events_of
from preceptor.engine.ports import ChatModel
from preceptor.engine.replaying.retelling import Changes, told_with
from preceptor.engine.replaying.supposing import Shown, Supposed, suppose
from preceptor.engine.repositories.conversations import TurnRow
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import Session
from preceptor.engine.telling.voice import Voice, read_system, read_tools, read_voice, tools_for

ANSWERS = frozenset({"answer", "final"})


class Step(msgspec.Struct, frozen=True):
    """One call of a turn."""

    call: Call | None
    """None where nothing was sent from here: the turn was imported."""
    before: Shown
    after: Shown
    ask_before: Ask
    ask: Ask
    model: ChatModel
    reply: Message | None
    """What it answered then; None where that was a plan."""
    recorded: str = ""

    @property
    def purpose(self) -> str:
        return "answer" if self.call is None else self.call.purpose

    @property
    def main(self) -> bool:
        """Whether the agent itself was asked, and no specialist."""
        return self.call is None or self.call.span_id is None


class Original(msgspec.Struct):
    row: TurnRow
    turn: Turn
    rules: ValidationRules | None
    steps: list[Step] = []
    notes: list[str] = []


async def original_of(work: Work, session: Session, turn_id: TurnId, changes: Changes) -> Original:
    row = await work.turns.find(turn_id)
    if row is None:
        raise NotFound("turn", turn_id)
    await found(work, session.caller, row.conversation_id, archived=True)
    events = await events_of(work, row)
    turn = fold(turn_id, events)
    if turn.accepted is None or turn.ended is None:
        raise NotFound("ended turn", turn_id)  # it was erased, or still runs
    kept = await work.blobs.get(turn.pins.voice)
    assert kept is not None, "a turn's voice is kept together with it"
    voice, means = read_voice(kept), await connected(work, session)
    told, notes = await told_with(work, turn, from_micros(events[0].at), changes)
    supposed = await suppose(work, row, told, Supposed(turn, means, changes, voice))
    steps = await Reading(work, row, turn, voice, supposed).steps()
    return Original(row, turn, told.effective.validation_rules, steps, notes + supposed.notes)


class Reading(msgspec.Struct, frozen=True):
    """Reads what each call of a turn was shown."""

    work: Work
    row: TurnRow
    turn: Turn
    voice: Voice
    supposed: Supposed

    async def steps(self) -> list[Step]:
        turn = self.turn
        if not turn.calls:
            return [await self._imported(message) for message in _answers(turn)]
        ended = [one for one in turn.calls.values() if _came_off(turn, one)]
        replies = {message.call_id: message for message in _everything(turn) if message.call_id is not None}
        steps = [await self._step(call, replies.get(call.call_id)) for call in ended]
        return [step for step in steps if step.reply is not None or step.purpose == "plan"]

    async def _step(self, call: Call, reply: Message | None) -> Step:
        system = await self.work.blobs.get(call.system)
        tools = None if call.tools is None else await self.work.blobs.get(call.tools)
        assert system is not None
        before = Shown(
            system=read_system(system),
            said=await placed_for(self.work, self.row.conversation_id, call),
            tail=call.tail,
            tools=() if tools is None else read_tools(tools),
            overhead=self.supposed.overhead,
            turn_id=self.turn.turn_id,
            analyses=call.analyses,
        )
        ask, model = self.supposed.asked(call)
        return Step(
            call=call,
            before=before,
            after=self.supposed.shown(before, call),
            ask_before=call.ask,
            ask=ask,
            model=model,
            reply=reply,
            recorded=_plan_of(self.turn) if reply is None else "",
        )

    async def _imported(self, reply: Message) -> Step:
        """A call that someone else's system made: what ours would be shown in its place."""
        pins, supposed = self.turn.pins, self.supposed
        there = await self.work.messages.find(reply.id)
        assert there is not None
        may, longest = pins.may_delegate, pins.limits.prompt
        before = Shown(
            system=self.voice.system,
            said=await self.work.messages.between(self.row.conversation_id, 1, there[1].place - 1),
            tail=(),
            tools=tools_for(self.voice, None, may_delegate=may, counter=supposed.counter, longest=longest),
            overhead=supposed.overhead,
            turn_id=self.turn.turn_id,
            analyses=1,
        )
        model = supposed.model(pins.model)
        then = Ask(model=model.name, sampling=RequestParameters.model_validate(pins.parameters).sampling)
        return Step(
            call=None,
            before=before,
            after=supposed.shown(before, None),
            ask_before=then,
            ask=supposed.ask(then),
            model=model,
            reply=reply,
        )


def _came_off(turn: Turn, call: Call) -> bool:
    ended = turn.endings.get(call.call_id)
    wanted = call.purpose in ANSWERS or (call.purpose == "plan" and turn.planned is not None)
    return wanted and ended is not None and ended.outcome is CallOutcome.OK


def _everything(turn: Turn) -> list[Message]:
    return [*turn.main.messages, *(message for lane in turn.branches.values() for message in lane.messages)]


def _answers(turn: Turn) -> Sequence[Message]:
    return [one for one in turn.main.messages if one.role is Role.ASSISTANT and one.kind is Kind.MESSAGE]


def _plan_of(turn: Turn) -> str:
    raw = None if turn.planned is None else turn.planned.record.get("rawPlan")
    return raw if isinstance(raw, str) else msgspec.json.encode(raw, order="sorted").decode()
