"""What many statements are built of."""

import typing
from typing import Any

from sqlalchemy import ColumnElement, Table, Text, bindparam, cast, insert, literal_column, or_, select, update
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ClauseElement, Select

from preceptor.adapters.storage.statements import Statement

_SQLITE = sqlite_dialect(paramstyle="qmark")
_POSTGRES = PGDialect_psycopg(paramstyle="format")


def compiled(core: ClauseElement) -> Statement:
    sqlite = typing.cast("SQLCompiler", core.compile(dialect=_SQLITE))
    postgres = typing.cast("SQLCompiler", core.compile(dialect=_POSTGRES))
    names = tuple(sqlite.positiontup or ())
    assert names == tuple(postgres.positiontup or ()), "the databases want the parameters in different orders"
    assert not [name for name in names if name.startswith("param_")], "a constant became a parameter"
    return Statement(str(sqlite), str(postgres), names)


def mine(table: Table) -> ColumnElement[bool]:
    """The fence around a tenant: every statement on tenant data but a look-up of credentials has it."""
    return table.c.org == bindparam("org")


def limited(query: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    """At most `:limit` rows. The offset is spelled out because SQLite's compiler would make it a parameter."""
    return query.limit(bindparam("limit")).offset(literal_column("0"))


def any_or(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    """The column is what `:name` says; any will do when it says nothing."""
    return or_(cast(bindparam(name), Text).is_(None), column == bindparam(name))


def any_or_like(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    return or_(cast(bindparam(name), Text).is_(None), column.like(bindparam(name), escape="\\"))


def before(column: ColumnElement[str], name: str = "after") -> ColumnElement[bool]:
    """Newest first: what comes after a position has a smaller id."""
    return or_(cast(bindparam(name), Text).is_(None), column < bindparam(name))


def insert_into(table: Table) -> Statement:
    return compiled(insert(table).values({column.name: bindparam(column.name) for column in table.c}))


def update_by_key(table: Table) -> Statement:
    """Replace all columns of the organisation's row with this primary key."""
    keys = {table.c.org, *table.primary_key.columns}
    rest: dict[str, Any] = {column.name: bindparam(column.name) for column in table.c if column not in keys}
    this = (column == bindparam(column.name) for column in table.c if column in keys)
    return compiled(update(table).where(*this).values(rest))


def changed_to(*columns: str) -> dict[str, Any]:
    """New values of columns: a change binds `:to_` and the name, since the name alone may say which row is meant."""
    return {column: bindparam(f"to_{column}") for column in columns}


def as_wanted(table: Table, *more: ColumnElement[bool]) -> tuple[ColumnElement[bool], ...]:
    """Instructions after a position that are as someone searches for them."""
    kinds = (any_or(table.c[name], name) for name in ("type", "category", "role"))
    return before(table.c.id), *kinds, *more, *(any_or_like(table.c[name], name) for name in ("words", "tags"))


def body_by_id(table: Table) -> Statement:
    return compiled(select(table.c.body).where(mine(table), table.c.id == bindparam("id")))


def bodies_after(table: Table) -> Statement:
    """A page of bodies in the order of their ids."""
    after = table.c.id > bindparam("after")
    return compiled(limited(select(table.c.body).where(mine(table), after).order_by(table.c.id)))
