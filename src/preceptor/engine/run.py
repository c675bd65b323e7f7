"""A run: a turn with everything it is taken with."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from preceptor.domain.conversations.conversation import Conversation
from preceptor.domain.conversations.view import View
from preceptor.domain.delegation import Limits, Span
from preceptor.domain.history.segment import State
from preceptor.domain.ids import AgentId, CallId, InstructionId, MessageId, OrgId, TaskId, TurnId, ViewId
from preceptor.domain.messages.directive import INTERMEDIATE, Directive, written
from preceptor.domain.messages.message import AnyPart, Kind, Message, Role
from preceptor.domain.prompts.assemble import Passage
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.prompts.prompt import Sampling
from preceptor.domain.reasoning.policy import GuardPolicy, SgrPolicy
from preceptor.domain.turns.calls import Altered, LeftOut
from preceptor.domain.turns.facts import Pins
from preceptor.domain.turns.turn import Lane, Turn
from preceptor.engine.connections import Connector, OwnProvider, OwnServer
from preceptor.engine.counting import tokens_of
from preceptor.engine.errands import Errands
from preceptor.engine.fitting import Fit
from preceptor.engine.guarding import GuardWatch
from preceptor.engine.journal import Journal
from preceptor.engine.places import Places
from preceptor.engine.ports import ChatModel, Guardian, Models, TokenCounter, World
from preceptor.engine.queues import Queues
from preceptor.engine.recalling import Agents, Memory
from preceptor.engine.talk import Handle, Runner, StartBeside, Tools, Webhooks
from preceptor.engine.traced import TurnTracer
from preceptor.engine.voice import Kept, Opening, Voice

LEASE = timedelta(seconds=30)


class Means(msgspec.Struct, frozen=True):
    """What turns are taken with, shared by all who use the same store."""

    models: Models
    tools: Tools
    runner: Runner
    worker: str
    """This process, among all that share the store."""
    limits: Limits
    guardian: Guardian | None = None
    guard: GuardPolicy = GuardPolicy.as_declared()
    guard_watch: GuardWatch = msgspec.field(default_factory=GuardWatch)
    sgr: SgrPolicy = SgrPolicy.as_declared()
    plan_model: str | None = None
    summary_model: str | None = None
    product_name: str = "Preceptor"
    language: str = "en"
    settled: Callable[[Turn], None] | None = None
    """Hears of every turn that has ended here."""
    lease: timedelta = LEASE
    """How long a worker that says nothing keeps its turns. It says something in every beat."""
    voices: dict[tuple[OrgId, AgentId, str], "Spoken"] = {}
    """By the agent and the arms of experiments that it speaks in."""
    openings: dict[tuple[str, bool], Opening] = {}
    """How a main agent's calls begin, by its voice and whether it may delegate."""
    agents: Agents = {}
    """As they are while the audit trail of their organisation ends in this hash."""
    memory: Memory = msgspec.field(default_factory=Memory)
    """Conversations that are known by heart."""
    blobs: set[tuple[OrgId, str]] = set()
    """Texts that are kept already."""
    connector: Connector | None = None
    """Makes the connections of organisations that have their own."""
    connected: dict[OrgId, "Connected"] = {}
    running: dict[TurnId, Handle] = {}
    """Turns that this process takes now."""
    stopping: set[TurnId] = set()
    """Those of them that someone asked to stop."""
    places: Places = msgspec.field(default_factory=Places)
    queues: Queues = msgspec.field(default_factory=Queues)
    webhooks: Webhooks | None = None
    errands: Errands | None = None
    """Without, whatever goes on by itself does so in this process."""
    tracer: TurnTracer | None = None
    delivered: Callable[[bool], None] | None = None
    """Hears of every message that was posted to a webhook: whether it was taken."""
    traces: dict[TurnId, Handle] = {}
    """Turns that have ended here, and are being handed to the tracer."""
    tasks: dict[TaskId, Handle] = {}
    """Executions and replays that this process carries out now."""
    ending: set[TaskId] = set()
    """Those of them that someone asked to stop."""

    @property
    def beat(self) -> float:
        """Seconds: thirty of them are a lease."""
        return self.lease.total_seconds() / 30


class Connected(msgspec.Struct, frozen=True):
    """The means of one organisation, as long as its audit trail ends in this hash."""

    head: bytes
    made_from: tuple[tuple[OwnProvider, ...], tuple[OwnServer, ...]]
    means: Means


class Spoken(msgspec.Struct, frozen=True):
    """A voice and what it was made from."""

    compiled: object
    revision: int
    voice: Voice
    kept: Kept
    means: object = None
    pins: Pins | None = None
    """What all turns in this voice are pinned to, where it is kept."""


class Specialist(msgspec.Struct, frozen=True):
    """A specialist of the library: an instruction that can be delegated to by its name."""

    prompt: str
    instruction_id: InstructionId
    version: str


class History(msgspec.Struct, eq=False):
    """What was said before this turn, as far as it is shown."""

    said: list[Placed]
    left_out: tuple[LeftOut, ...] = ()
    view: View | None = None
    """The view that it is part of; None before anything was said."""
    near: list[Placed] = []
    """The newest messages as they are stored, without a gap."""
    altered: dict[MessageId, Altered] = {}
    """Those of it that are shown in another form."""
    pinned: frozenset[MessageId] = frozenset()
    """Those that must be shown."""
    cap: int | None = None
    """How many tokens the request asked for at most."""
    invalidated: int = 0
    """Tokens that a provider's cache can no longer serve."""
    fit: Fit | None = None
    """How it was decided, where there was something to decide."""

    @property
    def view_id(self) -> ViewId | None:
        """Of the view, unless it is the one that shows everything."""
        return self.view.view_id if self.view is not None and self.view.step else None

    @property
    def to_summarise(self) -> bool:
        return self.fit is not None and bool(self.fit.cut.spans)

    @property
    def fitted(self) -> tuple[ViewId, State] | None:
        """What is to be kept of how it was decided; nothing while it is not decided yet, or was not limited."""
        fit = self.fit
        if fit is None or fit.cut.spans:
            return None
        after = fit.after
        limited = fit.limits.requires_history_management or after.cut or after.spans or after.payloads
        return (fit.view_id, after) if limited else None

    @property
    def messages(self) -> Iterator[Message]:
        """All that may be shown, also if it turns out that they cannot be summarised."""
        said = self.fit.placed.values() if self.fit is not None and self.to_summarise else self.said
        return (each.message for each in said)

    def put(self, instead: Mapping[int, Placed]) -> None:
        """Show these in their places, and make summaries of them."""
        if self.fit is None:
            self.said = [instead.get(each.place, each) for each in self.said]
        else:
            placed = self.fit.placed
            placed.update({number: instead.get(each.place, each) for number, each in placed.items()})
            self.said = self.fit.said()


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
