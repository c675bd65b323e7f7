"""PostgreSQL: a pool of connections, one transaction each, fenced by row-level security."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString, TypeVar, cast

import psycopg
from psycopg import AsyncConnection, errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from preceptor.adapters.storage.connection import Heads
from preceptor.adapters.storage.faults import reach
from preceptor.adapters.storage.silence import Watch, WatchedPool, longest_silence, watching
from preceptor.adapters.storage.statements import Row, Statement
from preceptor.adapters.storage.tails import Tail, Tails
from preceptor.adapters.storage.work import SqlWork
from preceptor.domain.errors import CannotStart, Conflict, DiskFull, ShuttingDown, Unavailable
from preceptor.domain.ids import OrgId, StreamId
from preceptor.domain.ownership import Owner
from preceptor.engine.ports import Program

Result = TypeVar("Result")

POOL = 16
ROWS = 50
"""Most in one statement."""
PATIENCE = 5.0
"""Seconds to wait for a connection, and for a statement, before we say that the database is not there."""
BESIDE = 2
"""Attempts beside others before lining up: who lost because all wrote the same text at once does not lose again."""
QUEUE = 2.0
"""Seconds to wait behind others who change the same things."""
RECONNECT = 0.5
"""Seconds between two attempts to reach a database that went away, while someone waits for it."""
TRIES = 20
LOOK_AGAIN = 0.5
LONGEST = "-c statement_timeout=30000"
"""How long a statement may take, if the address says nothing else."""
SESSION = "-c idle_in_transaction_session_timeout=10000 -c default_transaction_isolation=repeatable\\ read"
"""A transaction that changes what another changed since it began fails and is run again: no edit is lost unseen.

One whose process stands still is ended, so that what it holds does not keep others from taking over.
"""


TENANT_ROLE = "preceptor_tenant"
OPEN = "SELECT clock_timestamp(), set_config('role', %(role)s, true), set_config('preceptor.org', %(org)s, true)"
"""One round trip that puts up the fence and reads the clock. The role `none` means: stay who you are."""
OPEN_TO_READ: Final = OPEN + ", set_config('transaction_read_only', 'on', true)"
READING: Final = (OPEN_TO_READ,)
WRITING: Final = (OPEN,)
BLIND: Final = ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", OPEN)
"""For changes that do not depend on what was read: they wait for each other instead of racing."""
RACES = (errors.SerializationFailure, errors.DeadlockDetected, errors.UniqueViolation)

NO_FENCE = (
    f"The user in PRECEPTOR_DATABASE_URL is above row-level security and may not act as {TENANT_ROLE}. "
    f"Connect as a plain owner of the database, or let a superuser GRANT {TENANT_ROLE} to this one."
)
BYPASSES = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"


@dataclass(slots=True)
class PostgresExecutor:
    connection: AsyncConnection[Row]
    watch: Watch
    heads: Heads = field(default_factory=Heads)
    trails: None = None

    async def all(self, statement: Statement, values: Row) -> list[Row]:
        self.watch.asked()
        cursor = await self.connection.execute(cast("LiteralString", statement.postgres), values)
        return await cursor.fetchall()

    async def run(self, statement: Statement, values: Row) -> int:
        self.watch.asked()
        cursor = await self.connection.execute(cast("LiteralString", statement.postgres), values)
        return cursor.rowcount

    async def many(self, statement: Statement, rows: Sequence[Row]) -> None:
        """As one statement: a process that stands still within a pipeline would hold its locks without end."""
        for at in range(0, len(rows), ROWS):
            some = rows[at : at + ROWS]
            values = [value for row in some for value in row]
            self.watch.asked()
            await self.connection.execute(cast("LiteralString", statement.of_rows(len(some))), values)


class PostgresStore:
    alone = False
    """Whether no other process writes to the same database."""

    def __init__(
        self,
        pool: "AsyncConnectionPool[AsyncConnection[Row]]",
        role: str,
        *,
        silence: float,
        committed: Callable[[int, float], None] | None = None,
    ) -> None:
        self.tails = Tails(look_again=LOOK_AGAIN)
        self._pool = pool
        self._role = role
        self._silence = silence
        self._committed = committed
        self._queues: defaultdict[OrgId, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Where an organisation's transactions that lost a race line up, so that each loses only once."""

    @classmethod
    async def open(
        cls, url: str, *, size: int = POOL, committed: Callable[[int, float], None] | None = None
    ) -> "PostgresStore":
        pool = WatchedPool(
            url,
            min_size=1,
            max_size=size,
            timeout=PATIENCE,
            kwargs=_how_to_connect(url),
            open=False,
            reconnect_timeout=RECONNECT,
            reconnect_failed=_try_on,
        )
        with of_start(url):
            try:
                await pool.open(wait=True, timeout=PATIENCE)
                async with pool.connection() as connection:
                    role, silence = await _role(connection), await longest_silence(connection)
            except BaseException:
                await pool.close()
                raise
        return cls(pool, role, silence=silence, committed=committed)

    async def read(self, owner: Owner, program: Program[Result]) -> Result:
        """Run `program` on one snapshot."""
        with of_serving():
            return await self._transact(owner, program, READING)

    async def write(self, owner: Owner, program: Program[Result], *, blind: bool = False) -> Result:
        began = time.perf_counter()
        with of_serving():
            result = await (self._transact(owner, program, BLIND) if blind else self._settle(owner, program))
        if self._committed is not None:
            self._committed(1, time.perf_counter() - began)
        return result

    async def news(self, org: OrgId, stream: StreamId, after: int, patience: float) -> None:
        await self.tails.wait(self.read, (org, stream), after, patience)

    def tail(self, org: OrgId, stream: StreamId) -> AbstractContextManager[Tail]:
        return self.tails.tail(self.read, (org, stream))

    @property
    def closed(self) -> bool:
        return self._pool.closed

    async def close(self) -> None:
        await self._pool.close(timeout=2)

    async def _settle(self, owner: Owner, program: Program[Result]) -> Result:
        """Run again what lost a race, this time in a queue."""
        queue = self._queues[owner.org_id]
        for _ in range(BESIDE):
            if not queue.locked():
                with suppress(*RACES):
                    return await self._transact(owner, program, WRITING)
        async with _in_turn(queue):
            for _ in range(TRIES):
                with suppress(*RACES):
                    return await self._transact(owner, program, WRITING)
            return await self._transact(owner, program, WRITING)

    async def _transact(self, owner: Owner, program: Program[Result], opening: tuple[LiteralString, ...]) -> Result:
        for _ in range(POOL):
            with suppress(Stale):
                return await self._attempt(owner, program, opening)
        return await self._attempt(owner, program, opening)

    async def _attempt(self, owner: Owner, program: Program[Result], opening: tuple[LiteralString, ...]) -> Result:
        work: SqlWork | None = None
        watch: Watch | None = None
        try:
            async with self._pool.connection() as connection:
                reach("postgres.begin")
                with watching(connection, self._silence) as watch:
                    async with connection.transaction():
                        work = await self._opened(connection, watch, owner, opening)
                        result = await program(work)
                        watch.asked()
                        reach("postgres.before-commit")
                    reach("postgres.after-commit")
        except (PoolTimeout, PoolClosed):
            raise
        except psycopg.OperationalError as error:
            if work is None and not (watch and watch.cut):
                raise Stale from error
            raise
        self.tails.wake(work.grown)
        return result

    async def _opened(
        self, connection: AsyncConnection[Row], watch: Watch, owner: Owner, opening: tuple[LiteralString, ...]
    ) -> SqlWork:
        *before, last = opening
        for statement in before:
            await connection.execute(statement)
        opened = await connection.execute(last, {"role": self._role, "org": owner.org_id})
        [row] = await opened.fetchall()
        return SqlWork(PostgresExecutor(connection, watch), owner.org_id, row[0])


