"""A run: a turn with everything it is taken with."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec

from preceptor.domain.conversations.conversation import Conversation
from preceptor.domain.delegation import Span
from preceptor.domain.ids import CallId, InstructionId, MessageId
from preceptor.domain.messages.directive import INTERMEDIATE, Directive, written
from preceptor.domain.messages.message import AnyPart, Kind, Message, Role
from preceptor.domain.prompts.assemble import Passage
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.prompts.prompt import Sampling
from preceptor.domain.reasoning.policy import GuardPolicy, SgrPolicy
from preceptor.domain.turns.facts import Pins
from preceptor.domain.turns.turn import Lane, Turn
from preceptor.engine.history.counting import tokens_of
from preceptor.engine.history.history import History
from preceptor.engine.means.means import Means
from preceptor.engine.ports import ChatModel, StartBeside, TokenCounter, World
from preceptor.engine.telling.voice import Voice
from preceptor.engine.turn.journal import Journal

LEASE = timedelta(seconds=30)


class Specialist(msgspec.Struct, frozen=True):
    """A specialist of the library: an instruction that can be delegated to by its name."""

    prompt: str
    instruction_id: InstructionId
    version: str


class Run(msgspec.Struct, eq=False):
    means: Means
    world: World
    journal: Journal
    turn: Turn
    """Where it stands: what the journal has noted, folded."""
    voice: Voice
    model: ChatModel
    counter: TokenCounter
    sampling: Sampling
    history: History
    began: float
    """When the turn was accepted, by the clock that never goes back."""
    images: dict[str, str] = {}
    """Of the messages that are shown, in base64 by id; empty where the model takes none."""
    specialists: dict[str, Specialist] = {}
    prepared: Any = None
    """The first call, where it was written down together with the user's message."""
    guard: GuardPolicy | None = None
    """The policy of its pins, once it was read."""
    conversation: Conversation | None = None
    """As it was when the turn was accepted; None for one that was taken up again."""
    beside: StartBeside | None = None
    """Starts conversations beside this one."""
    told: tuple[list[Placed], Passage] | None = None
    """What the main lane was shown last, and the history that it began with."""

    @property
    def pins(self) -> Pins:
        assert self.turn.accepted is not None
        return self.turn.accepted.pins

    @property
    def analyses(self) -> int:
        """Of how many turns, this one first, models are shown the whole analysis."""
        return SgrPolicy.model_validate(self.pins.sgr).retain_analysis_turns if self.pins.sgr else 1

    @property
    def kept(self) -> Iterator[str]:
        """Texts that are kept for certain once this turn is accepted."""
        yield self.pins.voice
        for call in self.turn.calls.values():
            yield from (sha256 for sha256 in (call.system, call.tools) if sha256 is not None)

    @property
    def seconds(self) -> float:
        return self.world.monotonic() - self.began

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.turn.limits.seconds - self.seconds)

    def model_of(self, lane: Lane) -> ChatModel:
        """Who is asked on a lane: the agent's own model, or the one in its place."""
        return self.means.models.find(self.pins.model_at(lane.fallback)) if lane.fallback else self.model

    def said_in(self, lane: Lane) -> list[Placed]:
        """What this turn has said that is heard on this lane."""
        if lane.root is None:
            return self.journal.here
        return [*self._before(self.turn.spans[lane.root]), *self.journal.aside.get(lane.root, [])]

    def passage(self, lane: Lane) -> Passage:
        """What was said before this turn and in it, as this lane is shown it."""
        before = self.history.said
        if lane.root is not None:
            return self.passage_of([*before, *self.said_in(lane)])
        if self.told is None or self.told[0] is not before:
            self.told = before, self.passage_of(before)
        passage = self.told[1]
        passage.go_on(self.journal.here[len(passage) - len(before) :])
        return passage

    def passage_of(self, said: list[Placed]) -> Passage:
        return Passage(said, self.turn.turn_id, self.analyses)

    def _before(self, branch: Span) -> Iterator[Placed]:
        """What had been said when a branch was opened, without the call that opened it: that has no answer yet."""
        for each in self.said_in(self.turn.lane_of(branch.parent)):
            if any(call.id == branch.tool_call_id for call in each.message.tool_calls):
                return
            yield each

    def message(
        self,
        role: Role,
        parts: tuple[AnyPart, ...],
        lane: Lane,
        *directives: Directive,
        message_id: MessageId | None = None,
        kind: Kind = Kind.MESSAGE,
        call_id: CallId | None = None,
    ) -> Message:
        """A message of this turn, marked as intermediate while a specialist speaks, or another that it asked."""
        above = () if lane.speaker is None else self.turn.above(lane)
        marks = (INTERMEDIATE,) if above and any(span.mark_intermediate for span in above) else ()
        unique = dict.fromkeys((*marks, *directives))
        return Message(
            id=message_id or MessageId(self.world.new_id()),
            conversation_id=self.journal.conversation_id,
            turn_id=self.turn.turn_id,
            role=role,
            kind=kind,
            parts=parts,
            instructions=tuple(map(written, unique)),
            tokens=tokens_of(parts, self.counter),
            created_at=self.world.now(),
            span_id=lane.span_id,
            agent_id=self.pins.agent_id,
            call_id=call_id,
        )

    def with_analysis(self, message: Message, analysis: str) -> Message:
        """A synthetic message with the part that only models read."""
        tokens = self.counter.count(analysis)
        return msgspec.structs.replace(
            message, analysis=analysis, analysis_tokens=tokens, tokens=message.tokens + tokens
        )
