import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.storage.postgres import POOL, PostgresStore
from tests.conftest import ADMIN_KEY, client_of
from tests.durability.checker import Line, check
from tests.postgres import Cluster, cluster
from tests.requirements import covers

CLIENTS = 16
RESTARTS = 60 if os.environ.get("PRECEPTOR_NIGHTLY") else 3
PATH = "/api/conversations"


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    """A server of our own, which no other test minds losing."""
    with cluster() as made:
        yield made


@pytest.fixture
def settings(own_cluster: Cluster, tmp_path: Path) -> Settings:
    return Settings.load(
        data_dir=tmp_path,
        database_url=own_cluster.new_database(),
        admin_key=ADMIN_KEY,
        access_log=False,
        rate_limit_per_key=1e6,
        rate_limit_per_org=1e6,
    )


@dataclass
class Load:
    """Clients that start conversations and change them, and what they were told."""

    http: httpx2.AsyncClient
    history: list[Line] = field(default_factory=list[Line])
    statuses: Counter[int] = field(default_factory=Counter[int])
    served: Counter[str] = field(default_factory=Counter[str])
    slowest: float = 0.0
    over: bool = False

    async def client(self, name: str) -> None:
        conversation = ""
        for number in count():
            if self.over:
                return
            title = f"{name}.{number}"
            self.history.append({"did": "invoke", "title": title})
            answer = await (self.change(conversation, title) if number % 3 else self.start(title))
            if answer.is_success:
                told = answer.json()
                conversation = told["conversationId"]
                self.history.append({"did": "ok", "title": title, "id": conversation, "seq": told["revision"]})
                self.served[name] += 1

    async def start(self, title: str) -> httpx2.Response:
        """Insist: an idempotency key makes it safe to ask again when nobody knows what became of the first time."""
        body, key = {"agentId": "assistant", "title": title}, {"Idempotency-Key": title}
        while not (answer := await self.send("POST", PATH, json=body, headers=key)).is_success:
            pass
        return answer

    async def change(self, conversation: str, title: str) -> httpx2.Response:
        return await self.send("PATCH", f"{PATH}/{conversation}", json={"title": title})

    async def send(self, method: str, path: str, **request: Any) -> httpx2.Response:
        began = time.perf_counter()
        answer = await self.http.request(method, path, **request)
        self.slowest = max(self.slowest, time.perf_counter() - began)
        self.statuses[answer.status_code] += 1
        assert answer.is_success or (answer.status_code == 503 and answer.headers["retry-after"]), answer.text
        return answer

    async def restart(self, server: Cluster, refusals: int = 0) -> float:
        """Stop PostgreSQL the hard way and start it when so many were refused; seconds until all are served again."""
        await until(lambda: all(self.served[f"c{n}"] >= 10 for n in range(CLIENTS)), seconds=20)
        await asyncio.to_thread(server.stop, "immediate")
        enough = self.statuses[503] + refusals
        await until(lambda: self.statuses[503] >= enough, seconds=20)
        await asyncio.to_thread(server.start)
        began = time.perf_counter()
        self.served.clear()
        await until(lambda: len(self.served) == CLIENTS, seconds=20)
        return time.perf_counter() - began


async def until(true: Callable[[], bool], *, seconds: float) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - what we wait for happens elsewhere and rings no bell
            await asyncio.sleep(0.01)


def idle_connections(preceptor: Preceptor) -> tuple[int, int]:
    """How many the pool has, and how many of them no one uses."""
    store = preceptor.session.store
    assert isinstance(store, PostgresStore)
    stats = store._pool.get_stats()  # pyright: ignore[reportPrivateUsage]
    return stats["pool_size"], stats["pool_available"]


@covers("F5")
async def test_postgres_may_be_stopped_hard_and_started_again_under_load(settings: Settings, own_cluster: Cluster):
    async with open_preceptor(settings) as preceptor, client_of(preceptor) as http:
        load = Load(http)
        async with asyncio.TaskGroup() as clients:
            for n in range(CLIENTS):
                clients.create_task(load.client(f"c{n}"))
            back = [await load.restart(own_cluster) for _ in range(RESTARTS - 1)]
            # This time each client waits for a connection until it is refused.
            back.append(await load.restart(own_cluster, CLIENTS))
            load.over = True
        await until(lambda: len({*idle_connections(preceptor)}) == 1, seconds=5)
        with psycopg.connect(own_cluster.url("postgres", "postgres")) as connection:
            [(open_now,)] = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE usename = 'preceptor'")
    acknowledged = check(settings.database, load.history)
    print(f"{acknowledged} acknowledged, {load.statuses}, back after {back}, slowest answer {load.slowest:.1f} s")
    assert acknowledged == load.statuses[200] + load.statuses[201]
    assert load.statuses.keys() == {200, 201, 503}
    assert max(back) <= 2
    assert load.slowest <= 10
    assert open_now <= POOL


@covers("F5")
async def test_a_restart_while_no_one_asks_anything_is_not_noticed(settings: Settings, own_cluster: Cluster):
    async with open_preceptor(settings) as preceptor, client_of(preceptor) as http:

        async def start() -> int:
            return (await http.post(PATH, json={"agentId": "assistant"})).status_code

        assert {*await asyncio.gather(*(start() for _ in range(2 * POOL)))} == {201}
        await asyncio.to_thread(own_cluster.stop, "immediate")
        await asyncio.to_thread(own_cluster.start)
        assert {*await asyncio.gather(*(start() for _ in range(2 * POOL)))} == {201}
