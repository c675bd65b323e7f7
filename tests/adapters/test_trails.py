"""What is remembered of audit trails is what the database would say: no one is told what no longer holds."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple, cast

import pytest

from preceptor import Preceptor
from preceptor.adapters.storage import faults
from preceptor.adapters.storage.log import READ_HEAD
from preceptor.adapters.storage.work import SqlWork
from preceptor.domain.agents import DEFAULT_AGENT, NewAgent
from preceptor.domain.errors import Conflict
from preceptor.domain.log import ORG_STREAM, Head, NewEvent
from preceptor.engine.repositories.work import Work
from preceptor.engine.telling.effective import effective_now

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
NEWS = [NewEvent("said", "{}")]


class Look(NamedTuple):
    point: str
    remembered: Head | None
    is_so: Head


async def look(work: Work) -> tuple[Head | None, Head]:
    """What is remembered and what the database says; whoever looks also remembers."""
    remembered = work.trail
    [row] = await cast("SqlWork", work).executor.all(READ_HEAD, (work.org, ORG_STREAM))
    assert await work.log.head(ORG_STREAM) == Head(*row)
    return remembered, Head(*row)


def now(reading: Awaitable[Any]) -> Any:
    """A read on SQLite never waits, so it can be made anywhere."""
    try:
        cast("Coroutine[Any, Any, Any]", reading).send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waited")


class Watcher:
    """Looks at every moment around a commit, in the writer's thread and in another."""

    def __init__(self, preceptor: Preceptor) -> None:
        self.preceptor = preceptor
        self.looks: list[Look] = []

    def at(self, point: str) -> None:
        for _ in range(2):
            self.look(point)
        thread = threading.Thread(target=self.look, args=(f"{point}, elsewhere",))
        thread.start()
        thread.join()

    def look(self, point: str) -> None:
        self.looks.append(Look(point, *now(self.preceptor.session.read(look))))


def writer(number: int) -> Callable[[Work], Awaitable[Look]]:
    """Of four, one fails after it has written, one before, one writes nothing."""

    async def write(work: Work) -> Look:
        before = await look(work)
        if number % 4 == 1:
            raise Conflict
        if number % 4 != 2:
            await work.log.append(ORG_STREAM, NEWS)
            assert work.trail is None
        remembered, is_so = await look(work)
        if number % 4 == 3:
            raise Conflict
        assert (before[1] == is_so) == (number % 4 == 2)
        return Look("writing", remembered, is_so)

    return write


@on_sqlite
async def test_what_is_remembered_is_what_the_database_says_at_every_moment(
    preceptor: Preceptor, monkeypatch: pytest.MonkeyPatch
):
    watcher = Watcher(preceptor)
    monkeypatch.setattr(faults, "hook", watcher.at)
    for batch in (range(12), range(0, 12, 2), range(2, 3), range(3, 4), range(12)):
        told = await asyncio.gather(*(preceptor.session.write(writer(n)) for n in batch), return_exceptions=True)
        watcher.looks += [one for one in told if isinstance(one, Look)]
        assert [type(one) for one in told] == [Conflict if n % 2 else Look for n in batch]
    wrong = [one for one in watcher.looks if one.remembered not in (None, one.is_so)]
    assert wrong == []
    used = {one.point for one in watcher.looks if one.remembered is not None}
    assert {"sqlite.begin", "sqlite.acknowledged", "writing"} <= used
    assert used.isdisjoint({"sqlite.step", "sqlite.before-commit"})
    assert not [point for point in used if point.endswith("elsewhere")]


@on_sqlite
async def test_a_read_that_others_write_beside_does_not_say_what_it_saw_to_those_who_come_later(preceptor: Preceptor):
    begun, over = asyncio.Event(), asyncio.Event()

    async def long_look(work: Work) -> tuple[Head | None, Head | None]:
        before = await work.log.head(ORG_STREAM)
        begun.set()
        for _ in range(1_000_000):
            await work.orgs.page(None, 1)
            if over.is_set():
                return before, await work.log.head(ORG_STREAM)
        raise AssertionError("nobody else had a turn")

    looking = asyncio.create_task(preceptor.session.read(long_look))
    await begun.wait()
    [event] = await preceptor.session.write(lambda work: work.log.append(ORG_STREAM, NEWS))
    over.set()
    before, after = await looking
    assert before == after
    assert (await preceptor.session.read(look))[1].seq == event.seq


@on_sqlite
async def test_a_change_is_told_from_its_commit_on_and_never_before(
    preceptor: Preceptor, monkeypatch: pytest.MonkeyPatch
):
    made = await preceptor.instructions.create(name="i", type="system", content={"systemPrompt": "0"})
    await preceptor.assignments.assign(DEFAULT_AGENT, instruction_id=made.family_id)
    told: list[tuple[str, str]] = []

    def ask(point: str) -> None:
        compiled = now(
            preceptor.session.read(lambda w: effective_now(w, preceptor.session.compilations, DEFAULT_AGENT))
        )
        told.append((point.removeprefix("sqlite."), compiled.told.prompt))

    monkeypatch.setattr(faults, "hook", ask)
    for number in range(1, 4):
        told.clear()
        await preceptor.instructions.revise(made.family_id, content={"systemPrompt": str(number)})
        ask("after")
        before, after = str(number - 1), str(number)
        assert [text for point, text in told if point in {"begin", "step", "before-commit"}] == [before] * 3
        assert [text for point, text in told if point in {"after-commit", "acknowledged", "after"}] == [after] * 3


async def test_where_others_write_too_nothing_is_remembered(preceptor: Preceptor):
    remembered = "sqlite" in preceptor.settings.database
    await preceptor.agents.create(NewAgent(name="x"))
    for _ in range(2):
        await preceptor.session.read(look)
    assert ((await preceptor.session.read(look))[0] is not None) is remembered
