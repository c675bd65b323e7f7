"""Connections to PostgreSQL that are cut, stand still, or are all taken: through a proxy, over real sockets."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import psycopg
import pytest

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.storage.postgres import PATIENCE, POOL, PostgresStore
from preceptor.adapters.storage.silence import GRACE
from preceptor.domain.ids import StreamId
from preceptor.domain.log import Head, NewEvent
from preceptor.engine.repositories.work import Work
from tests.conftest import ADMIN_KEY, client_of
from tests.durability.checker import Line, check, check_chain, contents
from tests.durability.proxy import Proxy, proxy
from tests.postgres import Cluster, Databases
from tests.requirements import covers

TIMES = 500 if os.environ.get("PRECEPTOR_NIGHTLY") else 20
TOGETHER = 20
STATEMENT = 2.0
"""Seconds that a statement may take, as the address says."""
DEADLINE = PATIENCE + STATEMENT + GRACE
"""Seconds in which every request is answered: to wait for a connection, and for what is asked over it."""
SLACK = 1.0
PATH = "/api/conversations"


@dataclass
class House:
    """One server behind the proxy, and what its clients were told."""

    preceptor: Preceptor
    http: httpx2.AsyncClient
    proxy: Proxy
    database: str
    history: list[Line] = field(default_factory=list[Line])

    async def start(self, title: str) -> httpx2.Response:
        """Start a conversation; whoever is not told how it went may ask again with the same key."""
        self.history.append({"did": "invoke", "title": title})
        body, key = {"agentId": "assistant", "title": title}, {"Idempotency-Key": title}
        answer = await self.http.post(PATH, json=body, headers=key)
        if answer.is_success:
            told = answer.json()
            self.history.append({"did": "ok", "title": title, "id": told["conversationId"], "seq": told["revision"]})
        else:
            assert answer.status_code == 503, answer.text
            assert answer.headers["retry-after"]
        return answer

    async def all_at_once(self, titles: list[str]) -> list[httpx2.Response]:
        """All are answered before their deadline."""
        asked = [asyncio.create_task(self.start(title)) for title in titles]
        _, late = await asyncio.wait(asked, timeout=DEADLINE + SLACK)
        assert not late
        return [one.result() for one in asked]

    async def insist(self, titles: list[str]) -> list[httpx2.Response]:
        self.proxy.behave()
        answers: list[httpx2.Response] = []
        for title in titles:
            while not (answer := await self.start(title)).is_success:
                pass
            answers.append(answer)
        return answers

    def in_use(self) -> int:
        store = self.preceptor.session.store
        assert isinstance(store, PostgresStore)
        stats = store._pool.get_stats()  # pyright: ignore[reportPrivateUsage]
        return stats["pool_size"] - stats["pool_available"]

    def open_there(self) -> int:
        """How many connections PostgreSQL itself knows of."""
        with psycopg.connect(self.database) as own:
            found = own.execute("SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()")
            [(connections,)] = found.fetchall()
        return connections

    async def check(self, titles: list[str]) -> None:
        """Nothing is lost, nothing is there twice, and every connection is back in the pool."""
        await until(lambda: self.in_use() == 0)
        await until(lambda: self.open_there() <= POOL)
        check(self.database, self.history)
        assert len({line["id"] for line in self.history if line["did"] == "ok"}) == len(titles)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - what we wait for happens elsewhere and rings no bell
            await asyncio.sleep(0.01)


@pytest.fixture
def statement() -> float:
    return STATEMENT


@pytest.fixture
async def house(
    postgres: Cluster, postgres_databases: Databases, tmp_path: Path, statement: float
) -> AsyncGenerator[House]:
    with postgres_databases.one() as url:
        async with proxy(postgres.port) as (made, port):
            address = url.replace(f":{postgres.port}/", f":{port}/")
            settings = Settings.load(
                data_dir=tmp_path,
                database_url=f"{address}?options=-c%20statement_timeout%3D{int(statement * 1000)}",
                admin_key=ADMIN_KEY,
                access_log=False,
                rate_limit_per_key=1e6,
                rate_limit_per_org=1e6,
            )
            async with open_preceptor(settings) as preceptor, client_of(preceptor) as http:
                yield House(preceptor, http, made, url)


@covers("F6")
async def test_connections_that_were_cut_while_no_one_asked_are_not_noticed(house: House):
    titles = [f"cut-{number}" for number in range(TIMES)]
    for title in titles:
        house.proxy.cut()
        assert (await house.start(title)).status_code == 201
    assert house.proxy.cuts >= TIMES
    await house.check(titles)


@covers("F6")
@pytest.mark.parametrize(
    ("word", "arrives", "replayed"),
    [(b"INSERT", False, None), (b"INSERT", True, None), (b"COMMIT", False, None), (b"COMMIT", True, "true")],
    ids=["before a change arrives", "after a change", "before the commit arrives", "after the commit"],
)
async def test_a_connection_that_is_cut_fails_one_request_and_loses_nothing(
    house: House, word: bytes, arrives: bool, replayed: str | None
):
    """Only what was committed is there: whoever asks again is told of it, or does it now."""
    titles = [f"cut-{number}" for number in range(TIMES)]
    for batch in batches(titles):
        house.proxy.cut()
        (house.proxy.leave_unanswered if arrives else house.proxy.lose)(word)
        assert {answer.status_code for answer in await house.all_at_once(batch)} == {503}
        again = await house.insist(batch)
        assert {answer.headers.get("idempotent-replayed") for answer in again} == {replayed}
    await house.check(titles)


@covers("F6")
@pytest.mark.parametrize("arrives", [False, True], ids=["before it arrives", "after it was carried out"])
async def test_what_is_only_added_is_there_once_though_no_one_could_say_whether_it_was(house: House, arrives: bool):
    """Also what is added to several streams in one transaction."""
    store, owner = house.preceptor.session.store, house.preceptor.session.caller.owner
    heads: dict[StreamId, Head] = {}
    for title in ("one", "two", "three"):
        stream = StreamId((await house.start(title)).json()["conversationId"])
        head = await house.preceptor.session.read(lambda work, stream=stream: work.log.head(stream))
        assert head is not None
        heads[stream] = head
    (house.proxy.leave_unanswered if arrives else house.proxy.lose)(b"WITH found")
    for number in range(TIMES):
        cuts = house.proxy.cuts
        said = [NewEvent("said", str(number))]
        added = await asyncio.gather(*(store.append(owner, stream, said, head) for stream, head in heads.items()))
        assert house.proxy.cuts > cuts
        heads = {event.stream: Head(event.seq, event.hash, event.epoch) for [event] in added}
    for stream in heads:
        events = await house.preceptor.session.read(lambda work, stream=stream: work.log.after(stream, 1, 2 * TIMES))
        assert [event.payload for event in events] == [str(number) for number in range(TIMES)]
        check_chain([row for row in contents(house.database).events if row.stream == stream])
    await until(lambda: house.in_use() == 0)


@covers("F6")
@pytest.mark.parametrize("hold", [Proxy.hold_questions, Proxy.hold_answers], ids=["questions", "answers"])
async def test_when_connections_stand_still_every_request_is_answered_in_time(
    house: House, hold: Callable[[Proxy], None]
):
    titles = [f"stalled-{number}" for number in range(TIMES)]
    for batch in batches(titles):
        hold(house.proxy)
        assert {answer.status_code for answer in await house.all_at_once(batch)} == {503}
        await house.insist(batch)
    await house.check(titles)


@covers("F6")
@pytest.mark.parametrize("statement", [60.0])
async def test_when_all_connections_are_taken_those_who_wait_are_told_in_time(house: House):
    """They are not even asked for by those who hold them."""
    titles = [f"waiting-{number}" for number in range(TIMES)]
    for batch in batches(titles):
        taken, go_on = asyncio.Semaphore(0), asyncio.Event()

        async def hold(_: Work, taken: asyncio.Semaphore = taken, go_on: asyncio.Event = go_on) -> None:
            taken.release()
            await go_on.wait()

        session = house.preceptor.session
        holders = [asyncio.create_task(session.read(hold)) for _ in range(POOL)]
        for _ in holders:
            await taken.acquire()
        assert {answer.status_code for answer in await house.all_at_once(batch)} == {503}
        go_on.set()
        await asyncio.gather(*holders)
        await house.insist(batch)
    await house.check(titles)


def batches(titles: list[str]) -> list[list[str]]:
    return [titles[at : at + TOGETHER] for at in range(0, len(titles), TOGETHER)]
