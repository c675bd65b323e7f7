"""Written by `make statements` from `sql/verifying.py`."""

from preceptor.adapters.storage.statements import Statement

CHECKPOINTS = Statement(
    "SELECT events.seq, events.payload \nFROM events \nWHERE events.org = ? AND events.stream = ? AND events.kind = ? ORDER BY events.seq",
    'SELECT events.seq, events.payload \nFROM events \nWHERE events.org = %s::VARCHAR COLLATE "C" AND events.stream = %s::VARCHAR COLLATE "C" AND events.kind = %s::VARCHAR COLLATE "C" ORDER BY events.seq',
    ("org", "stream", "kind"),
)
ENDINGS = Statement(
    "SELECT streams.org, streams.id, streams.seq, streams.hash, streams.epoch, streams.anchored, streams.grown \nFROM streams ORDER BY streams.org, streams.id",
    "SELECT streams.org, streams.id, streams.seq, streams.hash, streams.epoch, streams.anchored, streams.grown \nFROM streams ORDER BY streams.org, streams.id",
    (),
)
EVENTS = Statement(
    "SELECT events.org, events.stream, events.seq, events.turn, events.kind, events.at, events.epoch, events.payload, events.salt, events.commitment, events.prev_hash, events.hash \nFROM events ORDER BY events.org, events.stream, events.seq",
    "SELECT events.org, events.stream, events.seq, events.turn, events.kind, events.at, events.epoch, events.payload, events.salt, events.commitment, events.prev_hash, events.hash \nFROM events ORDER BY events.org, events.stream, events.seq",
    (),
)
