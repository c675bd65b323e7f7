"""The composition root: the one module that knows both the engine and the adapters."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, nullcontext
from datetime import timedelta
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from preceptor.adapters.sealing import SealedBox
from preceptor.adapters.storage.opening import Database, SqliteFile, locate, open_store
from preceptor.adapters.world import RealWorld
from preceptor.domain.ownership import SYSTEM, Caller, installation_admin
from preceptor.engine.conversations import Conversations
from preceptor.engine.installation import Installation
from preceptor.engine.means.hearing import NOBODY, Hearers
from preceptor.engine.means.means import LEASE, Means
from preceptor.engine.messages import Messages
from preceptor.engine.ports import Guardian, Models, World
from preceptor.engine.repositories.tasks import TaskKind
from preceptor.engine.session import Once, Session
from preceptor.engine.taking.tracing import all_traced
from preceptor.engine.tasks.tasks import Carrier, Claim, Tasks
from preceptor.engine.turns import Turns
from preceptor.features import Features
from preceptor.going_on import Hands, going_on, open_means, open_queues
from preceptor.kept_secrets import sendable
from preceptor.settings import Settings

if TYPE_CHECKING:
    from preceptor.engine.access import Access
    from preceptor.engine.attachments import Attachments
    from preceptor.engine.clients import Clients
    from preceptor.engine.contexts import Contexts, Format
    from preceptor.engine.demos import Demos
    from preceptor.engine.erasing import Erasing
    from preceptor.engine.executions import Executions
    from preceptor.engine.experiments import Experiments
    from preceptor.engine.foreseeing import Foreseeing
    from preceptor.engine.gates import Gates
    from preceptor.engine.glances import Glances
    from preceptor.engine.imports import Imports
    from preceptor.engine.outcomes import Outcomes
    from preceptor.engine.reasoning import Reasoning
    from preceptor.engine.replays import Replays
    from preceptor.engine.threads import Threads
    from preceptor.engine.views import Views


@cache
def _formats() -> "dict[str, Format]":
    """Every format in which a request was ever sent: what was sent can be made again."""
    from preceptor.wire import anthropic_request, openai_chat

    return {
        openai_chat.FORMAT: partial(openai_chat.render, prefill=True),
        anthropic_request.FORMAT: partial(anthropic_request.render, prefill=True),
    }


def _loaded_at_work(made: Callable[[], Carrier]) -> Carrier:
    async def carry(claim: Claim) -> None:
        await made().carry(claim)

    async def fail(claim: Claim, code: str, sentence: str) -> None:
        await made().fail(claim, code, sentence)

    return Carrier(carry, fail)


def _replaying() -> Carrier:
    from preceptor.engine.replaying import replay

    return replay.carrier(_formats())


def _executing() -> Carrier:
    from preceptor.engine import executions

    return executions.carrier(CARRIERS)


CARRIERS: dict[TaskKind, Carrier] = {
    TaskKind.REPLAY: _loaded_at_work(_replaying),
    TaskKind.EXECUTION: _loaded_at_work(_executing),
}
"""How each kind of task is carried out."""


class Preceptor(Features, frozen=True):
    """Everything a surface can ask for, one attribute per feature, acting for one caller."""

    announce: Callable[[str | None], None]

    def acting_as(self, caller: Caller, once: Once | None = None) -> "Preceptor":
        return Preceptor(self.session.acting_as(caller, once), self.settings, self.announce)

    @property
    def is_running(self) -> bool:
        return not self.session.store.closed

    async def close(self) -> None:
        """Stop what goes on and let go of the database, as leaving the `async with` does."""
        await self.session.means.runner.close()
        await self.session.store.close()

    @property
    def conversations(self) -> Conversations:
        return Conversations(self.session)

    @property
    def imports(self) -> "Imports":
        from preceptor.engine.imports import Imports
        from preceptor.wire import traces

        return Imports(self.session, traces.format_of, traces.read)

    @property
    def clients(self) -> "Clients":
        from preceptor.engine.clients import Clients

        return Clients(self.session)

    @property
    def messages(self) -> Messages:
        return Messages(self.session)

    @property
    def demos(self) -> "Demos":
        from preceptor.engine.demos import Demos

        return Demos(self.session)

    @property
    def glances(self) -> "Glances":
        from preceptor.engine.glances import Glances

        return Glances(self.session)

    @property
    def threads(self) -> "Threads":
        from preceptor.engine.threads import Threads

        return Threads(self.session)

    @property
    def contexts(self) -> "Contexts":
        from preceptor.engine.contexts import Contexts

        return Contexts(self.session, _formats())

    @property
    def foreseeing(self) -> "Foreseeing":
        from preceptor.engine.foreseeing import Foreseeing

        return Foreseeing(self.session)

    @property
    def views(self) -> "Views":
        from preceptor.engine.views import Views

        return Views(self.session, self.settings.summary_model)

    @property
    def erasing(self) -> "Erasing":
        from preceptor.engine.erasing import Erasing

        return Erasing(self.session)

    @property
    def attachments(self) -> "Attachments":
        from preceptor.adapters.documents import InThread
        from preceptor.engine.attachments import Attachments

        return Attachments(self.session, InThread(), self.settings.max_attachment_bytes)

    @property
    def turns(self) -> Turns:
        return Turns(self.session)

    @property
    def executions(self) -> "Executions":
        from preceptor.engine.executions import Executions

        return Executions(self.session, CARRIERS)

    @property
    def replays(self) -> "Replays":
        from preceptor.engine.replays import Replays

        return Replays(self.session, CARRIERS)

    @property
    def gates(self) -> "Gates":
        from preceptor.engine.gates import Gates

        return Gates(self.session, self.replays)

    @property
    def tasks(self) -> Tasks:
        return Tasks(self.session, CARRIERS)

    @property
    def reasoning(self) -> "Reasoning":
        from preceptor.engine.reasoning import Reasoning

        return Reasoning(self.session)

    @property
    def experiments(self) -> "Experiments":
        from preceptor.engine.experiments import Experiments

        return Experiments(self.session)

    @property
    def outcomes(self) -> "Outcomes":
        from preceptor.engine.outcomes import Outcomes

        return Outcomes(self.session)

    @property
    def access(self) -> "Access":
        from preceptor.engine.access import Access

        return Access(self.session)

    @property
    def installation(self) -> Installation:
        days = self.settings.retention_days
        return Installation(self.session.acting_as(SYSTEM), None if days is None else timedelta(days=days))


@asynccontextmanager
async def open_preceptor(  # noqa: PLR0913 - all but the first by name
    settings: Settings | None = None,
    *,
    world: World | None = None,
    hearers: Hearers = NOBODY,
    adopt_key: bool = False,
    models: Models | None = None,
    guardian: Guardian | None = None,
    take_up: bool = True,
    lease: timedelta = LEASE,
    worker: bool = False,
) -> AsyncGenerator[Preceptor]:
    """Open Preceptor on its database and close it on the way out. It acts for the admin of `default`.

    With `adopt_key` the admin key of the settings takes the place of the one the installation has; without, only where
    it has none. `models` and `guardian` take the place of those that the settings name. Without `take_up`, turns that
    another process left behind are left alone: for a command that is soon over. Another process takes a turn up when
    this one has said nothing for as long as the `lease`. With PRECEPTOR_RUNNER=dbos a `worker` carries out what waits
    in queues.
    """
    settings = settings or Settings.load()
    world = world or RealWorld()
    database = locate(settings.database)
    admin_key, seal = _secrets(settings, database)
    async with (
        open_store(database, world, hearers.committed) as opened,
        open_queues(settings, database, wanted=take_up) as queues,
        open_means(settings, world, models, guardian, lease) as made,
        _heard(made, settings, hearers) as heard,
    ):
        means = replace(heard, errands=queues)
        session = Session(opened.store, world, seal, installation_admin(), given=means)
        preceptor = Preceptor(session, settings, opened.announce)
        await preceptor.installation.prepare(admin_key, adopt_key=adopt_key)
        hands = Hands(preceptor.turns, preceptor.tasks, preceptor.installation, preceptor.deliveries)
        async with going_on(hands, settings, queues, worker=worker) if take_up else nullcontext(), _traced(means):
            yield preceptor


def _secrets(settings: Settings, database: Database) -> tuple[str | None, SealedBox]:
    """A file is begun by whoever opens it first. A database of many gets its admin key from a server, and no one else
    makes a secret key before it is needed: those of the servers are what counts.
    """
    if isinstance(database, SqliteFile):
        made = settings.secrets()
        return made.admin_key, SealedBox(made.secret_key)
    admin_key, secret_key = settings.kept_admin_key.found(), settings.kept_secret_key
    return admin_key and sendable(admin_key), SealedBox(secret_key.found() or secret_key.found_or_made)


@asynccontextmanager
async def _traced(means: Means) -> AsyncGenerator[None]:
    """On the way out, what has ended is still told to whoever traces turns."""
    try:
        yield
    finally:
        await all_traced(means)


@asynccontextmanager
async def _heard(means: Means, settings: Settings, hearers: Hearers) -> AsyncGenerator[Means]:
    """Means that tell these; of turns, else the collector that the settings name."""
    told = replace(means, settled=hearers.settled, delivered=hearers.delivered, tracer=hearers.tracer)
    if hearers.tracer is not None or settings.otel_endpoint is None:
        yield told
        return
    from preceptor.adapters.observability.opening import tracing_of

    tracing = tracing_of(settings)
    try:
        yield replace(told, tracer=tracing.tracer)
    finally:
        tracing.close()
