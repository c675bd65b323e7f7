"""Statements: written once in SQLAlchemy Core, compiled once for each database, at import."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import ColumnElement, Table, bindparam, insert, literal_column, select, update
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ClauseElement, Select

_SQLITE = sqlite_dialect(paramstyle="qmark")
_POSTGRES = PGDialect_psycopg(paramstyle="format")

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """The same statement in both dialects. `:org` is filled in by the unit of work, never by the caller."""

    sqlite: str
    postgres: str
    names: tuple[str, ...]
    """The parameters in order: to bind by place costs half of binding by name."""

    @classmethod
    def of(cls, core: ClauseElement) -> "Statement":
        compiled = cast("SQLCompiler", core.compile(dialect=_SQLITE))
        postgres = cast("SQLCompiler", core.compile(dialect=_POSTGRES))
        names = tuple(compiled.positiontup or ())
        assert names == tuple(postgres.positiontup or ()), "the databases want the parameters in different orders"
        assert not [name for name in names if name.startswith("param_")], "a constant became a parameter"
        return cls(str(compiled), str(postgres), names)

    def in_place(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple([values[name] for name in self.names])


def mine(table: Table) -> ColumnElement[bool]:
    """The fence around a tenant: every statement on tenant data but a look-up of credentials has it."""
    return table.c.org == bindparam("org")


def limited(query: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    """At most `:limit` rows. The offset is spelled out because SQLite's compiler would make it a parameter."""
    return query.limit(bindparam("limit")).offset(literal_column("0"))


def insert_into(table: Table) -> Statement:
    return Statement.of(insert(table).values({column.name: bindparam(column.name) for column in table.c}))


def update_by_key(table: Table) -> Statement:
    """Replace all columns of the organisation's row with this primary key."""
    keys = {table.c.org, *table.primary_key.columns}
    rest: dict[str, Any] = {column.name: bindparam(column.name) for column in table.c if column not in keys}
    this = (column == bindparam(column.name) for column in table.c if column in keys)
    return Statement.of(update(table).where(*this).values(rest))


def body_by_id(table: Table) -> Statement:
    return Statement.of(select(table.c.body).where(mine(table), table.c.id == bindparam("id")))


def bodies_after(table: Table) -> Statement:
    """A page of bodies in the order of their ids."""
    after = table.c.id > bindparam("after")
    return Statement.of(limited(select(table.c.body).where(mine(table), after).order_by(table.c.id)))
