"""The statements of `messages.py` one folder up."""

from sqlalchemy import and_, bindparam, select, update

from preceptor.adapters.storage.sql.building import compiled, insert_into, limited, mine
from preceptor.adapters.storage.tables import events
from preceptor.adapters.storage.turn_tables import messages

ADD = insert_into(messages)
_THIS = (mine(messages), messages.c.conversation == bindparam("conversation"))
_BODY = and_(
    events.c.org == messages.c.org,
    events.c.stream == messages.c.conversation,
    events.c.seq == messages.c.seq,
)
LAST = compiled(
    limited(select(messages.c.place, messages.c.cum).where(*_THIS).order_by(messages.c.place.desc())),
)
BETWEEN = compiled(
    select(messages.c.place, events.c.payload, messages.c.withheld)
    .join(events, _BODY)
    .where(*_THIS, messages.c.place >= bindparam("first"), messages.c.place <= bindparam("until"))
    .order_by(messages.c.place)
)
SINCE = compiled(
    limited(
        select(messages.c.place, events.c.payload, messages.c.seq, messages.c.withheld)
        .join(events, _BODY)
        .where(*_THIS, messages.c.place > bindparam("after"))
        .order_by(messages.c.place)
    )
)
SEQ_AT = compiled(select(messages.c.seq).where(*_THIS, messages.c.place == bindparam("at_place")))
SUM_AT = compiled(select(messages.c.cum).where(*_THIS, messages.c.place == bindparam("at_place")))
WITHHOLD = compiled(
    update(messages).where(mine(messages), messages.c.id == bindparam("named")).values(withheld=bindparam("to_tokens"))
)
FIND = compiled(
    select(messages.c.conversation, messages.c.place, messages.c.seq, messages.c.turn, events.c.payload)
    .join(events, _BODY)
    .where(mine(messages), messages.c.id == bindparam("id"))
)
