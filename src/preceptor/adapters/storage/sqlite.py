"""SQLite: one writer thread that commits many transactions with one fsync; readers beside it."""

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from preceptor.adapters.storage.failures import of_sqlite
from preceptor.adapters.storage.faults import reach
from preceptor.adapters.storage.statements import Row, Statement
from preceptor.adapters.storage.tails import Place, Tails
from preceptor.adapters.storage.work import SqlWork
from preceptor.domain.errors import PreceptorError, ShuttingDown
from preceptor.domain.ids import OrgId, StreamId
from preceptor.domain.ownership import Owner
from preceptor.engine.ports import Program, World

Result = TypeVar("Result")

LARGEST_BATCH = 256
PATIENCE_MS = 5000
"""How long a commit waits for another process that holds the file's lock."""


def connect(path: Path, *, patience_ms: int = PATIENCE_MS) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=512)
    connection.execute(f"PRAGMA busy_timeout={patience_ms}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


@dataclass(slots=True)
class SqliteExecutor:
    """Never waits: a coroutine that awaits only this runs from start to end without an event loop."""

    connection: sqlite3.Connection
    wrote: bool = False

    async def all(self, statement: Statement, values: Row) -> list[Row]:
        return self.connection.execute(statement.sqlite, values).fetchall()

    async def run(self, statement: Statement, values: Row) -> int:
        self.wrote = True
        return self.connection.execute(statement.sqlite, values).rowcount

    async def many(self, statement: Statement, rows: Sequence[Row]) -> None:
        self.wrote = True
        for row in rows:
            self.connection.execute(statement.sqlite, row)


@dataclass(slots=True)
class Job:
    """One transaction waiting for the writer, and who waits for it."""

    owner: Owner
    program: Program[Any]
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None
    grown: Sequence[Place] = ()

    def deliver(self) -> None:
        if self.answer.done():
            return
        if self.error is None:
            self.answer.set_result(self.result)
        else:
            self.answer.set_exception(self.error)


class SqliteStore:
    def __init__(self, path: Path, world: World, *, committed: Callable[[int, float], None] | None = None) -> None:
        self.path = path
        self.tails = Tails(look_again=None)
        self._world = world
        self._committed = committed
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._closed = False
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._writing = connect(path)
        self._writer = threading.Thread(target=self._write_on, name="preceptor-writer", daemon=True)
        self._writer.start()

    async def read(self, owner: Owner, program: Program[Result]) -> Result:
        """Run `program` on one snapshot, in the calling thread: a look-up by key is quicker than a hand-over."""
        if self._closed:
            raise ShuttingDown("Preceptor is stopping.")
        try:
            connection = self._reader()
            connection.execute("BEGIN")
            try:
                work = SqlWork(SqliteExecutor(connection), owner.org_id, self._world.now())
                return run_through(program, work)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        except (sqlite3.Error, OSError) as error:
            raise of_sqlite(error) from error

    async def write(self, owner: Owner, program: Program[Result]) -> Result:
        """Queue `program` for the writer; the answer comes once its commit is on the disk."""
        if self._closed:
            raise ShuttingDown("Preceptor is stopping.")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Result] = loop.create_future()
        self._jobs.put(Job(owner, program, loop, answer))
        return await answer

    async def news(self, org: OrgId, stream: StreamId, after: int, patience: float) -> None:
        owner = Owner.model_construct(org_id=org, user_id="")

        async def grown() -> bool:
            head = await self.read(owner, lambda work: work.log.head(stream))
            return head is not None and head.seq > after

        await self.tails.wait((org, stream), grown, patience)

    async def close(self) -> None:
        """Finish what is queued, then let go of the file."""
        self._closed = True
        self._jobs.put(None)
        await asyncio.to_thread(self._writer.join)
        for connection in (*self._readers, self._writing):
            connection.close()

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = connect(self.path)
            connection.execute("PRAGMA query_only=ON")
            self._readers.append(connection)
        return connection

    def _write_on(self) -> None:
        """The writer thread: take all that waits, commit it together, tell everyone."""
        while batch := self._next_batch():
            began = time.perf_counter()
            if self._commit_together(batch) and self._committed is not None:
                self._committed(len(batch), time.perf_counter() - began)
            self._tell(batch)
            reach("sqlite.acknowledged")

    def _next_batch(self) -> list[Job]:
        first = self._jobs.get()
        batch = [] if first is None else [first]
        with suppress(queue.Empty):
            while batch and len(batch) < LARGEST_BATCH:
                job = self._jobs.get_nowait()
                if job is None:
                    self._jobs.put(None)
                    break
                batch.append(job)
        return batch

    def _commit_together(self, batch: list[Job]) -> bool:
        """Hope that all goes well, which needs no savepoints; where one spoils the batch, begin again with them."""
        try:
            try:
                self._transact(batch, self._step)
            except Spoiled:
                self._undo()
                self._transact(batch, self._careful_step)
        except BaseException as error:  # noqa: BLE001 - whatever it was, those who wait must hear of it
            self._undo()
            failure = _typed(error)
            for job in batch:
                job.error = job.error or failure
            return False
        return True

    def _transact(self, batch: list[Job], step: Callable[[Job], None]) -> None:
        reach("sqlite.begin")
        self._writing.execute("BEGIN IMMEDIATE")
        for job in batch:
            step(job)
            reach("sqlite.step")
        reach("sqlite.before-commit")
        self._writing.execute("COMMIT")
        reach("sqlite.after-commit")

    def _undo(self) -> None:
        with suppress(sqlite3.Error):
            if self._writing.in_transaction:
                self._writing.execute("ROLLBACK")

    def _step(self, job: Job) -> None:
        """One transaction of the batch. One that fails before it wrote anything leaves nothing to undo."""
        executor = SqliteExecutor(self._writing)
        work = SqlWork(executor, job.owner.org_id, self._world.now())
        try:
            job.result, job.error = run_through(job.program, work), None
            job.grown = work.grown
        except Exception as error:
            if not self._writing.in_transaction:
                raise  # SQLite has undone the whole batch, as it does when the disk is full
            if executor.wrote:
                raise Spoiled from error
            job.error = _typed(error)

    def _careful_step(self, job: Job) -> None:
        """The same, undone alone if it fails alone. Savepoints cost half as much again."""
        self._writing.execute("SAVEPOINT job")
        try:
            self._step(job)
        except Spoiled as spoiled:
            self._writing.execute("ROLLBACK TO job")
            job.error = _typed(spoiled.__cause__ or spoiled)
        self._writing.execute("RELEASE job")

    def _tell(self, batch: list[Job]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[Job]] = {}
        for job in batch:
            by_loop.setdefault(job.loop, []).append(job)
        for loop, jobs in by_loop.items():
            with suppress(RuntimeError):  # the loop was closed: no one waits there any more
                loop.call_soon_threadsafe(self._deliver, jobs)

    def _deliver(self, jobs: list[Job]) -> None:
        for job in jobs:
            job.deliver()
            if job.grown:
                self.tails.wake(job.grown)


class Spoiled(Exception):  # noqa: N818 - a fact about a batch, never seen outside this file
    """A transaction failed after it had written: the batch must be undone."""


def _typed(error: BaseException) -> BaseException:
    return of_sqlite(error) if isinstance(error, sqlite3.Error | OSError) else error


def run_through(program: Program[Result], work: SqlWork) -> Result:
    """Drive a coroutine that only awaits its unit of work, which on SQLite never waits."""
    coroutine = cast("Coroutine[Any, Any, Result]", program(work))
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise AwaitedOutside


class AwaitedOutside(PreceptorError):
    """A mistake in our own code: a transaction awaited something other than its unit of work."""

    def __str__(self) -> str:
        return "A transaction may await nothing but its unit of work."
