"""What turns, executions and replays are carried out with, and in which process: part of the composition root."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from preceptor.adapters.connections import Connections
from preceptor.adapters.guardians.choosing import guardian_of
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.running import InProcess
from preceptor.adapters.storage.opening import Database, SqliteFile
from preceptor.adapters.tools.toolbox import open_toolbox
from preceptor.adapters.webhooks import EgressWebhooks
from preceptor.domain.errors import CannotStart
from preceptor.domain.ownership import SYSTEM
from preceptor.engine.delivering import Deliveries
from preceptor.engine.installation import Installation
from preceptor.engine.means.errands import TURN, Errand
from preceptor.engine.means.means import Means
from preceptor.engine.means.places import Places
from preceptor.engine.ports import Guardian, Models, World
from preceptor.engine.tasks.tasks import Tasks
from preceptor.engine.tasks.watch import let_go, watching
from preceptor.engine.turns import Turns
from preceptor.settings import Settings

if TYPE_CHECKING:
    from preceptor.adapters.errands import Queues

GRACE = 5.0
"""Seconds in which a worker that is told to stop may finish what it is at."""
RECOVERY, EXPERIMENTS, RETENTION = "*/10 * * * * *", "30 * * * * *", "0 17 * * * *"
"""When chores of all workers are done: second, minute, hour and so on."""
INSTALL = "pip install 'preceptor[durable]'."


class Hands(msgspec.Struct, frozen=True):
    """Carries out what waits for a process that has room."""

    turns: Turns
    tasks: Tasks
    installation: Installation
    deliveries: Deliveries

    async def carry(self, errand: Errand) -> None:
        if errand.kind == TURN:
            await self.turns.carry_out(errand)
        else:
            await self.tasks.carry_out(errand)

    async def holds(self, worker: str, errand: Errand) -> bool:
        return await (self.turns if errand.kind == TURN else self.tasks).holds(worker, errand)

    async def look_after_experiments(self) -> int:
        from preceptor.engine.experiments import Experiments

        return await Experiments(self.turns.session.acting_as(SYSTEM)).look_after()

    async def leave(self) -> None:
        """Stop, and let others take up what has not ended."""
        session = self.turns.session
        await session.means.runner.close()
        if not (session.store.alone or session.store.closed):
            await let_go(session)


@asynccontextmanager
async def open_queues(settings: Settings, database: Database, *, wanted: bool) -> "AsyncGenerator[Queues | None]":
    """The queues of PRECEPTOR_RUNNER=dbos: in the database, or in a file beside it."""
    if settings.runner == "inline" or not wanted:
        yield None
        return
    try:
        from preceptor.adapters.errands import Queues
    except ImportError as error:
        raise CannotStart(f"PRECEPTOR_RUNNER=dbos needs a part that is missing ({error.name}): {INSTALL}") from None
    beside = f"sqlite:///{database.path.with_suffix('.queues.db')}" if isinstance(database, SqliteFile) else None
    queues = await Queues.open(beside or database.url)
    try:
        yield queues
    finally:
        await queues.close()


@asynccontextmanager
async def going_on(hands: Hands, settings: Settings, queues: "Queues | None", *, worker: bool) -> AsyncGenerator[None]:
    """Look after what goes on by itself, and carry out what waits if that is ours to do; leave it at the end."""
    session = hands.turns.session
    means, alone = session.means, session.store.alone
    means.runner.spawn("watch", watching(hands.turns, hands.tasks, alone=alone))
    means.runner.spawn("deliveries", hands.deliveries.go_on(alone=alone))
    if queues is None or not (worker or alone):
        try:
            yield
        finally:
            await hands.leave()
        return
    from preceptor.adapters.hands import Room, Worker, working

    async def recover() -> None:
        await queues.tidy(hands.holds, means.lease)

    chores = {
        "recovery": (RECOVERY, recover),
        "experiments": (EXPERIMENTS, hands.look_after_experiments),
        "retention": (RETENTION, hands.installation.sweep),
    }
    room = Room(settings.worker_concurrency, settings.org_concurrency, settings.org_starts_per_minute)
    grace = GRACE if worker else 0.0
    async with working(queues, Worker(means.worker, room, hands.carry, hands.leave, chores, grace)):
        yield


@asynccontextmanager
async def open_means(
    settings: Settings, world: World, models: Models | None, guardian: Guardian | None, lease: timedelta
) -> AsyncGenerator[Means]:
    """What turns are taken with; on the way out, those that still run are left to be taken up again."""
    registry = ModelRegistry(settings)
    connections = Connections(registry)
    runner = InProcess()
    tools = open_toolbox(settings.tools, world.now)
    guardian = guardian or guardian_of(settings)
    webhooks = EgressWebhooks(settings.egress_allow)
    try:
        await registry.prepare()
        yield Means(
            models=models or registry,
            tools=tools,
            runner=runner,
            worker=world.new_id(),
            limits=settings.limits,
            guardian=guardian,
            guard=settings.guard,
            sgr=settings.sgr,
            plan_model=settings.plan_model,
            summary_model=settings.summary_model,
            product_name=settings.product_name,
            language=settings.language,
            lease=lease,
            connector=connections,
            places=Places(settings.max_turns_at_once),
            webhooks=webhooks,
        )
    finally:
        await runner.close()
        await connections.close()
        await webhooks.close()
        await registry.close()
        if guardian is not None:
            await guardian.close()
