"""The statements of `turns.py` one folder up."""

from sqlalchemy import Integer, Text, and_, bindparam, literal_column, select, update

from preceptor.adapters.storage.sql.building import changed_to, compiled, insert_into, limited, mine
from preceptor.adapters.storage.sql.leases import Leased
from preceptor.adapters.storage.tables import events
from preceptor.adapters.storage.turn_tables import messages, turns

RUNNING = literal_column("'running'", Text)
STAND_INS = [literal_column("'compaction'", Text), literal_column("'summary'", Text)]
ONE, TWO = literal_column("1", Integer), literal_column("2", Integer)
ADD = insert_into(turns)
_THIS = (mine(turns), turns.c.id == bindparam("named"))
FIND = compiled(select(turns).where(*_THIS))
OPEN = compiled(select(turns).where(mine(turns), turns.c.conversation == bindparam("of"), turns.c.status == RUNNING))
# What stands for others is placed after everything, and is of the turn that these were said in.
NEWEST = compiled(
    limited(
        select(turns)
        .join(messages, and_(messages.c.org == turns.c.org, messages.c.turn == turns.c.id))
        .where(mine(turns), messages.c.conversation == bindparam("of"), messages.c.kind.not_in(STAND_INS))
        .order_by(messages.c.place.desc())
    )
)
# A turn begins with what it is pinned to, and then its question.
ACCEPTED = compiled(
    select(turns.c.id, events.c.payload)
    .join(messages, and_(messages.c.org == turns.c.org, messages.c.turn == turns.c.id))
    .join(
        events,
        and_(events.c.org == turns.c.org, events.c.stream == turns.c.conversation, events.c.seq == turns.c.first + ONE),
    )
    .where(
        mine(turns),
        messages.c.conversation == bindparam("of"),
        messages.c.place >= bindparam("since"),
        messages.c.seq == turns.c.first + TWO,
    )
)
_ENDED = (mine(turns), turns.c.status != RUNNING, turns.c.id < bindparam("before"))
ENDED = compiled(limited(select(turns).where(*_ENDED).order_by(turns.c.id.desc())))
ENDED_OF = compiled(limited(select(turns).where(*_ENDED, turns.c.agent == bindparam("of")).order_by(turns.c.id.desc())))
SETTLE = compiled(update(turns).where(*_THIS, turns.c.status == RUNNING).values(changed_to("status", "last")))
_LEASED = Leased(turns, turns.c.status == RUNNING)
TAKE = _LEASED.take(epoch=bindparam("to_epoch"), takeovers=turns.c.takeovers + ONE)
CANCEL = _LEASED.cancel()
EXTEND = _LEASED.extend()
WAIT = _LEASED.wait()
RELEASE = _LEASED.release()
EXPIRED = _LEASED.expired()
TO_CANCEL = _LEASED.to_cancel()
