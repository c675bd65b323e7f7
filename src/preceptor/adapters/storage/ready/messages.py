"""Written by `make statements` from `sql/messages.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO messages (org, conversation, place, id, seq, turn, role, kind, span, tokens, cum, withheld) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO messages (org, conversation, place, id, seq, turn, role, kind, span, tokens, cum, withheld) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::BIGINT, %s::VARCHAR COLLATE "C", %s::BIGINT, %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::INTEGER, %s::BIGINT, %s::INTEGER)',
    ("org", "conversation", "place", "id", "seq", "turn", "role", "kind", "span", "tokens", "cum", "withheld"),
)
BETWEEN = Statement(
    "SELECT messages.place, events.payload, messages.withheld \nFROM messages JOIN events ON events.org = messages.org AND events.stream = messages.conversation AND events.seq = messages.seq \nWHERE messages.org = ? AND messages.conversation = ? AND messages.place >= ? AND messages.place <= ? ORDER BY messages.place",
    'SELECT messages.place, events.payload, messages.withheld \nFROM messages JOIN events ON events.org = messages.org AND events.stream = messages.conversation AND events.seq = messages.seq \nWHERE messages.org = %s::VARCHAR COLLATE "C" AND messages.conversation = %s::VARCHAR COLLATE "C" AND messages.place >= %s::BIGINT AND messages.place <= %s::BIGINT ORDER BY messages.place',
    ("org", "conversation", "first", "until"),
)
FIND = Statement(
    "SELECT messages.conversation, messages.place, messages.seq, messages.turn, events.payload \nFROM messages JOIN events ON events.org = messages.org AND events.stream = messages.conversation AND events.seq = messages.seq \nWHERE messages.org = ? AND messages.id = ?",
    'SELECT messages.conversation, messages.place, messages.seq, messages.turn, events.payload \nFROM messages JOIN events ON events.org = messages.org AND events.stream = messages.conversation AND events.seq = messages.seq \nWHERE messages.org = %s::VARCHAR COLLATE "C" AND messages.id = %s::VARCHAR COLLATE "C"',
    ("org", "id"),
)
LAST = Statement(
    "SELECT messages.place, messages.cum \nFROM messages \nWHERE messages.org = ? AND messages.conversation = ? ORDER BY messages.place DESC\n LIMIT ? OFFSET 0",
    'SELECT messages.place, messages.cum \nFROM messages \nWHERE messages.org = %s::VARCHAR COLLATE "C" AND messages.conversation = %s::VARCHAR COLLATE "C" ORDER BY messages.place DESC \n LIMIT %s OFFSET 0',
    ("org", "conversation", "limit"),
)
SEQ_AT = Statement(
    "SELECT messages.seq \nFROM messages \nWHERE messages.org = ? AND messages.conversation = ? AND messages.place = ?",
    'SELECT messages.seq \nFROM messages \nWHERE messages.org = %s::VARCHAR COLLATE "C" AND messages.conversation = %s::VARCHAR COLLATE "C" AND messages.place = %s::BIGINT',
    ("org", "conversation", "at_place"),
)
SINCE = Statement(
    "SELECT messages.place, events.payload, messages.seq, messages.withheld \nFROM messages JOIN events ON events.org = messages.org AND events.stream = messages.conversation AND events.seq = messages.seq \nWHERE messages.org = ? AND messages.conversation = ? AND messages.place > ? ORDER BY messages.place\n LIMIT ? OFFSET 0",
    'SELECT messages.place, events.payload, messages.seq, messages.withheld \nFROM messages JOIN events ON events.org = messages.org AND events.stream = messages.conversation AND events.seq = messages.seq \nWHERE messages.org = %s::VARCHAR COLLATE "C" AND messages.conversation = %s::VARCHAR COLLATE "C" AND messages.place > %s::BIGINT ORDER BY messages.place \n LIMIT %s OFFSET 0',
    ("org", "conversation", "after", "limit"),
)
SUM_AT = Statement(
    "SELECT messages.cum \nFROM messages \nWHERE messages.org = ? AND messages.conversation = ? AND messages.place = ?",
    'SELECT messages.cum \nFROM messages \nWHERE messages.org = %s::VARCHAR COLLATE "C" AND messages.conversation = %s::VARCHAR COLLATE "C" AND messages.place = %s::BIGINT',
    ("org", "conversation", "at_place"),
)
WITHHOLD = Statement(
    "UPDATE messages SET withheld=? WHERE messages.org = ? AND messages.id = ?",
    'UPDATE messages SET withheld=%s::INTEGER WHERE messages.org = %s::VARCHAR COLLATE "C" AND messages.id = %s::VARCHAR COLLATE "C"',
    ("to_tokens", "org", "named"),
)
