import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import psycopg
import pytest

from preceptor import Hearers, Preceptor, Settings, open_preceptor
from preceptor.adapters.storage import folding
from preceptor.adapters.storage.driving import AwaitedOutside
from preceptor.adapters.storage.sqlite import connect
from preceptor.domain.agents import AgentChange, NewAgent
from preceptor.domain.conversations.conversation import Conversation, ConversationChange, NewConversation
from preceptor.domain.errors import Conflict, NotFound, PreconditionFailed, ShuttingDown
from preceptor.domain.ids import AgentId, OrgId, StreamId
from preceptor.domain.log import NewEvent
from preceptor.domain.ownership import SYSTEM
from preceptor.engine.repositories.work import Work
from tests.conftest import ADMIN_KEY
from tests.durability.checker import check
from tests.durability.holder import holding

HELLO = [NewEvent("said", "{}")]
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


class Fault(Exception):
    pass


@pytest.mark.parametrize("awkward", [Fault, Conflict, AssertionError, sqlite3.ProgrammingError])
async def test_of_many_transactions_at_once_a_failing_one_undoes_only_itself(
    settings: Settings, awkward: type[Exception]
):
    commits: list[int] = []

    def program(number: int) -> Callable[[Work], Awaitable[int]]:
        async def run(work: Work) -> int:
            await work.log.start(StreamId(f"s{number}"), HELLO)
            if number % 3 == 0:
                raise awkward
            await work.log.append(StreamId(f"s{number}"), HELLO)
            return number

        return run

    async with open_preceptor(settings, hearers=Hearers(lambda size, _: commits.append(size))) as preceptor:
        commits.clear()
        writing = [preceptor.session.write(program(number)) for number in range(50)]
        told = await asyncio.gather(*writing, return_exceptions=True)
        again = [
            preceptor.session.write(lambda work, n=number: work.log.append(StreamId(f"s{n}"), HELLO))
            for number in range(50)
        ]
        later = await asyncio.gather(*again, return_exceptions=True)
        counted = tuple(commits)
    assert [type(answer) for answer in told[::3]] == [awkward] * 17
    assert [answer for answer in told if isinstance(answer, int)] == [n for n in range(50) if n % 3]
    assert [type(answer) for answer in later[::3]] == [NotFound] * 17
    assert [answer[0].seq for answer in later if isinstance(answer, list)] == [3] * 33
    check(settings.database, [])
    assert counted == ((50, 50) if settings.database.startswith("sqlite") else (1,) * 66)


async def test_a_read_sees_one_moment_whatever_is_committed_meanwhile(preceptor: Preceptor):
    def commit_meanwhile() -> None:
        url, row = preceptor.settings.database, "INSERT INTO orgs (org, body) VALUES ('meanwhile', '{}')"
        if url.startswith("sqlite"):
            with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
                connection.execute(row)
        else:
            with psycopg.connect(url, options="-c preceptor.org=*") as connection:
                connection.execute(row.encode())

    async def program(work: Work) -> tuple[int, int]:
        before = await work.orgs.page(None, 10)
        commit_meanwhile()
        return len(before), len(await work.orgs.page(None, 10))

    before, after = await preceptor.acting_as(SYSTEM).session.read(program)
    assert before == after
    with pytest.raises(ValueError, match="orgId"):  # now it is there, with a body that is no organisation
        await preceptor.acting_as(SYSTEM).session.read(lambda work: work.orgs.find(OrgId("meanwhile")))


async def test_a_read_cannot_write(preceptor: Preceptor):
    with pytest.raises(Exception, match=r"read-?only"):
        await preceptor.session.read(lambda work: work.log.start(StreamId("s"), HELLO))
    assert await preceptor.session.read(lambda work: work.log.head(StreamId("s"))) is None


