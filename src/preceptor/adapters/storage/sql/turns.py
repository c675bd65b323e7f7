"""The statements of `turns.py` one folder up."""

from sqlalchemy import Integer, Text, and_, bindparam, literal_column, select, update

from preceptor.adapters.storage.sql.building import compiled, insert_into, limited, mine
from preceptor.adapters.storage.turn_tables import messages, turns

RUNNING = literal_column("'running'", Text)
ONE = literal_column("1", Integer)
ADD = insert_into(turns)
_THIS = (mine(turns), turns.c.id == bindparam("named"))
FIND = compiled(select(turns).where(*_THIS))
OPEN = compiled(select(turns).where(mine(turns), turns.c.conversation == bindparam("of"), turns.c.status == RUNNING))
NEWEST = compiled(
    limited(
        select(turns)
        .join(messages, and_(messages.c.org == turns.c.org, messages.c.turn == turns.c.id))
        .where(mine(turns), messages.c.conversation == bindparam("of"))
        .order_by(messages.c.place.desc())
    )
)
_ENDED = (mine(turns), turns.c.status != RUNNING, turns.c.id < bindparam("before"))
ENDED = compiled(limited(select(turns).where(*_ENDED).order_by(turns.c.id.desc())))
ENDED_OF = compiled(limited(select(turns).where(*_ENDED, turns.c.agent == bindparam("of")).order_by(turns.c.id.desc())))
SETTLE = compiled(
    update(turns)
    .where(*_THIS, turns.c.status == RUNNING)
    .values(status=bindparam("to_status"), last=bindparam("to_last"))
)
TAKE = compiled(
    update(turns)
    .where(*_THIS, turns.c.status == RUNNING)
    .values(
        worker=bindparam("to_worker"),
        epoch=bindparam("to_epoch"),
        lease=bindparam("to_lease"),
        takeovers=turns.c.takeovers + ONE,
    )
)
CANCEL = compiled(update(turns).where(*_THIS, turns.c.status == RUNNING).values(cancel=bindparam("by")))
# Leases are the installation's: a worker extends and takes over turns of every organisation.
EXTEND = compiled(
    update(turns).where(turns.c.worker == bindparam("by"), turns.c.status == RUNNING).values(lease=bindparam("until"))
)
# Whoever held it is gone, and no one has taken it up since.
WAIT = compiled(
    update(turns)
    .where(
        *_THIS,
        turns.c.status == RUNNING,
        turns.c.worker == bindparam("of_worker"),
        turns.c.lease == bindparam("of_lease"),
    )
    .values(worker=literal_column("''", Text), lease=bindparam("until"))
)
RELEASE = compiled(
    update(turns)
    .where(turns.c.worker == bindparam("by"), turns.c.status == RUNNING)
    .values(worker=literal_column("''", Text), lease=literal_column("0", Integer))
)
EXPIRED = compiled(
    limited(
        select(turns)
        .where(turns.c.status == RUNNING, turns.c.lease < bindparam("before"), turns.c.worker != bindparam("but"))
        .order_by(turns.c.lease)
    )
)
TO_CANCEL = compiled(
    select(turns.c.org, turns.c.id).where(
        turns.c.worker == bindparam("by"), turns.c.status == RUNNING, turns.c.cancel.is_not(None)
    )
)
