import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.world import RealWorld
from preceptor.domain.conversations.conversation import NewConversation
from preceptor.domain.errors import Conflict, NotFound
from preceptor.domain.ids import StreamId, TurnId
from preceptor.domain.log import ORG_STREAM, Event, Fenced, Head, NewEvent
from preceptor.domain.ownership import SYSTEM
from preceptor.engine.repositories.work import Work
from tests.durability.checker import check_chain, contents
from tests.durability.forks import Forks

STREAM = StreamId("a stream")
Raw = Callable[[str], int]

PAYLOADS = {
    "empty": "{}",
    "not normalised": '{"a": "e\u0301 \u00e9 \u1ed3 o\u0302\u0300"}',
    "directions and joiners": '"\u202e\u200d\u2066\ufeff\U000e0041"',
    "beyond the first plane": '"\U0001f9d1\u200d\U0001f680 \U0010ffff \ud7ff\ue000"',
    "escaped by JSON": '"\\u0000 \\ud800 \\" \\\\ \\n"',
    "control characters": '"\x01\x1f\x7f\x85\u2028"',
    "white space": ' \t\r\n"  " \n',
    "large": '"' + "Xin ch\u00e0o \U0001f44b " * 100_000 + '"',
}


@pytest.fixture
def raw(preceptor: Preceptor) -> Raw:
    """Run a statement as the owner of the database, past all of our code; return how many rows it changed."""
    url = preceptor.settings.database

    def run(statement: str) -> int:
        if url.startswith("sqlite"):
            with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
                return connection.execute(statement).rowcount
        with psycopg.connect(url, options="-c preceptor.org=*") as connection:
            return connection.execute(statement.encode()).rowcount

    return run


async def begin(preceptor: Preceptor, *payloads: str, stream: StreamId = STREAM) -> list[Event]:
    new = [NewEvent("said", payload) for payload in payloads or ("{}",)]
    return await preceptor.session.write(lambda work: work.log.start(stream, new))


async def append(preceptor: Preceptor, *payloads: str, epoch: int | None = None) -> list[Event]:
    new = [NewEvent("said", payload) for payload in payloads or ("{}",)]
    return await preceptor.session.write(lambda work: work.log.append(STREAM, new, epoch=epoch))


async def everything(preceptor: Preceptor, stream: StreamId = STREAM) -> list[Event]:
    return await preceptor.session.read(lambda work: work.log.after(stream, 0, 1_000_000))


def rows_of(preceptor: Preceptor) -> Sequence[Any]:
    return [row for row in contents(preceptor.settings.database).events if row.stream == STREAM]


async def test_what_was_appended_is_read_back_byte_for_byte(preceptor: Preceptor):
    started = await begin(preceptor, *PAYLOADS.values())
    [last] = await preceptor.session.write(
        lambda work: work.log.append(STREAM, [NewEvent("said", PAYLOADS["large"], TurnId("a turn"))])
    )
    assert [event.payload for event in started] == list(PAYLOADS.values())
    assert await everything(preceptor) == [*started, last]
    assert await preceptor.session.read(lambda work: work.log.after(STREAM, 2, 3)) == started[2:5]
    check_chain(rows_of(preceptor))


async def test_16_writers_to_one_stream_leave_no_gap_and_no_double(preceptor: Preceptor):
    await begin(preceptor)

    async def writer(name: str) -> list[int]:
        written = [await append(preceptor, f'"{name}.{n}.1"', f'"{name}.{n}.2"') for n in range(8)]
        return [event.seq for events in written for event in events]

    told = await asyncio.gather(*(writer(f"w{n}") for n in range(16)))
    assert sorted(seq for each in told for seq in each) == list(range(2, 2 + 16 * 8 * 2))
    assert all(each == sorted(each) for each in told)
    assert all(second == first + 1 for each in told for first, second in zip(each[::2], each[1::2], strict=True))
    check_chain(rows_of(preceptor))


def head_after(event: Event) -> Head:
    return Head(event.seq, event.hash, event.epoch)


async def test_what_is_only_added_follows_what_is_there_whether_its_writer_knew_of_that_or_not(preceptor: Preceptor):
    [first] = await begin(preceptor)
    store, owner = preceptor.session.store, preceptor.session.caller.owner
    new = [NewEvent("said", payload, TurnId("a turn")) for payload in PAYLOADS.values()]
    knew = await store.append(owner, STREAM, new, head_after(first))
    did_not = await store.append(owner, STREAM, new, head_after(first))
    never_did = await store.append(owner, STREAM, new, Head())
    assert await everything(preceptor) == [first, *knew, *did_not, *never_did]
    assert [event.payload for event in (*knew, *did_not, *never_did)] == [*PAYLOADS.values()] * 3
    check_chain(rows_of(preceptor))