async def test_of_edits_at_once_with_one_etag_one_succeeds_and_without_any_all_do(preceptor: Preceptor):
    conversation = await preceptor.conversations.start(NewConversation(agent_id="assistant"))
    await preceptor.agents.create(NewAgent(agent_id="a", name="A", role="assistant"))

    def edits(if_match: str | None, numbers: range):
        for number in numbers:
            title = ConversationChange(title=f"t{number}")
            yield preceptor.conversations.change(conversation.conversation_id, title, if_match)
            yield preceptor.agents.change(AgentId("a"), AgentChange(name=f"n{number}"), if_match)

    told = await asyncio.gather(*edits('"1"', range(12)), return_exceptions=True)
    assert [type(answer) for answer in told].count(PreconditionFailed) == 22
    told = await asyncio.gather(*edits(None, range(12, 24)))
    assert sorted(answer.revision for answer in told[::2]) == list(range(3, 15))
    assert sorted(answer.revision for answer in told[1::2]) == list(range(3, 15))
    assert (await preceptor.agents.get(AgentId("a"))) in told
    check(preceptor.settings.database, [{"did": "invoke", "title": f"t{n}"} for n in range(24)])


@on_sqlite
@pytest.mark.parametrize("wait", [lambda: asyncio.sleep(0), lambda: asyncio.sleep(1), lambda: asyncio.Event().wait()])
async def test_a_transaction_that_awaits_anything_else_is_refused_and_undone(
    preceptor: Preceptor, wait: Callable[[], Awaitable[object]]
):
    async def program(work: Work) -> None:
        await work.log.start(StreamId("s"), HELLO)
        await wait()

    async def reading(work: Work) -> None:
        await work.log.head(StreamId("s"))
        await wait()

    with pytest.raises(AwaitedOutside):
        await preceptor.session.write(program)
    with pytest.raises(AwaitedOutside):
        await preceptor.session.read(reading)
    assert await preceptor.session.read(lambda work: work.log.head(StreamId("s"))) is None


async def test_while_a_long_transaction_is_carried_out_others_are_answered_and_see_nothing_of_it(preceptor: Preceptor):
    under_way, looked = asyncio.Event(), asyncio.Event()

    async def long(work: Work) -> int:
        await work.log.start(StreamId("s"), HELLO)
        under_way.set()
        for _ in range(100_000):
            [event] = await work.log.append(StreamId("s"), HELLO)
            if looked.is_set():
                return event.seq
        raise AssertionError("nobody else had a turn")

    async def seen(work: Work) -> int:
        head = await work.log.head(StreamId("s"))
        return head.seq if head is not None else 0

    async def long_look(work: Work) -> set[int]:
        return {await seen(work) for _ in range(300)}

    writing = asyncio.create_task(preceptor.session.write(long))
    await under_way.wait()
    short = asyncio.create_task(preceptor.session.write(lambda work: work.log.start(StreamId("t"), HELLO)))
    assert await asyncio.gather(*(preceptor.session.read(long_look) for _ in range(3))) == [{0}] * 3
    looked.set()
    assert (await writing, len(await short)) == (await preceptor.session.read(seen), 1)


@on_sqlite
async def test_a_long_read_goes_on_to_its_end_while_the_store_is_closed(settings: Settings):
    under_way, closed = asyncio.Event(), asyncio.Event()

    async def long_look(work: Work) -> int:
        under_way.set()
        for _ in range(1_000_000):
            found = await work.orgs.page(None, 1)
            if closed.is_set():
                return len(found)
        raise AssertionError("nobody else had a turn")

    async with open_preceptor(settings) as preceptor:
        looking = asyncio.create_task(preceptor.session.read(long_look))
        await under_way.wait()
    closed.set()
    assert await looking == 1


@on_sqlite
async def test_a_long_transaction_that_fails_leaves_nothing_and_spoils_nothing_for_those_beside_it(
    preceptor: Preceptor,
):
    async def long(work: Work) -> None:
        await work.log.start(StreamId("s"), HELLO)
        for _ in range(1000):
            await work.log.append(StreamId("s"), HELLO)
        raise Fault

    beside = [preceptor.session.write(lambda work, n=n: work.log.start(StreamId(f"t{n}"), HELLO)) for n in range(3)]
    told = await asyncio.gather(preceptor.session.write(long), *beside, return_exceptions=True)
    assert [type(one) for one in told] == [Fault, list, list, list]
    heads = [
        await preceptor.session.read(lambda work, s=s: work.log.head(StreamId(s))) for s in ("s", "t0", "t1", "t2")
    ]
    assert [head and head.seq for head in heads] == [None, 1, 1, 1]
    check(preceptor.settings.database, [])


