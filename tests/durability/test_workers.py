"""Two workers on one PostgreSQL: one is killed at every boundary there is, or both are replaced again and again."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path

import psycopg
import pytest

from preceptor import Preceptor
from preceptor.domain.ids import AgentId, TaskId
from preceptor.domain.messages.message import Text
from tests.durability.checker import lines
from tests.durability.executing import steps
from tests.durability.forks import Forks
from tests.durability.provider import provider
from tests.durability.test_execution_kills import Case, check
from tests.durability.turn_checker import check_turns
from tests.durability.turning import Order, opening, setup
from tests.durability.worker import History
from tests.postgres import Cluster
from tests.requirements import covers

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
TARGET = "tests.durability.queued:carry_out"
ROUNDS = 20 if NIGHTLY else 1
WHEN = ("before", "after")
PATIENCE = 60.0
"""Seconds after which whatever has not ended counts as stuck."""
MOMENTS = [
    "execution taken",
    *(f"{when} {what} {step}" for step in range(4) for what in ("step.started", "step.completed") for when in WHEN),
    *(f"{when} execution.completed" for when in WHEN),
    "execution done",
]
"""Every boundary of an execution with four steps."""


@pytest.fixture
def order(postgres: Cluster, postgres_template: str, tmp_path: Path) -> Iterator[Order]:
    url = postgres.new_database(template=postgres_template)
    with provider(tmp_path / "ledger.jsonl") as model:
        yield Order(url, str(tmp_path), model, runner="dbos", lease=0.9, room=4)
    postgres.drop(url)


class Crew:
    """Workers, by the names that they are given."""

    def __init__(self, order: Order) -> None:
        self.order = replace(order, worker=1)
        self.names = count(1)

    def start(self, forks: Forks, **how: int | str) -> str:
        name = f"worker {next(self.names)}"
        forks.start(**asdict(replace(self.order, name=name, **how)))
        return name

    async def ready(self, name: str) -> int:
        """Its process, once it takes things up."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for line in lines(Path(self.order.folder, "history.jsonl")):
                    if line["did"] == "ready" and line["name"] == name:
                        return line["pid"]
                await asyncio.sleep(0.02)

    async def stop(self, name: str, forks: Forks) -> None:
        os.kill(await self.ready(name), signal.SIGTERM)
        assert await asyncio.to_thread(forks.wait) == 0


@asynccontextmanager
async def accepting(order: Order) -> AsyncGenerator[tuple[Preceptor, History]]:
    """A process that accepts what others carry out."""
    setup(order)
    async with opening(replace(order, name="server")) as preceptor:
        await preceptor.agents.change(AgentId("assistant"), tools=("look", "put", "send"))
        yield preceptor, History(Path(order.folder, "history.jsonl"))


async def execute(preceptor: Preceptor, history: History, name: str) -> str:
    history.write(did="invoke", name=name)
    accepted = await preceptor.executions.create(steps=steps(name))
    history.write(did="accepted", name=name, execution=accepted.execution_id)
    return accepted.execution_id


async def ended(preceptor: Preceptor, executions: list[str]) -> None:
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(preceptor.tasks.settled(TaskId(one)) for one in executions))


@contextmanager
def two_parents() -> Generator[tuple[Forks, Forks]]:
    with Forks(TARGET) as one, Forks(TARGET) as other:
        yield one, other


@covers("F1", "F3", "R123")
async def test_an_execution_goes_on_elsewhere_wherever_its_worker_is_killed(order: Order):
    executions: list[str] = []
    with two_parents() as (mortal, steady):
        async with accepting(order) as (preceptor, history):
            crew = Crew(order)
            other = crew.start(steady, room=1)
            await crew.ready(other)
            for number, point in enumerate(MOMENTS * ROUNDS):
                name = crew.start(mortal, point=point, nth=1)
                await crew.ready(name)
                dying = asyncio.create_task(asyncio.to_thread(mortal.wait))
                while not dying.done():  # the other may have been quicker
                    new = [await execute(preceptor, history, f"short-{number}-{len(executions)}-{one}") for one in "ab"]
                    executions += new
                    await asyncio.wait(
                        {dying, asyncio.create_task(ended(preceptor, new))}, return_when="FIRST_COMPLETED"
                    )
                assert await dying == -signal.SIGKILL
            await ended(preceptor, executions)
            await crew.stop(other, steady)
    found = check(Case(mortal, order, count(1)))
    assert found.keys() <= {"completed", "failed"}
    assert found["completed"] > found["failed"] * 10
    assert waiting(order.database) == []


def waiting(url: str) -> list[tuple[str, ...]]:
    """What is in the queues, but for chores."""
    sql = "SELECT workflow_uuid FROM dbos.workflow_status WHERE status = 'ENQUEUED' AND name = 'carry'"
    with psycopg.connect(url) as connection:
        return connection.execute(sql).fetchall()


@covers("F4")
async def test_workers_are_replaced_one_after_the_other_under_work_and_nothing_is_done_twice_or_left(order: Order):
    said: list[asyncio.Task[None]] = []
    with two_parents() as parents:
        async with accepting(order) as (preceptor, history):
            crew = Crew(replace(order, room=16))
            names = [crew.start(forks) for forks in parents]
            for number in range(40 * ROUNDS if NIGHTLY else 4):
                batch = [say(preceptor, history, f"{number}-{one}") for one in range(6)]
                said += [asyncio.create_task(one) for one in batch]
                which = number % 2
                await crew.stop(names[which], parents[which])
                names[which] = crew.start(parents[which])
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*said)
            for name, forks in zip(names, parents, strict=True):
                await crew.stop(name, forks)
    found = check_turns(order.database, Path(order.folder))
    assert found.statuses == {"completed": len(said)}


async def say(preceptor: Preceptor, history: History, name: str) -> None:
    place = (await preceptor.conversations.start(agent_id="assistant")).conversation_id
    history.write(did="invoke", name=name, conversation=place)
    taken = await preceptor.turns.begin(place, [Text(f"go {name}")], background=True)
    history.write(did="ok", name=name, conversation=place, turn=taken.turn_id)
    done = await preceptor.turns.settled(taken)
    history.write(did="settled", turn=taken.turn_id, status=done.status)