def _how_to_connect(url: str) -> dict[str, Any]:
    """What the address says of a session stays, and ours is added."""
    theirs = conninfo_to_dict(url).get("options") or ""
    return {"autocommit": True, "connect_timeout": int(PATIENCE), "options": f"{LONGEST} {theirs} {SESSION}"}


async def _role(connection: AsyncConnection[Row]) -> str:
    """Whom our transactions act as, so that none is above row-level security; `none` for who we are."""
    [(bypasses,)] = await (await connection.execute(BYPASSES)).fetchall()
    if not bypasses:
        return "none"
    try:
        await connection.execute("SELECT set_config('role', %s, true)", [TENANT_ROLE])
    except psycopg.Error as error:
        raise CannotStart(NO_FENCE) from error
    return TENANT_ROLE


class Stale(psycopg.OperationalError):
    """A connection that was lost since it was last used; nothing had been asked of it yet."""


@asynccontextmanager
async def _in_turn(queue: asyncio.Lock) -> AsyncGenerator[None]:
    async with asyncio.timeout(QUEUE):
        await queue.acquire()
    try:
        yield
    finally:
        queue.release()


async def _try_on(pool: "AsyncConnectionPool[AsyncConnection[Row]]") -> None:
    if pool.get_stats().get("requests_waiting"):
        await pool.check()


@contextmanager
def of_serving() -> Generator[None]:
    """The typed failure for an error of PostgreSQL while serving."""
    try:
        yield
    except errors.DiskFull as error:
        raise DiskFull from error
    except errors.UniqueViolation as error:
        raise Conflict from error
    except PoolClosed as error:
        raise ShuttingDown("Preceptor is stopping.") from error
    except (errors.SerializationFailure, errors.DeadlockDetected, TimeoutError) as error:
        raise Unavailable("Too many are changing the same things at once.") from error
    except (psycopg.OperationalError, psycopg.InterfaceError, OSError) as error:
        raise Unavailable(f"PostgreSQL does not answer right now ({type(error).__name__}).") from error


@contextmanager
def of_start(url: str) -> Generator[None]:
    """While starting: a database that does not answer is something the operator can mend."""
    try:
        yield
    except (psycopg.Error, PoolTimeout, OSError) as error:
        raise CannotStart(unreachable(url, error)) from error


def unreachable(url: str, error: Exception) -> str:
    """Why PostgreSQL cannot be used, without the password that is part of its address."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        return (
            "PRECEPTOR_DATABASE_URL is not a PostgreSQL address. Write it as postgresql://user:password@host/database."
        )
    where = f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"
    said = [line.strip() for line in str(error).splitlines() if line.strip() and "Is the server running" not in line]
    why = said[-1].rstrip(".") if said else type(error).__name__
    secret = str(parts.get("password") or "")
    return (
        f"PostgreSQL at {where} cannot be used: {why.replace(secret, '***') if secret else why}. "
        "Start it, or correct PRECEPTOR_DATABASE_URL."
    )
