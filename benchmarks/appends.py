"""Durable appends a second with 64 producers, against the shortest code that does the same durable work.

- `group`: a bare `sqlite3` writer thread with group commit: one INSERT per append, no chain, no head, no tenant.
- `naive`: the same INSERT and a commit for each, as 64 threads do it that know nothing of one another: each with a
  connection of its own, waiting for the others as `sqlite3` waits.
- `one by one`: a commit for each as well, over one connection that nobody waits for: what the disk itself gives.
- `preceptor`: the log: sealed, chained, fenced, its stream's head moved in the same transaction.
"""

import asyncio
import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.interleaved import compare
from benchmarks.slow_disk import FLUSH, slower_disk
from preceptor import Preceptor, Settings, open_preceptor
from preceptor.domain.conversations.conversation import NewConversation
from preceptor.domain.ids import StreamId
from preceptor.domain.log import NewEvent

PRODUCERS = 64
LONGEST_WAIT = 60.0
"""Seconds: as long as it takes; an append that gives up would not be one."""
PAYLOAD = '{"text":"' + "An event of ordinary size. " * 12 + '"}'
TABLE = (
    "CREATE TABLE events(org TEXT, stream TEXT, seq INTEGER, kind TEXT, at INTEGER, payload TEXT,"
    " PRIMARY KEY(org, stream, seq)) WITHOUT ROWID"
)
INSERT = "INSERT INTO events VALUES('default', ?, ?, 'message.completed', 0, ?)"


def bare(folder: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(TABLE)
    return connection


class Asynchronous:
    """Runs `count` appends from 64 producers at once, each waiting for its acknowledgement."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.done = [0] * PRODUCERS

    async def append(self, producer: int, number: int) -> None:
        raise NotImplementedError

    def run(self, count: int) -> None:
        self.loop.run_until_complete(self._all(count // PRODUCERS))

    async def _all(self, each: int) -> None:
        await asyncio.gather(*(self._produce(producer, each) for producer in range(PRODUCERS)))

    async def _produce(self, producer: int, each: int) -> None:
        for _ in range(each):
            self.done[producer] += 1
            await self.append(producer, self.done[producer])

    def close(self) -> None:
        self.loop.close()


class Group(Asynchronous):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.connection = bare(folder)
        self.waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self.lock, self.bell = threading.Lock(), threading.Event()
        threading.Thread(target=self._write_on, daemon=True).start()

    async def append(self, producer: int, number: int) -> None:
        answer: asyncio.Future[None] = self.loop.create_future()
        with self.lock:
            self.waiting.append((producer, number, answer))
        self.bell.set()
        await answer

    def _write_on(self) -> None:
        while True:
            self.bell.wait()
            self.bell.clear()
            with self.lock:
                batch, self.waiting = self.waiting, []
            if not batch:
                continue
            self.connection.execute("BEGIN IMMEDIATE")
            for producer, number, _ in batch:
                self.connection.execute(INSERT, (f"s{producer}", number, PAYLOAD))
            self.connection.execute("COMMIT")
            self.loop.call_soon_threadsafe(self._tell, [answer for _, _, answer in batch])

    @staticmethod
    def _tell(answers: list[asyncio.Future[None]]) -> None:
        for answer in answers:
            answer.set_result(None)


class Naive:
    def __init__(self, folder: Path) -> None:
        bare(folder).close()
        self.connections = [self._connected(folder) for _ in range(PRODUCERS)]
        self.done = 0

    @staticmethod
    def _connected(folder: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(
            folder / "bare.db", isolation_level=None, check_same_thread=False, timeout=LONGEST_WAIT
        )
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def run(self, count: int) -> None:
        each = count // PRODUCERS
        with ThreadPoolExecutor(PRODUCERS) as threads:
            list(threads.map(self._produce, range(PRODUCERS), [each] * PRODUCERS))
        self.done += each

    def _produce(self, producer: int, each: int) -> None:
        for number in range(self.done, self.done + each):
            self.connections[producer].execute(INSERT, (f"s{producer}", number, PAYLOAD))

    def close(self) -> None:
        for connection in self.connections:
            connection.close()


class OneByOne(Asynchronous):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.connection = bare(folder)

    async def append(self, producer: int, number: int) -> None:
        self.connection.execute(INSERT, (f"s{producer}", number, PAYLOAD))


class Ours(Asynchronous):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        os.environ.pop("PRECEPTOR_DATABASE_URL", None)
        self.opening = open_preceptor(Settings.load(data_dir=folder))
        self.preceptor: Preceptor = self.loop.run_until_complete(self.opening.__aenter__())
        self.streams = [self.loop.run_until_complete(self._start()) for _ in range(PRODUCERS)]
        self.event = [NewEvent("message.completed", PAYLOAD)]

    async def _start(self) -> StreamId:
        started = await self.preceptor.conversations.start(NewConversation(agent_id="assistant"))
        return StreamId(started.conversation_id)

    async def append(self, producer: int, number: int) -> None:  # noqa: ARG002 - the log numbers its own
        stream = self.streams[producer]
        await self.preceptor.session.write(lambda work: work.log.append(stream, self.event))

    def close(self) -> None:
        self.loop.run_until_complete(self.opening.__aexit__(None, None, None))
        super().close()


def main() -> list[str]:
    lines = ["On this disk as it is:", *measured(rounds=7, count=3200)]
    with slower_disk() as slow:
        if not slow:
            return [*lines, "No C compiler here: the slower disk was not measured."]
        told = f"On a disk whose flush takes {FLUSH / 1000:.0f} ms longer (an ordinary SSD's is 1 to 5 ms):"
        return [*lines, told, *measured(rounds=5, count=640)]


def measured(rounds: int, count: int) -> list[str]:
    makers = {"group": Group, "naive": Naive, "one by one": OneByOne, "preceptor": Ours}
    found = compare(makers, rounds=rounds, count=count)
    ours, group, naive = found["preceptor"], found["group"], found["naive"]
    lines = [
        f"{name:<10} {1 / figures.median('wall'):>8.0f} appends/s  {figures.median('cpu') * 1e6:>6.0f} µs CPU"
        f"  {figures.median('written'):>6.0f} bytes written"
        for name, figures in found.items()
    ]
    return [
        *lines,
        f"against a bare group-commit writer: {1 / ours.ratio(group, 'wall'):.2f}x its appends/s (goal >= 0.7)",
        f"against a naive writer:             {1 / ours.ratio(naive, 'wall'):.2f}x its appends/s (goal >= 10)",
        f"against a commit each, one by one:  {1 / ours.ratio(found['one by one'], 'wall'):.2f}x its appends/s",
    ]


if __name__ == "__main__":
    print("\n".join(main()))
