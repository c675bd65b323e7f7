"""Supposing: what a call of a past turn would be shown, and who would be asked, if something were different."""

from collections.abc import Mapping

import msgspec

from preceptor.domain.errors import recorded
from preceptor.domain.ids import MessageId, SpanId, TurnId, ViewId
from preceptor.domain.messages.message import Message
from preceptor.domain.prompts.assemble import Passage, assemble
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.prompts.prompt import Ask, Prompt, Segment, ToolSpec
from preceptor.domain.prompts.source import FromEngine
from preceptor.domain.reasoning.policy import Switch
from preceptor.domain.turns.calls import Call
from preceptor.domain.turns.turn import Turn
from preceptor.engine.history.remembering import Asking, Past, remember, show
from preceptor.engine.means.means import Means
from preceptor.engine.ports import ChatModel, TokenCounter
from preceptor.engine.replaying.injecting import reinjected
from preceptor.engine.replaying.retelling import Changes, sgr_of
from preceptor.engine.repositories.conversations import TurnRow
from preceptor.engine.repositories.work import Work
from preceptor.engine.telling.compiled import Told
from preceptor.engine.telling.voice import Voice, specialist_system, voice_of

UNSUMMARISED = recorded("What would be summarised first is left out here: no summary is written.")


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


class Supposed(msgspec.Struct, frozen=True):
    """A turn as it would be taken."""

    turn: Turn
    means: Means
    changes: Changes
    voice: Voice
    history: list[Placed] | None = None
    """What would be shown of the past, where that is decided anew."""

    @property
    def counter(self) -> TokenCounter:
        return self.means.models.counter(self.changes.overrides.model or self.turn.pins.model)

    @property
    def overhead(self) -> int:
        return self.model(self.turn.pins.model).capabilities.message_overhead

    @property
    def parameters(self) -> RequestParameters:
        then, news = RequestParameters.model_validate(self.turn.pins.parameters), self.changes.overrides.parameters
        return then if news is None else news.over(then)

    @property
    def notes(self) -> list[str]:
        """What whoever compares it should know."""
        return [UNSUMMARISED] if self.changes.refits and self.parameters.compression_strategy is not None else []

    def model(self, name: str) -> ChatModel:
        return self.means.models.find(self.changes.overrides.model or name)

    def shown(self, before: Shown, call: Call | None) -> Shown:
        """What a call would be shown that was shown `before`; None is one of someone else's system."""
        span_id, said, tail = call and call.span_id, before.said, before.tail
        sgr = sgr_of(self.turn, self.changes.overrides)
        if self.history is not None:
            mine = [each for each in said if each.message.turn_id == self.turn.turn_id]
            own = mine if not self.turn.calls else [each for each in mine if not each.message.from_client]
            said = [*self.history, *own]
        if sgr is not None and self.turn.planned is not None and span_id is None:
            said = reinjected(self.turn, said, sgr, self.means, self.counter)
            if sgr.enabled is Switch.OFF:
                tail = tuple(one for one in tail if one.source != FromEngine("turn_directive"))
        return msgspec.structs.replace(before, system=self._system(before, span_id), said=said, tail=tail)

    def _system(self, before: Shown, span_id: SpanId | None) -> tuple[Segment, ...]:
        if not self.changes.versions:
            return before.system
        if span_id is None:
            return self.voice.system
        return specialist_system(self.voice, self.turn.spans[span_id], self.counter)

    def asked(self, call: Call) -> tuple[Ask, ChatModel]:
        """How it would be asked, and whom."""
        pins = self.turn.pins
        if call.purpose == "plan":
            name = pins.plan_model or pins.model
            own = name == pins.model
            model = self.model(pins.model_at(call.fallback)) if own else self.means.models.find(name)
            return msgspec.structs.replace(call.ask, model=self._named(call, model)), model
        model = self.model(pins.model_at(call.fallback))
        return self.ask(msgspec.structs.replace(call.ask, model=self._named(call, model))), model

    def ask(self, then: Ask) -> Ask:
        if self.changes.overrides.parameters is None:
            return then
        return msgspec.structs.replace(then, sampling=self.parameters.sampling)

    def _named(self, call: Call, model: ChatModel) -> str:
        """The model's own name, as it was asked for then unless it is another."""
        return call.ask.model if self.changes.overrides.model is None else model.name


async def suppose(work: Work, row: TurnRow, told: Told, supposed: Supposed) -> Supposed:
    """With the voice it would have, in the place of that of then, and what it would be shown of the past."""
    if supposed.changes.versions:
        agent, tools = await work.agents.find(row.agent_id), supposed.voice.tools
        assert agent is not None
        voice = msgspec.structs.replace(voice_of(agent, told, tools, supposed.counter), tools=tools)
        supposed = msgspec.structs.replace(supposed, voice=voice)
    if supposed.changes.refits:
        supposed = msgspec.structs.replace(supposed, history=await _refitted(work, row, supposed))
    return supposed


async def _refitted(work: Work, row: TurnRow, supposed: Supposed) -> list[Placed]:
    """What another history policy would have shown of the past, in the view of then."""
    turn, conversation_id = supposed.turn, row.conversation_id
    assert turn.accepted is not None
    question = turn.main.messages[0]
    there = await work.messages.find(question.id)
    assert there is not None
    before = there[1].place - 1
    past = Past(conversation_id, before, await work.messages.sum_at(conversation_id, before))
    views = await work.views.all(conversation_id)
    known = turn.accepted.view_id
    view = next((one for one in views if known is not None and one.view_id == ViewId(known)), views[0])
    asking = Asking(
        supposed.means,
        supposed.voice,
        supposed.model(turn.pins.model),
        supposed.counter,
        supposed.parameters,
        turn.pins,
        question,
        summarise=False,
        afresh=True,
    )
    history = await remember(work, past, asking, view)
    if history.to_summarise:
        assert history.fit is not None
        history.fit.trim()
        show(history)
    return history.said
