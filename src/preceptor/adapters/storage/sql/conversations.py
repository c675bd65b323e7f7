"""The statements of `conversations.py` one folder up."""

from typing import Any

from sqlalchemy import ColumnElement, Integer, Text, and_, bindparam, cast, func, literal_column, or_, select
from sqlalchemy.sql.expression import ScalarSelect, Select

from preceptor.adapters.storage.sql.building import body_by_id, compiled, insert_into, limited, mine, update_by_key
from preceptor.adapters.storage.sql.turns import STAND_INS
from preceptor.adapters.storage.tables import conversations, events, streams
from preceptor.adapters.storage.turn_tables import messages, turns, views

ADD = insert_into(conversations)
REPLACE = update_by_key(conversations)
FIND = body_by_id(conversations)


def _any_or(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    return or_(cast(bindparam(name), Text).is_(None), column == bindparam(name))


# Newest first; a cursor is the last id shown.
PAGE = compiled(
    limited(
        select(conversations.c.body)
        .where(
            mine(conversations),
            or_(cast(bindparam("after"), Text).is_(None), conversations.c.id < bindparam("after")),
            _any_or(conversations.c.agent, "agent"),
            _any_or(conversations.c.user, "user"),
            _any_or(conversations.c.status, "status"),
            or_(
                cast(bindparam("words"), Text).is_(None),
                conversations.c.title.like(bindparam("words"), escape="\\"),
            ),
        )
        .order_by(conversations.c.id.desc())
    )
)
OPEN_WITH = compiled(
    select(func.count())
    .select_from(conversations)
    .where(
        mine(conversations),
        conversations.c.agent == bindparam("agent"),
        conversations.c.status == bindparam("status"),
    )
)
# A sweep of the installation, over all organisations: by when the last thing happened in each.
_HEAD = and_(streams.c.org == conversations.c.org, streams.c.id == conversations.c.id)
_LAST = and_(events.c.org == streams.c.org, events.c.stream == streams.c.id, events.c.seq == streams.c.seq)
QUIET = compiled(
    limited(
        select(conversations.c.org, conversations.c.id)
        .join(streams, _HEAD)
        .join(events, _LAST)
        .where(conversations.c.status != bindparam("but"), events.c.at < bindparam("before"))
        .order_by(events.c.at)
    )
)

_RUNNING = literal_column("'running'", Text)
_MESSAGES = select(messages).where(mine(messages), messages.c.conversation == bindparam("of"))
_NEWEST = _MESSAGES.order_by(messages.c.place.desc())
_SAID = _NEWEST.where(messages.c.kind.not_in(STAND_INS))
_IN_IT = (mine(turns), turns.c.conversation == bindparam("of"))
_VIEWS = select(views.c.body).where(mine(views), views.c.conversation == bindparam("of")).order_by(views.c.step.desc())


def _first(query: Select[*tuple[Any, ...]]) -> ScalarSelect[Any]:
    return query.limit(literal_column("1", Integer)).offset(literal_column("0", Integer)).scalar_subquery()


# All that a turn must know of a conversation to begin, in one look.
STANDING = compiled(
    select(
        _first(select(turns.c.id).where(*_IN_IT, turns.c.status == _RUNNING)),
        _first(_NEWEST.with_only_columns(messages.c.place)),
        _first(_NEWEST.with_only_columns(messages.c.cum)),
        select(turns.c.status)
        .where(mine(turns), turns.c.id == _first(_SAID.with_only_columns(messages.c.turn)))
        .scalar_subquery(),
        _first(_VIEWS),
    )
)