@on_sqlite
async def test_the_write_ahead_log_is_folded_into_the_file_while_more_is_written_and_then_begins_anew(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(folding, "CHANGES", 500)
    async with open_preceptor(settings) as preceptor:
        await until_begun_anew(preceptor)
        check(settings.database, [])


@on_sqlite
async def test_where_another_program_folds_the_log_ours_tries_again_after_as_many_rows(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(folding, "CHANGES", 500)
    async with open_preceptor(settings) as preceptor:
        with holding("fold", settings.data_dir / "preceptor.db"):
            for _ in range(20):
                await fifty(preceptor)
        await until_begun_anew(preceptor)


@on_sqlite
async def test_the_log_is_folded_also_once_the_number_of_changed_rows_has_begun_anew(settings: Settings):
    many = 2**30
    async with open_preceptor(settings):
        mine = folding.Folding(partial(connect, settings.data_dir / "preceptor.db"))
        await mine.after(many)
        while mine.goes_on:
            await asyncio.sleep(0)
            await mine.after(many)
        await mine.after(-many)  # as sqlite3 says that twice as many more were changed
        assert mine.goes_on
        mine.close()


async def fifty(preceptor: Preceptor) -> None:
    await asyncio.gather(*(preceptor.conversations.start(NewConversation(agent_id="assistant")) for _ in range(50)))


async def until_begun_anew(preceptor: Preceptor) -> None:
    log = preceptor.settings.data_dir / "preceptor.db-wal"
    began = begun(log)
    while begun(log) == began:
        assert log.stat().st_size < 16_000_000
        await fifty(preceptor)


def begun(log: Path) -> int:
    """How often SQLite has begun its write-ahead log anew, as the head of that file says."""
    with log.open("rb") as opened:
        return int.from_bytes(opened.read(16)[12:])


async def test_what_was_asked_before_closing_is_done_or_refused_and_nothing_is_done_after(settings: Settings):
    async with open_preceptor(settings) as preceptor:
        start = preceptor.conversations.start
        asked = [asyncio.create_task(start(NewConversation(agent_id="assistant"))) for _ in range(300)]
        await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
    told = await asyncio.gather(*asked, return_exceptions=True)
    done = [answer for answer in told if isinstance(answer, Conversation)]
    assert {type(answer) for answer in told} <= {Conversation, ShuttingDown}
    assert len(done) == 300 or not settings.database.startswith("sqlite")
    for late in (preceptor.session.read, preceptor.session.write):
        with pytest.raises(ShuttingDown):
            await late(lambda work: work.log.head(StreamId("s")))
    async with open_preceptor(settings) as again:
        for conversation in done:
            assert await again.conversations.get(conversation.conversation_id) == conversation


def test_an_event_loop_may_end_while_its_store_waits_for_a_commit(tmp_path: Path):
    settings = Settings.load(data_dir=tmp_path, admin_key=ADMIN_KEY)
    opened = open_preceptor(settings)
    asked: list[asyncio.Task[Conversation]] = []

    async def open_and_leave(held: ExitStack) -> None:
        preceptor = await opened.__aenter__()
        held.enter_context(holding("lock", tmp_path / "preceptor.db"))
        asked.append(asyncio.create_task(preceptor.conversations.start(NewConversation(agent_id="assistant"))))
        await asyncio.wait(asked, timeout=0.2)

    with ExitStack() as held:
        leaving = threading.Thread(target=lambda: asyncio.run(open_and_leave(held)), daemon=True)
        leaving.start()
        leaving.join(timeout=20)
        assert not leaving.is_alive()
    assert asked[0].cancelled()
