"""SQLite: one writer that commits many transactions with one fsync; readers beside it.

Statements run in the event loop's own thread, where nothing fights them for the interpreter; only what waits for the
disk or for a lock, `COMMIT` and a contended `BEGIN`, is handed to a thread. What comes meanwhile is the next batch.
On a disk that flushes sooner than a thread can be woken, `COMMIT` is not handed over either.
"""

import asyncio
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from preceptor.adapters.storage.connection import Grown, Heads
from preceptor.adapters.storage.driving import SqliteExecutor, run_through
from preceptor.adapters.storage.failures import of_sqlite
from preceptor.adapters.storage.faults import reach
from preceptor.adapters.storage.folding import Folding
from preceptor.adapters.storage.tails import Tail, Tails
from preceptor.adapters.storage.trails import Trails
from preceptor.adapters.storage.work import SqlWork
from preceptor.domain.errors import ShuttingDown
from preceptor.domain.ids import OrgId, StreamId
from preceptor.domain.log import Event, Head, NewEvent
from preceptor.domain.ownership import Owner
from preceptor.engine.ports import World
from preceptor.engine.repositories.work import Program

Result = TypeVar("Result")

LARGEST_BATCH = 256
ROUNDS = 10
"""How often the loop comes round, at most, before what waits is committed. What waits alone is committed at once."""
MOST_HEADS = 10_000
MOST_PAGES = 32_000
"""Of the write-ahead log, should it ever grow faster than it is folded: from then on each commit folds it as well."""
QUICK = 0.001
"""Seconds: a disk that flushes sooner is waited for. To hand a flush over and be told of it costs half as much CPU."""
PATIENCE_MS = 5000
"""How long a commit waits for another process that holds the file's lock."""


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=512)
    connection.execute(f"PRAGMA busy_timeout={PATIENCE_MS}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA secure_delete=ON")  # what is erased is overwritten, not only forgotten
    connection.execute(f"PRAGMA wal_autocheckpoint={MOST_PAGES}")
    return connection


class Job(msgspec.Struct):
    """One transaction waiting for the writer, and who waits for it."""

    owner: Owner
    program: Program[Any]
    answer: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None
    grown: Sequence[Grown] = ()

    def deliver(self) -> None:
        if self.answer.done():
            return
        if self.error is None:
            self.answer.set_result(self.result)
        else:
            self.answer.set_exception(self.error)


