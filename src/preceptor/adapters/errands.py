"""Errands in queues of DBOS: what should run where. What runs, and how far it is, is in the log and nowhere else."""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import sqlalchemy as sa
from dbos import DBOS, DBOSClient, EnqueueOptions, Serializer, WorkflowStatus
from sqlalchemy import event

from preceptor.domain.errors import CannotStart
from preceptor.domain.ids import OrgId, UserId
from preceptor.engine.means.errands import Errand

APPLICATION = "preceptor"
VERSION = "1"
"""Of what is in the queues, not of Preceptor: old and new processes share them while they are replaced."""
CARRY = "carry"
QUEUES = ("turn", "execution", "replay")
"""One for each kind: an execution waits for turns and replays, and those for nothing, so none waits for ever."""
FORGOTTEN_AFTER = timedelta(hours=1)
AT_ONCE = 1000
NEGLECTED_AFTER = 5.0
"""Seconds without a look into a queue that should be looked into ten times a second."""
NO_RIGHT = "42501"
"""What PostgreSQL calls it when a user may not do something."""
DONE = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
_log = logging.getLogger(__name__)

Holds = Callable[[str, Errand], Awaitable[bool]]


class Json(Serializer):
    """Whoever can write to a queue must not be able to have anything run, as they could with pickles."""

    def serialize(self, data: Any) -> str:
        return json.dumps(data, default=str)

    def deserialize(self, serialized_data: str) -> Any:
        return json.loads(serialized_data)

    def name(self) -> str:
        return "json"


class Queues(msgspec.Struct):
    client: DBOSClient
    engine: sa.Engine
    pool: ThreadPoolExecutor = msgspec.field(default_factory=lambda: ThreadPoolExecutor(4, "errands"))
    looked: dict[str, float] = {}
    """When this process last looked into each queue out of which it takes errands."""

    @classmethod
    async def open(cls, url: str) -> "Queues":
        """Open the queues, making them first where there are none."""
        return await asyncio.to_thread(cls._open, url)

    @classmethod
    def _open(cls, url: str) -> "Queues":
        quieten()
        engine = _engine(url)
        try:
            DBOS.migrate(url)
            client = DBOSClient(
                system_database_engine=engine,
                serializer=Json(),
                application_name=APPLICATION,
                retry_connection_errors=False,
            )
        except Exception as error:
            engine.dispose()
            raise CannotStart(_why_not(error)) from error
        return cls(client, engine)

    async def close(self) -> None:
        """Let go of the database: of what a thread of DBOS still uses, as soon as it is done with it."""
        await self.apart(self.client.destroy)
        self.pool.shutdown()
        event.listen(self.engine.pool, "checkin", _give_up)
        self.engine.dispose()

    async def send(self, errand: Errand, *, again: bool = False) -> None:
        try:
            await self.apart(self._send, errand, again=again)
        except Exception as error:  # noqa: BLE001 - it is in the log, where the watch finds it
            _log.warning("an errand must wait", extra={"errand": errand.name, "reason": str(error)})

    def _send(self, errand: Errand, *, again: bool) -> None:
        if again and not self._given_up(errand.name):
            return
        options: EnqueueOptions = {
            "workflow_name": CARRY,
            "workflow_id": errand.name,
            "queue_name": errand.kind,
            "queue_partition_key": errand.org_id,
            "app_version": VERSION,
        }
        self.client.enqueue(options, str(errand.kind), errand.id, errand.org_id, errand.user_id, errand.epoch)

    def _given_up(self, name: str) -> bool:
        """Whether it does not wait in its queue any more. What became of it then is of no use: no one holds it."""
        found = self.client.list_workflows(workflow_ids=[name], load_input=False, load_output=False)
        if any(one.status == "ENQUEUED" for one in found):
            return False
        if found:
            self.client.delete_workflows([one.workflow_id for one in found])
        return True

    def neglected(self) -> tuple[str, ...] | None:
        since = time.monotonic() - NEGLECTED_AFTER
        return tuple(name for name, at in self.looked.items() if at < since) if self.looked else None

    async def tidy(self, holds: Holds, lease: timedelta) -> None:
        """Give back the places of workers who are gone, and forget what was done long ago."""
        now = datetime.now(UTC)
        begun = await self.apart(self._listed, status="PENDING", dequeued_before=(now - 2 * lease).isoformat())
        lost = [one.workflow_id for one in begun if not await _held(one, holds)]
        before = (now - FORGOTTEN_AFTER).isoformat()
        old = [one.workflow_id for one in await self.apart(self._listed, status=DONE, completed_before=before)]
        if lost or old:
            await self.apart(self.client.delete_workflows, lost + old)

    def _listed(self, **wanted: Any) -> list[WorkflowStatus]:
        return self.client.list_workflows(limit=AT_ONCE, load_output=False, **wanted)

    async def apart(self, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Away from the event loop; not in its own threads, which DBOS replaces and takes away with it."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, lambda: call(*given, **named))


def _why_not(error: Exception) -> str:
    """In the database's own words, without the statement and the link that SQLAlchemy puts to them."""
    cause = getattr(error, "orig", None) or error
    said = " ".join(str(cause).split()).rstrip(".") or type(cause).__name__
    if getattr(cause, "sqlstate", None) == NO_RIGHT:
        return (
            "The queues of PRECEPTOR_RUNNER=dbos are in a schema of their own, dbos, and the user of "
            f"PRECEPTOR_DATABASE_URL may not make or use it ({said}). Let a superuser GRANT CREATE ON DATABASE to this "
            "user, and have this user own the schema dbos if it is there already."
        )
    return f"The queues of PRECEPTOR_RUNNER=dbos cannot be opened: {said}. Mend that, or leave PRECEPTOR_RUNNER out."


async def _held(one: WorkflowStatus, holds: Holds) -> bool:
    if one.name != CARRY or one.input is None or one.executor_id is None:
        return False
    return await holds(one.executor_id, read_errand(*one.input["args"]))


def read_errand(kind: str, name: str, org: str, user: str, epoch: int) -> Errand:
    return Errand(kind, name, OrgId(org), UserId(user), epoch)


def _engine(url: str) -> sa.Engine:
    if not url.startswith("sqlite"):
        address = sa.make_url(url).set(drivername="postgresql+psycopg")
        return sa.create_engine(address, pool_size=8, max_overflow=4, pool_pre_ping=True)
    engine = sa.create_engine(url)
    event.listen(engine, "connect", _durable_and_quick)
    return engine


def _durable_and_quick(connection: Any, _: Any) -> None:
    connection.isolation_level = "IMMEDIATE"
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA busy_timeout=30000")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=FULL")


def _give_up(_: Any, record: sa.pool.ConnectionPoolEntry) -> None:
    """The pool that it comes back to is gone, and would forget it open."""
    record.invalidate()


def quieten() -> None:
    """What DBOS says of itself goes where our own lines go, if it matters."""
    dbos = logging.getLogger("dbos")
    dbos.handlers[:] = [logging.NullHandler()]
    dbos.propagate = True
    dbos.setLevel(logging.WARNING)
    dbos.addFilter(_matters)


def _matters(record: logging.LogRecord) -> bool:
    """Whoever finds an errand given up sends it again, also while DBOS still writes down that it was given up."""
    return "is no longer owned by this execution" not in record.getMessage()
