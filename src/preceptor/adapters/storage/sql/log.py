"""The statements of `log.py` one folder up."""

from sqlalchemy import Integer, bindparam, case, literal_column, null, select, update

from preceptor.adapters.storage.sql.building import compiled, insert_into, limited, mine
from preceptor.adapters.storage.tables import events, streams

ZERO, ONE = literal_column("0", Integer), literal_column("1", Integer)
ADD = insert_into(events)
START = insert_into(streams)
THIS = (mine(streams), streams.c.id == bindparam("id"))
READ_HEAD = compiled(select(streams.c.seq, streams.c.hash, streams.c.epoch).where(*THIS))
LOCK_HEAD = compiled(
    select(streams.c.seq, streams.c.hash, streams.c.epoch, streams.c.grown).where(*THIS).with_for_update()
)
MOVE = compiled(
    update(streams)
    .where(mine(streams), streams.c.id == bindparam("named"))
    .values(seq=bindparam("to_seq"), hash=bindparam("to_hash"))
)
# For one who believes to know where a stream ends. One that is not marked is moved in the usual way.
MOVE_FROM = compiled(
    update(streams)
    .where(
        mine(streams),
        streams.c.id == bindparam("named"),
        streams.c.seq == bindparam("from_seq"),
        streams.c.hash == bindparam("from_hash"),
        streams.c.epoch == bindparam("of_epoch"),
        streams.c.grown == ONE,
    )
    .values(seq=bindparam("to_seq"), hash=bindparam("to_hash"))
    .returning(ONE)
)
MOVE_TAKING = compiled(
    update(streams)
    .where(mine(streams), streams.c.id == bindparam("named"))
    .values(seq=bindparam("to_seq"), hash=bindparam("to_hash"), epoch=bindparam("to_epoch"))
)
# A stream is marked once after each checkpoint, not at every append: the mark is indexed, the head is not.
MARK = compiled(update(streams).where(mine(streams), streams.c.id == bindparam("named")).values(grown=ONE))
TAKE = compiled(
    update(streams).where(mine(streams), streams.c.id == bindparam("named")).values(epoch=streams.c.epoch + ONE)
)
AFTER = compiled(
    limited(
        select(events)
        .where(mine(events), events.c.stream == bindparam("stream"), events.c.seq > bindparam("after"))
        .order_by(events.c.seq)
    )
)
ERASE = compiled(
    update(events)
    .where(mine(events), events.c.stream == bindparam("of"), events.c.payload.is_not(None))
    .values(payload=null(), salt=null())
)
# Checkpoints are the installation's: they cover the streams of every organisation.
GROWN = compiled(
    limited(
        select(streams.c.org, streams.c.id, streams.c.seq, streams.c.hash)
        .where(streams.c.grown == ONE, streams.c.org != bindparam("org"))
        .order_by(streams.c.org, streams.c.id)
    )
)
ANCHOR = compiled(
    update(streams)
    .where(streams.c.org == bindparam("of_org"), streams.c.id == bindparam("named"))
    .values(
        anchored=bindparam("up_to"),
        grown=case((streams.c.seq > bindparam("up_to"), ONE), else_=ZERO),
    )
)
