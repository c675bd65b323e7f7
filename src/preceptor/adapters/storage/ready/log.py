"""Written by `make statements` from `sql/log.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO events (org, stream, seq, turn, kind, at, epoch, payload, salt, commitment, prev_hash, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO events (org, stream, seq, turn, kind, at, epoch, payload, salt, commitment, prev_hash, hash) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::BIGINT, %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::BIGINT, %s::INTEGER, %s::VARCHAR, %s, %s, %s, %s)',
    ("org", "stream", "seq", "turn", "kind", "at", "epoch", "payload", "salt", "commitment", "prev_hash", "hash"),
)
AFTER = Statement(
    "SELECT events.org, events.stream, events.seq, events.turn, events.kind, events.at, events.epoch, events.payload, events.salt, events.commitment, events.prev_hash, events.hash \nFROM events \nWHERE events.org = ? AND events.stream = ? AND events.seq > ? ORDER BY events.seq\n LIMIT ? OFFSET 0",
    'SELECT events.org, events.stream, events.seq, events.turn, events.kind, events.at, events.epoch, events.payload, events.salt, events.commitment, events.prev_hash, events.hash \nFROM events \nWHERE events.org = %s::VARCHAR COLLATE "C" AND events.stream = %s::VARCHAR COLLATE "C" AND events.seq > %s::BIGINT ORDER BY events.seq \n LIMIT %s OFFSET 0',
    ("org", "stream", "after", "limit"),
)
ANCHOR = Statement(
    "UPDATE streams SET anchored=?, grown=CASE WHEN (streams.seq > ?) THEN 1 ELSE 0 END WHERE streams.org = ? AND streams.id = ?",
    'UPDATE streams SET anchored=%s::BIGINT, grown=CASE WHEN (streams.seq > %s::BIGINT) THEN 1 ELSE 0 END WHERE streams.org = %s::VARCHAR COLLATE "C" AND streams.id = %s::VARCHAR COLLATE "C"',
    ("up_to", "up_to", "of_org", "named"),
)
ERASE = Statement(
    "UPDATE events SET payload=NULL, salt=NULL WHERE events.org = ? AND events.stream = ? AND events.payload IS NOT NULL",
    'UPDATE events SET payload=NULL, salt=NULL WHERE events.org = %s::VARCHAR COLLATE "C" AND events.stream = %s::VARCHAR COLLATE "C" AND events.payload IS NOT NULL',
    ("org", "of"),
)
GROWN = Statement(
    "SELECT streams.org, streams.id, streams.seq, streams.hash \nFROM streams \nWHERE streams.grown = 1 AND streams.org != ? ORDER BY streams.org, streams.id\n LIMIT ? OFFSET 0",
    'SELECT streams.org, streams.id, streams.seq, streams.hash \nFROM streams \nWHERE streams.grown = 1 AND streams.org != %s::VARCHAR COLLATE "C" ORDER BY streams.org, streams.id \n LIMIT %s OFFSET 0',
    ("org", "limit"),
)
LOCK_HEAD = Statement(
    "SELECT streams.seq, streams.hash, streams.epoch, streams.grown \nFROM streams \nWHERE streams.org = ? AND streams.id = ?",
    'SELECT streams.seq, streams.hash, streams.epoch, streams.grown \nFROM streams \nWHERE streams.org = %s::VARCHAR COLLATE "C" AND streams.id = %s::VARCHAR COLLATE "C" FOR UPDATE',
    ("org", "id"),
)
MARK = Statement(
    "UPDATE streams SET grown=1 WHERE streams.org = ? AND streams.id = ?",
    'UPDATE streams SET grown=1 WHERE streams.org = %s::VARCHAR COLLATE "C" AND streams.id = %s::VARCHAR COLLATE "C"',
    ("org", "named"),
)
MOVE = Statement(
    "UPDATE streams SET seq=?, hash=? WHERE streams.org = ? AND streams.id = ?",
    'UPDATE streams SET seq=%s::BIGINT, hash=%s WHERE streams.org = %s::VARCHAR COLLATE "C" AND streams.id = %s::VARCHAR COLLATE "C"',
    ("to_seq", "to_hash", "org", "named"),
)
MOVE_FROM = Statement(
    "UPDATE streams SET seq=?, hash=? WHERE streams.org = ? AND streams.id = ? AND streams.seq = ? AND streams.hash = ? AND streams.epoch = ? AND streams.grown = 1 RETURNING 1",
    'UPDATE streams SET seq=%s::BIGINT, hash=%s WHERE streams.org = %s::VARCHAR COLLATE "C" AND streams.id = %s::VARCHAR COLLATE "C" AND streams.seq = %s::BIGINT AND streams.hash = %s AND streams.epoch = %s::INTEGER AND streams.grown = 1 RETURNING 1',
    ("to_seq", "to_hash", "org", "named", "from_seq", "from_hash", "of_epoch"),
)
MOVE_TAKING = Statement(
    "UPDATE streams SET seq=?, hash=?, epoch=? WHERE streams.org = ? AND streams.id = ?",
    'UPDATE streams SET seq=%s::BIGINT, hash=%s, epoch=%s::INTEGER WHERE streams.org = %s::VARCHAR COLLATE "C" AND streams.id = %s::VARCHAR COLLATE "C"',
    ("to_seq", "to_hash", "to_epoch", "org", "named"),
)
READ_HEAD = Statement(
    "SELECT streams.seq, streams.hash, streams.epoch \nFROM streams \nWHERE streams.org = ? AND streams.id = ?",
    'SELECT streams.seq, streams.hash, streams.epoch \nFROM streams \nWHERE streams.org = %s::VARCHAR COLLATE "C" AND streams.id = %s::VARCHAR COLLATE "C"',
    ("org", "id"),
)
START = Statement(
    "INSERT INTO streams (org, id, seq, hash, epoch, anchored, grown) VALUES (?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO streams (org, id, seq, hash, epoch, anchored, grown) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::BIGINT, %s, %s::INTEGER, %s::BIGINT, %s::INTEGER)',
    ("org", "id", "seq", "hash", "epoch", "anchored", "grown"),
)
TAKE = Statement(
    "UPDATE streams SET epoch=(streams.epoch + 1) WHERE streams.org = ? AND streams.id = ?",
    'UPDATE streams SET epoch=(streams.epoch + 1) WHERE streams.org = %s::VARCHAR COLLATE "C" AND streams.id = %s::VARCHAR COLLATE "C"',
    ("org", "named"),
)