async def test_of_those_that_are_added_to_together_one_that_has_grown_keeps_no_other_back(preceptor: Preceptor):
    """Each has its own organisation, and each is added to once."""
    store, owner = preceptor.session.store, preceptor.session.caller.owner
    owners = [owner.model_copy(update={"org_id": f"org-{number % 3}"}) for number in range(9)]
    firsts: list[Event] = []
    for number, one in enumerate(owners):
        stream, new = StreamId(f"stream-{number}"), [NewEvent("began", "{}")]
        firsts += await store.write(one, lambda work, stream=stream, new=new: work.log.start(stream, new))
    grown = [NewEvent("meanwhile", "{}")]
    await store.write(owners[4], lambda work: work.log.append(firsts[4].stream, grown))
    said = [NewEvent("said", "{}")]
    adding = [
        store.append(one, first.stream, said, head_after(first)) for one, first in zip(owners, firsts, strict=True)
    ]
    added = await asyncio.gather(*adding)
    assert [event.seq for [event] in added] == [2, 2, 2, 2, 3, 2, 2, 2, 2]
    for one, first, [event] in zip(owners, firsts, added, strict=True):
        rows = await store.read(one, lambda work, stream=first.stream: work.log.after(stream, 0, 10))
        assert (rows[0], rows[-1]) == (first, event)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)  # on SQLite one writes at a time
async def test_a_stream_that_someone_holds_keeps_no_other_back(preceptor: Preceptor):
    store, owner = preceptor.session.store, preceptor.session.caller.owner
    [held] = await begin(preceptor)
    new = [NewEvent("began", "{}")]
    [free] = await store.write(owner, lambda work: work.log.start(StreamId("free"), new))
    holds, let_go = asyncio.Event(), asyncio.Event()

    async def hold(work: Work) -> None:
        await work.log.hold(STREAM)
        holds.set()
        await let_go.wait()

    holding = asyncio.create_task(store.write(owner, hold))
    await holds.wait()
    said = [NewEvent("said", "{}")]
    waits = asyncio.create_task(store.append(owner, STREAM, said, head_after(held)))
    [added] = await store.append(owner, free.stream, said, head_after(free))
    assert (added.seq, waits.done()) == (2, False)
    let_go.set()
    await holding
    assert [event.seq for event in await waits] == [2]


async def test_who_was_fenced_off_adds_nothing_also_at_the_very_end_that_he_knows(preceptor: Preceptor):
    [first] = await begin(preceptor)
    await preceptor.session.write(lambda work: work.log.take_over(STREAM))
    with pytest.raises(Fenced):
        await preceptor.session.store.append(
            preceptor.session.caller.owner, STREAM, [NewEvent("said", "{}")], head_after(first)
        )
    assert await everything(preceptor) == [first]


async def test_a_stream_that_a_checkpoint_has_told_of_is_marked_again_by_what_is_only_added(preceptor: Preceptor):
    [first] = await begin(preceptor)
    system, org = preceptor.session.acting_as(SYSTEM), preceptor.session.caller.owner.org_id
    told = (org, STREAM, first.seq, first.hash.hex())
    await system.write(lambda work: work.log.mark_told([told]))
    await preceptor.session.store.append(
        preceptor.session.caller.owner, STREAM, [NewEvent("said", "{}")], head_after(first)
    )
    assert (org, STREAM, 2) in [one[:3] for one in await system.read(lambda work: work.log.grown(100))]


async def test_16_who_need_the_stream_of_an_organisation_first_make_one(preceptor: Preceptor):
    store, caller = preceptor.session.store, preceptor.session.caller
    fresh = caller.owner.model_copy(update={"org_id": "acme"})
    note = [NewEvent("noted", "{}")]
    await asyncio.gather(*(store.write(fresh, lambda work: work.log.append(ORG_STREAM, note)) for _ in range(16)))
    events = await store.read(fresh, lambda work: work.log.after(ORG_STREAM, 0, 100))
    assert [event.seq for event in events] == list(range(1, 17))


async def test_a_stream_begins_once_and_nothing_is_added_to_one_that_has_not_begun(preceptor: Preceptor):
    with pytest.raises(NotFound):
        await append(preceptor)
    with pytest.raises(NotFound):
        await preceptor.session.write(lambda work: work.log.take_over(STREAM))
    await begin(preceptor)
    with pytest.raises(Conflict):
        await begin(preceptor)
    assert [event.seq for event in await everything(preceptor)] == [1]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET payload = '{}'",
        "UPDATE events SET payload = NULL, salt = NULL, kind = 'other'",
        "UPDATE events SET payload = NULL, salt = NULL, seq = seq + 100",
        "UPDATE events SET payload = NULL, salt = NULL, turn = 'another'",
        "UPDATE events SET payload = NULL",
        "UPDATE events SET salt = NULL",
        "UPDATE events SET hash = prev_hash",
        "DELETE FROM events",
        "DELETE FROM events WHERE seq = 2",
    ],
)
async def test_the_database_itself_refuses_to_change_the_log(preceptor: Preceptor, raw: Raw, statement: str):
    before = await begin(preceptor, *PAYLOADS.values())
    with pytest.raises((sqlite3.Error, psycopg.Error), match="append-only"):
        raw(statement)
    assert await everything(preceptor) == before


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_postgres_refuses_to_empty_the_log(preceptor: Preceptor, raw: Raw):
    await begin(preceptor)
    with pytest.raises(psycopg.Error, match="append-only"):
        raw("TRUNCATE events")
    assert await everything(preceptor)


