"""Written by `make statements` from `sql/replays.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO replay_items (org, replay, place, conversation, changed, digest, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO replay_items (org, replay, place, conversation, changed, digest, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::INTEGER, %s::VARCHAR COLLATE "C", %s::INTEGER, %s::VARCHAR, %s::VARCHAR)',
    ("org", "replay", "place", "conversation", "changed", "digest", "body"),
)
DIGESTS = Statement(
    "SELECT replay_items.place, replay_items.digest \nFROM replay_items \nWHERE replay_items.org = ? AND replay_items.replay = ? ORDER BY replay_items.place",
    'SELECT replay_items.place, replay_items.digest \nFROM replay_items \nWHERE replay_items.org = %s::VARCHAR COLLATE "C" AND replay_items.replay = %s::VARCHAR COLLATE "C" ORDER BY replay_items.place',
    ("org", "of"),
)
ERASE = Statement(
    "DELETE FROM replay_items WHERE replay_items.org = ? AND replay_items.conversation = ?",
    'DELETE FROM replay_items WHERE replay_items.org = %s::VARCHAR COLLATE "C" AND replay_items.conversation = %s::VARCHAR COLLATE "C"',
    ("org", "said_in"),
)
PAGE = Statement(
    "SELECT replay_items.place, replay_items.conversation, replay_items.changed, replay_items.digest, replay_items.body \nFROM replay_items \nWHERE replay_items.org = ? AND replay_items.replay = ? AND replay_items.place > ? AND (CAST(? AS INTEGER) = 1 OR replay_items.changed = 1) ORDER BY replay_items.place\n LIMIT ? OFFSET 0",
    'SELECT replay_items.place, replay_items.conversation, replay_items.changed, replay_items.digest, replay_items.body \nFROM replay_items \nWHERE replay_items.org = %s::VARCHAR COLLATE "C" AND replay_items.replay = %s::VARCHAR COLLATE "C" AND replay_items.place > %s::INTEGER AND (CAST(%s AS INTEGER) = 1 OR replay_items.changed = 1) ORDER BY replay_items.place \n LIMIT %s OFFSET 0',
    ("org", "of", "after", "all_of_them", "limit"),
)
USING = Statement(
    "SELECT DISTINCT replay_items.replay \nFROM replay_items \nWHERE replay_items.org = ? AND replay_items.conversation = ?",
    'SELECT DISTINCT replay_items.replay \nFROM replay_items \nWHERE replay_items.org = %s::VARCHAR COLLATE "C" AND replay_items.conversation = %s::VARCHAR COLLATE "C"',
    ("org", "said_in"),
)
