"""The statements of `conversations.py` one folder up."""

from sqlalchemy import ColumnElement, Text, and_, bindparam, cast, func, or_, select

from preceptor.adapters.storage.sql.building import body_by_id, compiled, insert_into, limited, mine, update_by_key
from preceptor.adapters.storage.tables import conversations, events, streams

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
