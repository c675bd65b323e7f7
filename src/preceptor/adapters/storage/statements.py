"""A statement as it is run: ready text for each database, and its parameters in order.

They are written in SQLAlchemy in `sql/`, and compiled by `make statements` into `ready/`: nothing that runs them has to
load SQLAlchemy.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

Row = tuple[Any, ...]


class Statement(msgspec.Struct, frozen=True):
    """The same statement in both dialects. `:org` is filled in by the unit of work, never by the caller."""

    sqlite: str
    postgres: str
    names: tuple[str, ...]
    """The parameters in order: to bind by place costs half of binding by name."""

    @cache  # noqa: B019 - there are as many as there are statements and small numbers
    def of_rows(self, count: int) -> str:
        """An INSERT of so many rows as one statement of PostgreSQL."""
        into, _, row = self.postgres.partition(" VALUES ")
        return " VALUES ".join((into, ", ".join([row] * count)))

    @cache  # noqa: B019 - as above
    def of_rows_if(self, condition: "Statement", count: int) -> str:
        """The same, if another statement returns anything: that one's values come first."""
        into, _, rows = self.of_rows(count).partition(" VALUES ")
        chosen = f"SELECT * FROM (VALUES {rows}) AS one WHERE EXISTS (SELECT FROM found)"  # noqa: S608 - all ours
        return f"WITH found AS ({condition.postgres}) {into} {chosen}"

    def in_place(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple([values[name] for name in self.names])