class SqliteStore:
    """Belongs to the event loop it was made in; calls from other loops are passed on to that one."""

    alone = True
    """Whether no other process writes to the same database."""

    def __init__(self, path: Path, world: World, *, committed: Callable[[int, float], None] | None = None) -> None:
        self.path = path
        self.tails = Tails(look_again=None)
        self._world = world
        self._committed = committed
        self._closed = False
        self._idle = defaultdict[int, list[sqlite3.Connection]](list)
        """What nobody reads with at the moment, by thread. Whoever reads while the store is closed closes theirs."""
        self._writing = connect(path)
        self._writing.execute("PRAGMA busy_timeout=0")
        self.folding = Folding(partial(connect, path))
        self._thread = ThreadPoolExecutor(1, "preceptor-commit")
        self._loop = asyncio.get_running_loop()
        self._heads: Heads = {}
        self._trails = Trails()
        self._executor = SqliteExecutor(self._writing.cursor(), self._heads, {}, writes=True)
        self._now = world.now()
        self._waiting: list[Job] = []
        self._bell: asyncio.Future[None] = self._loop.create_future()
        self._flush = 1.0
        """How long a commit takes here, in seconds: a running mean. A slow one weighs much, and not for long."""
        self._writer = asyncio.create_task(self._write_on())

    async def read(self, owner: Owner, program: Program[Result]) -> Result:
        """Run `program` on one snapshot, in the calling thread: a look-up by key is quicker than a hand-over."""
        if self._closed:
            raise ShuttingDown("Preceptor is stopping.")
        try:
            connection, idle = self._reader(), self._idle[threading.get_ident()]
            idle.remove(connection)
            try:
                connection.execute("BEGIN")
                executor = SqliteExecutor(connection.cursor(), {}, self._trails.for_reading())
                work = SqlWork(executor, owner.org_id, self._world.now())
                return await run_through(program, executor, work)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if self._closed:
                    connection.close()
                else:
                    idle.append(connection)
        except (sqlite3.Error, OSError) as error:
            raise of_sqlite(error) from error

    @property
    def closed(self) -> bool:
        return self._closed

    async def write(self, owner: Owner, program: Program[Result], *, blind: bool = False) -> Result:  # noqa: ARG002 - one writer
        """Queue `program` for the writer; the answer comes once its commit is on the disk. One writer has no races."""
        if self._closed:
            raise ShuttingDown("Preceptor is stopping.")
        if asyncio.get_running_loop() is not self._loop:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.write(owner, program), self._loop))
        answer: asyncio.Future[Result] = self._loop.create_future()
        self._waiting.append(Job(owner, program, answer))
        self._ring()
        return await answer

    async def append(self, owner: Owner, stream: StreamId, new: Sequence[NewEvent], head: Head) -> list[Event]:
        return await self.write(owner, lambda work: work.log.append(stream, new, epoch=head.epoch))

    async def news(self, org: OrgId, stream: StreamId, after: int, patience: float) -> None:
        await self.tails.wait(self.read, (org, stream), after, patience)

    def tail(self, org: OrgId, stream: StreamId) -> AbstractContextManager[Tail]:
        return self.tails.tail(self.read, (org, stream))

    async def close(self) -> None:
        """Finish what is queued, then let go of the file."""
        if self._closed:
            await asyncio.wait({self._writer})
            return
        self._closed = True
        self._ring()
        await self._writer
        self._thread.shutdown()
        self.folding.close()
        for connection in (*chain.from_iterable(self._idle.values()), self._writing):
            connection.close()

    def _reader(self) -> sqlite3.Connection:
        """One of this thread's that nobody reads with: a long read lets others read meanwhile."""
        idle = self._idle[threading.get_ident()]
        if not idle:
            idle.append(connect(self.path))
            idle[-1].execute("PRAGMA query_only=ON")
        return idle[-1]

    def _ring(self) -> None:
        if not self._bell.done():
            self._bell.set_result(None)

    async def _write_on(self) -> None:
        """The writer: take all that waits, commit it together, tell everyone, until the store is closed."""
        while self._waiting or not self._closed:
            await self._bell
            await self._gathered()
            batch, self._waiting = self._waiting[:LARGEST_BATCH], self._waiting[LARGEST_BATCH:]
            if not self._waiting and not self._closed:
                self._bell = self._loop.create_future()
            if batch:
                began = time.perf_counter()
                if await self._commit_together(batch) and self._committed is not None:
                    self._committed(len(batch), time.perf_counter() - began)
                self._tell(batch)
                await self.folding.after(self._writing.total_changes)

    async def _gathered(self) -> None:
        """Where several wait at once, others are on their way: let them in while the loop comes round with more."""
        known = 1
        for _ in range(ROUNDS):
            if len(self._waiting) <= known:
                return
            known = len(self._waiting)
            await asyncio.sleep(0)

    async def _commit_together(self, batch: list[Job]) -> bool:
        """Hope that all goes well, which needs no savepoints; where one spoils the batch, begin again with them."""
        try:
            try:
                await self._transact(batch, self._step)
            except Spoiled:
                self._undo()
                await self._transact(batch, self._careful_step)
        except BaseException as error:
            self._undo()
            failure = _typed(error)
            for job in batch:
                job.error = job.error or failure
            if isinstance(error, asyncio.CancelledError):  # the loop ends before the store was closed
                self._tell(batch)
                raise
            return False
        return True

    async def _transact(self, batch: list[Job], step: Callable[[Job], Awaitable[None]]) -> None:
        if len(self._heads) > MOST_HEADS:
            self._heads.clear()
        reach("sqlite.begin")
        await self._begin()
        self._now = self._world.now()
        self._executor.trails = self._trails.for_writing()
        for job in batch:
            await step(job)
            reach("sqlite.step")
        reach("sqlite.before-commit")
        await self._flushed("COMMIT")
        reach("sqlite.after-commit")
        self._trails.settle()

    async def _flushed(self, statement: str) -> None:
        """Carry out what waits for the disk: here, where that is quicker than to hand it over."""
        if self._flush < QUICK:
            self._timed(statement)
        else:
            await self._loop.run_in_executor(self._thread, self._timed, statement)

    def _timed(self, statement: str) -> None:
        began = time.perf_counter()
        self._writing.execute(statement)
        took = time.perf_counter() - began
        self._flush = took if took > QUICK else (self._flush + took) / 2

    async def _begin(self) -> None:
        """Take the write lock: at once, as is usual, or in a thread while another process holds it."""
        try:
            self._writing.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            await self._loop.run_in_executor(self._thread, self._begin_patiently)

    def _begin_patiently(self) -> None:
        self._writing.execute(f"PRAGMA busy_timeout={PATIENCE_MS}")
        try:
            self._writing.execute("BEGIN IMMEDIATE")
        finally:
            self._writing.execute("PRAGMA busy_timeout=0")

    def _undo(self) -> None:
        """Undo the transaction, and forget the heads it had moved."""
        self._heads.clear()
        self._trails.forget()
        with suppress(sqlite3.Error):
            if self._writing.in_transaction:
                self._writing.execute("ROLLBACK")

    async def _step(self, job: Job) -> None:
        """One transaction of the batch. One that fails before it wrote anything leaves nothing to undo."""
        executor = self._executor
        executor.wrote, executor.done = False, 0
        work = SqlWork(executor, job.owner.org_id, self._now)
        try:
            job.result, job.error = await run_through(job.program, executor, work), None
            job.grown = work.grown
        except Exception as error:
            if not self._writing.in_transaction:
                raise  # SQLite has undone the whole batch, as it does when the disk is full
            if executor.wrote:
                raise Spoiled from error
            job.error = _typed(error)

    async def _careful_step(self, job: Job) -> None:
        """The same, undone alone if it fails alone. Savepoints cost half as much again."""
        self._writing.execute("SAVEPOINT job")
        try:
            await self._step(job)
        except Spoiled as spoiled:
            self._heads.clear()
            self._trails.forget()
            self._writing.execute("ROLLBACK TO job")
            job.error = _typed(spoiled.__cause__ or spoiled)
        self._writing.execute("RELEASE job")

    def _tell(self, batch: list[Job]) -> None:
        for job in batch:
            job.deliver()
            if job.grown:
                self.tails.wake(job.grown)
        reach("sqlite.acknowledged")


class Spoiled(Exception):
    """A transaction failed after it had written: the batch must be undone."""


def _typed(error: BaseException) -> BaseException:
    return of_sqlite(error) if isinstance(error, sqlite3.Error | OSError) else error