async def test_a_payload_may_be_erased_and_the_chain_still_holds(preceptor: Preceptor, raw: Raw):
    await begin(preceptor, '"one"', '"two"', '"three"')
    assert raw(f"UPDATE events SET payload = NULL, salt = NULL WHERE stream = '{STREAM}' AND seq = 2") == 1
    [four] = await append(preceptor, '"four"')
    events = await everything(preceptor)
    assert [event.payload for event in events] == ['"one"', None, '"three"', '"four"']
    assert (events[1].salt, events[-1]) == (None, four)
    check_chain(rows_of(preceptor))


async def test_a_writer_that_was_replaced_is_refused(preceptor: Preceptor):
    def take_over():
        return preceptor.session.write(lambda work: work.log.take_over(STREAM))

    await begin(preceptor)
    assert [await take_over() for _ in range(3)] == [1, 2, 3]
    [written] = await append(preceptor, epoch=3)
    epochs = await asyncio.gather(*(take_over() for _ in range(8)))
    assert sorted(epochs) == list(range(4, 12))
    for old in (0, 3, 10):
        with pytest.raises(Fenced):
            await append(preceptor, epoch=old)
    [last] = await append(preceptor, epoch=11)
    [unfenced] = await append(preceptor)
    assert [(event.seq, event.epoch) for event in (written, last, unfenced)] == [(2, 3), (3, 11), (4, 11)]
    assert len(await everything(preceptor)) == 4


async def test_a_reader_that_waits_is_woken_by_an_append_and_otherwise_gives_up(preceptor: Preceptor):
    await begin(preceptor)
    store, org = preceptor.session.store, preceptor.session.caller.owner.org_id
    await store.news(org, STREAM, after=0, patience=30)
    await store.news(org, STREAM, after=1, patience=0.01)
    waiting = [asyncio.create_task(store.news(org, STREAM, after=1, patience=30)) for _ in range(8)]
    elsewhere = asyncio.create_task(store.news(org, ORG_STREAM, after=1_000, patience=30))
    await asyncio.sleep(0)
    began = time.perf_counter()
    await append(preceptor)
    await asyncio.gather(*waiting)
    assert time.perf_counter() - began < 5
    assert not elsewhere.done()
    elsewhere.cancel()


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_a_reader_on_postgres_is_woken_by_another_process(preceptor: Preceptor, tmp_path: Path):
    conversation = await preceptor.conversations.start(NewConversation(agent_id="assistant"))
    stream, org = StreamId(conversation.conversation_id), preceptor.session.caller.owner.org_id
    with Forks("tests.durability.worker:carry_out") as others:
        others.start(database=preceptor.settings.database, folder=str(tmp_path), operations=20)
        began = time.perf_counter()
        await preceptor.session.store.news(org, stream, after=1, patience=30)
        assert others.wait() == 0
    assert time.perf_counter() - began < 20
    head = await preceptor.session.read(lambda work: work.log.head(stream))
    assert head
    assert head.seq == 2


class Jumping(RealWorld):
    """A clock that someone plays with."""

    def __init__(self) -> None:
        start = datetime(2028, 2, 29, 23, 59, 59, tzinfo=UTC)
        self._jumps = [timedelta(hours=2), -timedelta(days=1), timedelta(seconds=30), -timedelta(seconds=60)]
        self.times = [start, *(start + jump for jump in self._jumps), datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC)]
        self._next = 0

    def now(self) -> datetime:
        self._next += 1
        return self.times[self._next % len(self.times)]


async def test_a_clock_that_jumps_does_not_change_the_order(settings: Settings):
    async with open_preceptor(settings, world=Jumping()) as preceptor:
        await begin(preceptor, '"0"')
        for number in range(1, 13):
            await append(preceptor, f'"{number}"')
        events = await everything(preceptor)
    assert [event.payload for event in events] == [f'"{number}"' for number in range(13)]
    assert [event.seq for event in events] == list(range(1, 14))
    check_chain(rows_of(preceptor))


@pytest.mark.parametrize("count", [1, 2, 50, 51, 230])
async def test_however_many_rows_are_written_together_they_are_all_there_in_order(preceptor: Preceptor, count: int):
    said = [f'"{number}"' for number in range(count)]
    await begin(preceptor, *said)
    found = await preceptor.session.read(lambda work: work.log.after(STREAM, 0, 1_000))
    assert [(event.seq, event.payload) for event in found] == list(enumerate(said, 1))
