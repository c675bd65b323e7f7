"""Queues: what waits in them is taken up once, by whoever has room; what gets lost is found again."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from preceptor import Preceptor, open_preceptor
from preceptor.adapters.errands import Json, Queues
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.domain.errors import CannotStart
from preceptor.domain.ids import OrgId, TurnId
from preceptor.domain.messages.message import Text
from preceptor.domain.ownership import Caller, Owner
from preceptor.domain.prompts.prompt import Request
from preceptor.domain.prompts.reply import Delta, Reply
from preceptor.domain.turns.facts import TurnStatus
from preceptor.engine.means.errands import TURN, Errand
from preceptor.engine.turns import Taken
from preceptor.testing import ScriptedModel
from tests.conftest import client_of
from tests.postgres import Cluster
from tests.requirements import covers
from tests.talking import settings_in

LEASE = timedelta(seconds=0.9)
UNHURRIED = timedelta(seconds=30)
"""Of a worker that nobody takes anything from, however busy the machine is."""
MODEL = "openai:any"


@dataclass
class Busy(ScriptedModel):
    """Counts how many it answers at once; `let` is when it may."""

    let: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    at_once: int = 0
    most: int = 0

    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        async with self.changed:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            self.changed.notify_all()
        await self.let.wait()
        self.at_once -= 1
        async for piece in super().send(request, deadline):
            yield piece

    async def asked(self, at_once: int = 1) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: self.at_once >= at_once)


def let_go() -> Busy:
    model = Busy(lambda _: "Here.")
    model.let.set()
    return model


@asynccontextmanager
async def opened(
    folder: Path,
    model: ScriptedModel,
    database: str | None = None,
    *,
    worker: bool = True,
    lease: timedelta = LEASE,
    **more: Any,
) -> AsyncGenerator[Preceptor]:
    settings = settings_in(folder, database, runner="dbos", model=MODEL, **more)
    registry = ModelRegistry(settings)
    registry.add(MODEL, model)
    async with open_preceptor(settings, models=registry, lease=lease, worker=worker) as preceptor:
        yield preceptor


@pytest.fixture
def url(postgres: Cluster, postgres_template: str) -> Iterator[str]:
    made = postgres.new_database(template=postgres_template)
    yield made
    postgres.drop(made)


async def begin(preceptor: Preceptor) -> Taken:
    place = await preceptor.conversations.start(agent_id="assistant")
    return await preceptor.turns.begin(place.conversation_id, [Text("Hello.")], background=True)


async def statuses(preceptor: Preceptor, left: list[Taken]) -> Counter[TurnStatus]:
    async with asyncio.timeout(60):
        return Counter([(await preceptor.turns.settled(one)).status for one in left])


@covers("F1")
async def test_with_sqlite_the_server_carries_out_what_waits_also_after_it_was_away(tmp_path: Path):
    model = Busy(lambda _: "Here.")
    async with opened(tmp_path, model, worker=False) as preceptor:
        left = [await begin(preceptor) for _ in range(3)]
        await model.asked()
    async with opened(tmp_path, let_go(), worker=False) as preceptor:
        assert await statuses(preceptor, left) == {TurnStatus.COMPLETED: 3}
        assert await statuses(preceptor, [await begin(preceptor)]) == {TurnStatus.COMPLETED: 1}


async def test_with_sqlite_the_server_is_ready_once_it_looks_into_every_queue(tmp_path: Path):
    async with opened(tmp_path, let_go(), worker=False) as preceptor, client_of(preceptor) as client:
        async with asyncio.timeout(60):
            while (found := await client.get("/readyz")).status_code == 503:
                assert [one["name"] for one in found.json()["checks"] if not one["ok"]] == ["queues"]
                await asyncio.sleep(0.05)
        assert [one["name"] for one in found.json()["checks"]] == ["database", "disk", "queues"]


@covers("F1")
async def test_what_got_lost_on_its_way_is_found_and_sent_again(tmp_path: Path, url: str):
    async with opened(tmp_path, let_go(), url, worker=False) as server:
        taken = await begin(server)
        queues = server.session.means.errands
        assert isinstance(queues, Queues)
        lost = await queues.apart(queues.client.list_workflows, workflow_id_prefix=taken.turn_id)
        await queues.apart(queues.client.delete_workflows, [one.workflow_id for one in lost])
        assert len(lost) == 1
        async with opened(tmp_path, let_go(), url):
            assert await statuses(server, [taken]) == {TurnStatus.COMPLETED: 1}


async def test_a_process_is_a_worker_only_once_and_again_when_it_has_stopped(tmp_path: Path, url: str):
    for _ in range(2):
        async with opened(tmp_path, let_go(), url):
            with pytest.raises(CannotStart, match="already"):
                async with opened(tmp_path, let_go(), url):
                    pass


def test_what_a_worker_leaves_to_others_is_out_of_its_hands_before_it_ends(
    tmp_path: Path, url: str, caplog: pytest.LogCaptureFixture
):
    """In an event loop of its own: what still waits when that is closed is cut short, and DBOS would say so."""

    async def stopped() -> None:
        model = Busy(lambda _: "Here.")
        async with opened(tmp_path, let_go(), url, worker=False) as server:
            async with opened(tmp_path, model, url):
                for _ in range(16):
                    await begin(server)
                await model.asked()
            with psycopg.connect(url) as connection:
                found = connection.execute("SELECT status FROM dbos.workflow_status WHERE name = 'carry'").fetchall()
        assert "PENDING" not in {status for (status,) in found}

    asyncio.run(stopped())
    assert [one.getMessage() for one in caplog.records if one.name == "dbos"] == []


def test_a_worker_that_stops_says_nothing_of_an_errand_that_was_sent_again_meanwhile(
    tmp_path: Path, url: str, caplog: pytest.LogCaptureFixture
):
    async def stopped() -> None:
        model = Busy(lambda _: "Here.")
        async with (
            opened(tmp_path, let_go(), url, worker=False, lease=UNHURRIED) as server,
            opened(tmp_path, model, url, lease=UNHURRIED, worker_concurrency=1) as worker,
        ):
            taken = await begin(server)
            await model.asked()
            row, _ = await worker.turns.get(TurnId(taken.turn_id))
            owner, errands = server.session.caller.owner, server.session.means.errands
            assert errands is not None
            given = Errand(TURN, taken.turn_id, owner.org_id, owner.user_id, row.epoch - 1)
            await errands.send(given, again=True)

    asyncio.run(stopped())
    assert [one.getMessage() for one in caplog.records if one.name == "dbos"] == []


async def test_an_errand_that_comes_late_disturbs_no_one(tmp_path: Path, url: str):
    model = Busy(lambda _: "Here.")
    async with opened(tmp_path, let_go(), url, worker=False) as server, opened(tmp_path, model, url) as worker:
        taken = await begin(server)
        await model.asked()
        row, _ = await worker.turns.get(TurnId(taken.turn_id))
        owner = server.session.caller.owner
        await server.turns.carry_out(Errand(TURN, taken.turn_id, owner.org_id, owner.user_id, row.epoch - 1))
        assert (await worker.turns.get(TurnId(taken.turn_id)))[0].worker == worker.session.means.worker
        model.let.set()
        assert await statuses(server, [taken]) == {TurnStatus.COMPLETED: 1}
        assert len(model.prompts) == 1


async def test_an_organisation_takes_no_more_than_its_share_and_keeps_no_one_else_waiting(tmp_path: Path, url: str):
    model = Busy(lambda _: "Here.")
    async with opened(tmp_path, model, url, lease=UNHURRIED, org_concurrency=2) as preceptor:
        left = [await begin(preceptor) for _ in range(5)]
        await model.asked(at_once=2)
        other = await in_another_organisation(preceptor)
        await model.asked(at_once=3)
        begun = Counter([(await waits(preceptor, one)) for one in left])
        assert begun == {False: 2, True: 3}
        model.let.set()
        assert await statuses(preceptor, left) == {TurnStatus.COMPLETED: 5}
        assert await statuses(*other) == {TurnStatus.COMPLETED: 1}
        assert model.most == 3


async def in_another_organisation(preceptor: Preceptor) -> tuple[Preceptor, list[Taken]]:
    await preceptor.orgs.create(org_id="other", name="Other")
    caller = preceptor.session.caller
    owner = Owner(org_id=OrgId("other"), user_id=caller.owner.user_id)
    acting = preceptor.acting_as(Caller(owner, caller.permissions, "test"))
    await acting.agents.create(agent_id="assistant", name="Assistant")
    return acting, [await begin(acting)]


async def waits(preceptor: Preceptor, taken: Taken) -> bool:
    row, _ = await preceptor.turns.get(TurnId(taken.turn_id))
    return not row.worker


async def test_limits_of_an_organisation_are_those_of_the_settings(tmp_path: Path, url: str):
    async with opened(tmp_path, let_go(), url, org_concurrency=7, org_starts_per_minute=30, worker_concurrency=5):
        with psycopg.connect(url) as connection:
            sql = """
                SELECT worker_concurrency, partition_concurrency, partition_rate_limit_max,
                       partition_rate_limit_period_sec FROM dbos.queues WHERE name IN ('turn', 'execution', 'replay')
            """
            assert connection.execute(sql).fetchall() == [(5, 7, 30, 60.0)] * 3
            chores = connection.execute("SELECT schedule_name FROM dbos.workflow_schedules ORDER BY 1").fetchall()
            assert chores == [("experiments",), ("recovery",), ("retention",)]


async def carried_out(queues: Queues, taken: Taken) -> None:
    """Wait until its queue has heard that it was: the turn has ended a moment before."""
    [one] = await queues.apart(queues.client.list_workflows, workflow_id_prefix=taken.turn_id)
    await queues.apart(queues.client.retrieve_workflow(one.workflow_id).get_result)


async def test_places_of_workers_who_are_gone_are_given_back(tmp_path: Path, url: str):
    async with opened(tmp_path, let_go(), url) as preceptor:
        taken = await begin(preceptor)
        await statuses(preceptor, [taken])
        queues = preceptor.session.means.errands
        assert isinstance(queues, Queues)
        await carried_out(queues, taken)
        with psycopg.connect(url) as connection:
            connection.execute(
                "UPDATE dbos.workflow_status SET status = 'PENDING', executor_id = 'gone' WHERE name = 'carry'"
            )
        await queues.tidy(preceptor.turns.holds, timedelta(seconds=-60))
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT 1 FROM dbos.workflow_status WHERE name = 'carry'").fetchall() == []


async def test_a_connection_that_is_in_use_when_queues_close_is_closed_when_it_comes_back(url: str):
    queues = await Queues.open(url)
    used = queues.engine.raw_connection()
    driver = used.driver_connection
    assert isinstance(driver, psycopg.Connection)
    await queues.close()
    assert not driver.closed
    used.close()
    assert driver.closed


def test_what_is_in_a_queue_is_plain_json():
    written = Json().serialize({"args": ("turn", "a", "b", "c", 1), "kwargs": {}})
    assert Json().deserialize(written) == {"args": ["turn", "a", "b", "c", 1], "kwargs": {}}
