"""What turns are taken with, shared by all who use the same store."""

from collections.abc import Callable
from datetime import timedelta

import msgspec

from preceptor.domain.delegation import Limits
from preceptor.domain.ids import AgentId, OrgId, TaskId, TurnId
from preceptor.domain.reasoning.policy import GuardPolicy, SgrPolicy
from preceptor.domain.turns.facts import Pins
from preceptor.domain.turns.turn import Turn
from preceptor.engine.means.connections import Connector, OwnProvider, OwnServer
from preceptor.engine.means.errands import Errands
from preceptor.engine.means.guarding import GuardWatch
from preceptor.engine.means.places import Places
from preceptor.engine.means.queues import Queues
from preceptor.engine.means.recalling import Agents, Memory
from preceptor.engine.means.traced import TurnTracer
from preceptor.engine.ports import Guardian, Handle, Models, Runner, Tools, Webhooks
from preceptor.engine.telling.voice import Kept, Opening, Voice

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
