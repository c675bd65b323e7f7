"""The statements of `verifying.py` one folder up."""

from sqlalchemy import bindparam, select

from preceptor.adapters.storage.sql.building import compiled
from preceptor.adapters.storage.tables import events, streams

EVENTS = compiled(select(events).order_by(events.c.org, events.c.stream, events.c.seq))
ENDINGS = compiled(
    select(
        streams.c.org,
        streams.c.id,
        streams.c.seq,
        streams.c.hash,
        streams.c.epoch,
        streams.c.anchored,
        streams.c.grown,
    ).order_by(streams.c.org, streams.c.id)
)
CHECKPOINTS = compiled(
    select(events.c.seq, events.c.payload)
    .where(events.c.org == bindparam("org"), events.c.stream == bindparam("stream"), events.c.kind == bindparam("kind"))
    .order_by(events.c.seq)
)
