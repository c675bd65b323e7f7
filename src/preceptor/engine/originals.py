"""Originals: a past turn with every call it made, each put together again as it was and as it would be now."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from preceptor.domain.errors import NotFound, recorded
from preceptor.domain.ids import MessageId, TurnId, ViewId
from preceptor.domain.instructions.content import ValidationRules
from preceptor.domain.messages.message import Kind, Message, Role
from preceptor.domain.prompts.assemble import Passage, assemble
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.prompts.prompt import Ask, Prompt, Segment, ToolSpec
from preceptor.domain.prompts.source import FromEngine
from preceptor.domain.reasoning.policy import Switch
from preceptor.domain.times import from_micros
from preceptor.domain.turns.calls import Call, CallOutcome
from preceptor.domain.turns.turn import Turn, fold
from preceptor.engine.compiled import Told
from preceptor.engine.connecting import connected
from preceptor.engine.contexts import placed_for
from preceptor.engine.injecting import reinjected
from preceptor.engine.ports import ChatModel, TokenCounter, Work
from preceptor.engine.recovering import events_of
from preceptor.engine.remembering import Asking, Past, remember, show
from preceptor.engine.retelling import Changes, sgr_of, told_with
from preceptor.engine.run import Means
from preceptor.engine.seeing import found
from preceptor.engine.session import Session
from preceptor.engine.talk import TurnRow
from preceptor.engine.voice import Voice, read_system, read_tools, read_voice, specialist_system, tools_for, voice_of

ANSWERS = frozenset({"answer", "final"})


class Shown(msgspec.Struct, frozen=True):
    """What one call is shown, in the pieces that a prompt is made of."""

    system: tuple[Segment, ...]
    said: list[Placed]
    tail: tuple[Segment, ...]
    tools: tuple[ToolSpec, ...]
    overhead: int
    turn_id: TurnId
    analyses: int

    def prompt(self, instead: Mapping[MessageId, Message] | None = None) -> Prompt:
        """`instead` are answers of now, in the place of those of then."""
        said = self.said
        if instead:
            said = [Placed(each.place, instead.get(each.message.id, each.message), each.withheld) for each in self.said]
        passage = Passage(said, self.turn_id, self.analyses)
        return assemble(self.system, passage, self.tail, self.tools, overhead=self.overhead)


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
    at: datetime
    voice: Voice
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
    at = from_micros(events[0].at)
    kept = await work.blobs.get(turn.pins.voice)
    assert kept is not None, "a turn's voice is kept together with it"
    told, notes = await told_with(work, turn, at, changes)
    original = Original(row, turn, at, read_voice(kept), told.effective.validation_rules, notes=notes)
    reading = Reading(work, await connected(work, session), original, changes, told)
    original.steps = await reading.steps()
    return original


class Reading(msgspec.Struct):
    """Reads what each call was shown, and makes of it what it would be shown."""

    work: Work
    means: Means
    original: Original
    changes: Changes
    told: Told
    history: list[Placed] | None = None
    """What a call would be shown of the past, where that is decided anew."""

    async def steps(self) -> list[Step]:
        turn = self.original.turn
        voice = await self._voice()
        if self.changes.refits:
            self.history = await self._refitted(voice)
        ended = [one for one in turn.calls.values() if _came_off(turn, one)]
        if not turn.calls:
            return [await self._imported(voice, message) for message in _answers(turn)]
        replies = {message.call_id: message for message in _everything(turn) if message.call_id is not None}
        steps = [await self._step(voice, call, replies.get(call.call_id)) for call in ended]
        return [step for step in steps if step.reply is not None or step.purpose == "plan"]

    async def _voice(self) -> Voice:
        original = self.original
        if not self.changes.versions:
            return original.voice
        agent = await self.work.agents.find(original.row.agent_id)
        assert agent is not None
        made = voice_of(agent, self.told, original.voice.tools, self._counter)
        return msgspec.structs.replace(made, tools=original.voice.tools)

    async def _step(self, voice: Voice, call: Call, reply: Message | None) -> Step:
        turn, row = self.original.turn, self.original.row
        system = await self.work.blobs.get(call.system)
        tools = None if call.tools is None else await self.work.blobs.get(call.tools)
        assert system is not None
        said = await placed_for(self.work, row.conversation_id, call)
        before = Shown(
            system=read_system(system),
            said=said,
            tail=call.tail,
            tools=() if tools is None else read_tools(tools),
            overhead=self._overhead,
            turn_id=turn.turn_id,
            analyses=call.analyses,
        )
        after = self._changed(before, self._system(voice, call, before), main=call.span_id is None)
        ask, model = self._asked(call)
        recorded = _plan_of(turn) if reply is None else ""
        return Step(
            call=call,
            before=before,
            after=after,
            ask_before=call.ask,
            ask=ask,
            model=model,
            reply=reply,
            recorded=recorded,
        )

    async def _imported(self, voice: Voice, reply: Message) -> Step:
        """A call that someone else's system made: what ours would be shown in its place."""
        turn, row = self.original.turn, self.original.row
        pins = turn.pins
        there = await self.work.messages.find(reply.id)
        assert there is not None
        said = await self.work.messages.between(row.conversation_id, 1, there[1].place - 1)
        may, longest = pins.may_delegate, pins.limits.prompt
        tools = tools_for(self.original.voice, None, may_delegate=may, counter=self._counter, longest=longest)
        before = Shown(
            system=self.original.voice.system,
            said=said,
            tail=(),
            tools=tools,
            overhead=self._overhead,
            turn_id=turn.turn_id,
            analyses=1,
        )
        after = self._changed(before, voice.system if self.changes.versions else before.system, main=True)
        model = self._model(pins.model)
        sampling = RequestParameters.model_validate(pins.parameters).sampling
        then = Ask(model=model.name, sampling=sampling)
        return Step(
            call=None,
            before=before,
            after=after,
            ask_before=then,
            ask=self._ask(then),
            model=model,
            reply=reply,
        )

    def _system(self, voice: Voice, call: Call, before: Shown) -> tuple[Segment, ...]:
        if not self.changes.versions:
            return before.system
        if call.span_id is None:
            return voice.system
        return specialist_system(voice, self.original.turn.spans[call.span_id], self._counter)

    def _changed(self, before: Shown, system: tuple[Segment, ...], *, main: bool) -> Shown:
        said, tail = before.said, before.tail
        turn, sgr = self.original.turn, sgr_of(self.original.turn, self.changes.overrides)
        if self.history is not None:
            mine = [each for each in said if each.message.turn_id == turn.turn_id]
            own = mine if not turn.calls else [each for each in mine if not each.message.from_client]
            said = [*self.history, *own]
        if sgr is not None and turn.planned is not None and main:
            said = reinjected(turn, said, sgr, self.means, self._counter)
            if sgr.enabled is Switch.OFF:
                tail = tuple(one for one in tail if one.source != FromEngine("turn_directive"))
        return msgspec.structs.replace(before, system=system, said=said, tail=tail)

    def _asked(self, call: Call) -> tuple[Ask, ChatModel]:
        pins = self.original.turn.pins
        if call.purpose == "plan":
            name = pins.plan_model or pins.model
            own = name == pins.model
            model = self._model(pins.model_at(call.fallback)) if own else self.means.models.find(name)
            return msgspec.structs.replace(call.ask, model=self._named(call, model)), model
        model = self._model(pins.model_at(call.fallback))
        return self._ask(msgspec.structs.replace(call.ask, model=self._named(call, model))), model

    def _named(self, call: Call, model: ChatModel) -> str:
        """The model's own name, as it was asked for then unless it is another."""
        return call.ask.model if self.changes.overrides.model is None else model.name

    def _ask(self, ask: Ask) -> Ask:
        news = self.changes.overrides.parameters
        if news is None:
            return ask
        then = RequestParameters.model_validate(self.original.turn.pins.parameters)
        return msgspec.structs.replace(ask, sampling=news.over(then).sampling)

    def _model(self, name: str) -> ChatModel:
        return self.means.models.find(self.changes.overrides.model or name)

    @property
    def _counter(self) -> TokenCounter:
        name = self.changes.overrides.model or self.original.turn.pins.model
        return self.means.models.counter(name)

    @property
    def _overhead(self) -> int:
        return self._model(self.original.turn.pins.model).capabilities.message_overhead

    async def _refitted(self, voice: Voice) -> list[Placed]:
        """What another history policy would have shown of the past, in the view of then."""
        turn, row, work = self.original.turn, self.original.row, self.work
        assert turn.accepted is not None
        assert self.changes.overrides.parameters is not None
        pins = turn.pins
        parameters = self.changes.overrides.parameters.over(RequestParameters.model_validate(pins.parameters))
        question = turn.main.messages[0]
        there = await work.messages.find(question.id)
        assert there is not None
        before = there[1].place - 1
        past = Past(row.conversation_id, before, await work.messages.sum_at(row.conversation_id, before))
        views = await work.views.all(row.conversation_id)
        known = turn.accepted.view_id
        view = next((one for one in views if known is not None and one.view_id == ViewId(known)), views[0])
        model = self._model(pins.model)
        asking = Asking(
            self.means, voice, model, self._counter, parameters, pins, question, summarise=False, afresh=True
        )
        history = await remember(work, past, asking, view)
        if history.to_summarise:
            assert history.fit is not None
            history.fit.trim()
            show(history)
        if parameters.compression_strategy is not None:
            self.original.notes.append(
                recorded("What would be summarised first is left out here: no summary is written.")
            )
        return history.said


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
