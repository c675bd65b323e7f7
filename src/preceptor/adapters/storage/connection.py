"""What a repository may ask of the transaction it lives in."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from preceptor.adapters.storage.statements import Row, Statement
from preceptor.adapters.storage.trails import Ends
from preceptor.domain.ids import OrgId, StreamId
from preceptor.domain.log import Event, Head

Heads = dict[tuple[OrgId, StreamId], tuple[int, bytes, int, int]]
"""By place: seq, hash, epoch and whether it is marked as grown."""


Grown = tuple[tuple[OrgId, StreamId], list[Event]]


class Executor(Protocol):
    """Carries out statements on one connection, inside one transaction."""

    @property
    def heads(self) -> Heads:
        """Heads of streams that this transaction may rely on: seen by it, or by the only writer there is."""
        ...

    @property
    def trails(self) -> Ends:
        """Where audit trails end, as this transaction sees them: those that are known without a look."""
        ...

    async def all(self, statement: Statement, values: Row) -> list[Row]: ...

    async def run(self, statement: Statement, values: Row) -> int:
        """Return how many rows were changed."""
        ...

    async def put(self, statement: Statement, values: Row) -> None:
        """The same, where nobody asks how many: it need not be carried out before the next look."""
        ...

    async def many(self, statement: Statement, rows: Sequence[Row]) -> None: ...


class Transaction:
    """One transaction, scoped to an organisation: `:org` is bound here and nowhere else."""

    __slots__ = ("executor", "grown", "now", "org")

    def __init__(self, executor: Executor, org: OrgId, now: datetime) -> None:
        self.executor = executor
        self.org = org
        self.now = now
        self.grown: list[Grown] = []
        """What this transaction appended, by stream; their readers are woken once it is committed."""

    @property
    def trail(self) -> Head | None:
        """Where the organisation's audit trail ends, if that is known without a look."""
        return self.executor.trails.get(self.org)

    async def all(self, statement: Statement, **values: Any) -> list[Row]:
        values["org"] = self.org
        return await self.executor.all(statement, statement.in_place(values))

    async def one(self, statement: Statement, **values: Any) -> Row | None:
        values["org"] = self.org
        rows = await self.executor.all(statement, statement.in_place(values))
        return rows[0] if rows else None

    async def run(self, statement: Statement, **values: Any) -> int:
        """Return how many rows were changed."""
        values["org"] = self.org
        return await self.executor.run(statement, statement.in_place(values))

    async def put(self, statement: Statement, **values: Any) -> None:
        """Change something, however many rows that is."""
        values["org"] = self.org
        await self.executor.put(statement, statement.in_place(values))
