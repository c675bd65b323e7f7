"""PostgreSQL: a pool of connections, one transaction each, fenced by row-level security."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Any, Final, TypeVar

import psycopg
from psycopg import AsyncConnection, errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import quote
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from preceptor.adapters.storage.adding import Addition, Additions
from preceptor.adapters.storage.faults import reach
from preceptor.adapters.storage.log import sealed_after
from preceptor.adapters.storage.postgres_executor import PostgresExecutor
from preceptor.adapters.storage.silence import WatchedPool, longest_silence, watching
from preceptor.adapters.storage.statements import Row
from preceptor.adapters.storage.tails import Tail, Tails
from preceptor.adapters.storage.work import SqlWork
from preceptor.domain.errors import CannotStart, Conflict, DiskFull, ShuttingDown, Unavailable
from preceptor.domain.ids import OrgId, StreamId
from preceptor.domain.log import Event, Head, NewEvent
from preceptor.domain.ownership import Owner
from preceptor.engine.repositories.work import Program, Work

Result = TypeVar("Result")

POOL = 16
PATIENCE = 5.0
"""Seconds to wait for a connection, or behind others who change the same things, before we say that it cannot be."""
BESIDE = 2
"""Attempts beside others before lining up: who lost because all wrote the same text at once does not lose again."""
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
FENCE = "SELECT clock_timestamp(), set_config('role', {role}, true), set_config('preceptor.org', {org}, true)"
"""Puts up the fence and reads the clock. The role `none` means: stay who you are."""
ADDING: Final = f"{FENCE}, set_config('lock_timeout', '250', true)"
"""Milliseconds: one stream that someone holds does not keep those waiting who are added to with it."""
READING: Final = f"BEGIN READ ONLY; {FENCE}"
WRITING: Final = f"BEGIN; {FENCE}"
BLIND: Final = f"BEGIN ISOLATION LEVEL READ COMMITTED; {FENCE}"
"""For changes that do not depend on what was read: they wait for each other instead of racing."""
RACES = (errors.SerializationFailure, errors.DeadlockDetected, errors.UniqueViolation)

NO_FENCE = (
    f"The user in PRECEPTOR_DATABASE_URL is above row-level security and may not act as {TENANT_ROLE}. "
    f"Connect as a plain owner of the database, or let a superuser GRANT {TENANT_ROLE} to this one."
)
BYPASSES = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"


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
        self._additions = Additions(self._added)
        self._heard = datetime.now(UTC), time.monotonic()
        """What PostgreSQL's clock said last, and when that was."""
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
        self._tell(began)
        return result

    async def append(self, owner: Owner, stream: StreamId, new: Sequence[NewEvent], head: Head) -> list[Event]:
        """In one round trip for all who add at the same time, where the stream ends in `head`.

        Where it may not, or nobody knows, in the usual way.
        """
        at, heard = self._heard
        now = at + timedelta(seconds=time.monotonic() - heard)
        wanted = sealed_after(head, owner.org_id, stream, new, now)

        async def program(work: Work) -> list[Event]:
            there = await work.log.hold(stream)
            if there is not None and there.hash == wanted[-1].hash:
                return wanted  # it was written, only no one could say so
            return await work.log.append(stream, new, epoch=head.epoch)

        added = wanted if await self._additions.add(head, wanted) else await self.write(owner, program)
        if added is wanted:
            self.tails.wake([((owner.org_id, stream), wanted)])
        return added

    async def news(self, org: OrgId, stream: StreamId, after: int, patience: float) -> None:
        await self.tails.wait(self.read, (org, stream), after, patience)

    def tail(self, org: OrgId, stream: StreamId) -> AbstractContextManager[Tail]:
        return self.tails.tail(self.read, (org, stream))

    @property
    def closed(self) -> bool:
        return self._pool.closed

    async def close(self) -> None:
        await self._pool.close(timeout=2)

    def _tell(self, began: float, transactions: int = 1) -> None:
        if self._committed is not None:
            self._committed(transactions, time.perf_counter() - began)

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

    async def _transact(self, owner: Owner, program: Program[Result], opening: str) -> Result:
        for _ in range(POOL):
            with suppress(Stale):
                return await self._attempt(owner, program, opening)
        return await self._attempt(owner, program, opening)

    async def _attempt(self, owner: Owner, program: Program[Result], opening: str) -> Result:
        work: SqlWork | None = None
        executor: PostgresExecutor | None = None
        try:
            async with self._connected() as executor:
                opened = await executor.send(_opening(opening, self._role, owner.org_id))
                opened.nextset()
                work = SqlWork(executor, owner.org_id, (await opened.fetchall())[0][0])
                self._heard = work.now, time.monotonic()
                result = await program(work)
                reach("postgres.before-commit")
                await executor.send("COMMIT")
                reach("postgres.after-commit")
        except (PoolTimeout, PoolClosed):
            raise
        except psycopg.OperationalError as error:
            if work is None and not (executor and executor.watch.cut):
                raise Stale from error
            raise
        self.tails.wake(work.grown)
        return result

    async def _added(self, additions: Sequence[Addition]) -> Sequence[bool]:
        """False for a stream that does not end where it was thought to; for all if nobody can say what happened."""
        began = time.perf_counter()
        try:
            async with self._connected() as executor:
                added = await executor.append(partial(_opening, ADDING, self._role), additions)
        except (psycopg.Error, OSError):
            return [False] * len(additions)
        self._tell(began, sum(added))
        return added

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[PostgresExecutor]:
        """A connection for one transaction, which is undone if it fails."""
        async with self._pool.connection() as connection:
            reach("postgres.begin")
            with watching(connection, self._silence) as watch:
                try:
                    yield PostgresExecutor(connection, watch)
                except BaseException:
                    with suppress(psycopg.Error):
                        await connection.rollback()
                    raise


@lru_cache(maxsize=1024)
def _opening(opening: str, role: str, org: OrgId) -> str:
    return opening.format(role=quote(role), org=quote(org))


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
    async with asyncio.timeout(PATIENCE):
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
