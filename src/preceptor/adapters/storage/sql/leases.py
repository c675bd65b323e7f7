"""Leases: rows that a worker holds for as long as it says that it is at work, in whichever table they are."""

from typing import Any

from sqlalchemy import ColumnElement, Integer, Table, Text, bindparam, literal_column, select, update

from preceptor.adapters.storage.sql.building import changed_to, compiled, limited, mine
from preceptor.adapters.storage.statements import Statement

NOBODY, LONG_AGO = literal_column("''", Text), literal_column("0", Integer)


class Leased:
    """`unfinished` are those that someone is to work on.

    Leases are the installation's: a worker extends, releases and takes over what any organisation wants done.
    """

    def __init__(self, table: Table, unfinished: ColumnElement[bool]) -> None:
        self.table, self.unfinished = table, unfinished
        self.this = (mine(table), table.c.id == bindparam("named"), unfinished)
        self.held = (table.c.worker == bindparam("by"), unfinished)

    def take(self, **more: Any) -> Statement:
        return compiled(update(self.table).where(*self.this).values(**changed_to("worker", "lease"), **more))

    def cancel(self) -> Statement:
        return compiled(update(self.table).where(*self.this).values(cancel=bindparam("by")))

    def extend(self) -> Statement:
        return compiled(update(self.table).where(*self.held).values(lease=bindparam("until")))

    def wait(self) -> Statement:
        """Whoever held it is gone, and no one has taken it up since."""
        rows = self.table.c
        since = (rows.worker == bindparam("of_worker"), rows.lease == bindparam("of_lease"))
        return compiled(update(self.table).where(*self.this, *since).values(worker=NOBODY, lease=bindparam("until")))

    def release(self) -> Statement:
        return compiled(update(self.table).where(*self.held).values(worker=NOBODY, lease=LONG_AGO))

    def expired(self) -> Statement:
        rows = self.table.c
        anothers = (rows.lease < bindparam("before"), rows.worker != bindparam("but"))
        return compiled(limited(select(self.table).where(self.unfinished, *anothers).order_by(rows.lease)))

    def to_cancel(self) -> Statement:
        rows = self.table.c
        return compiled(select(rows.org, rows.id).where(*self.held, rows.cancel.is_not(None)))
