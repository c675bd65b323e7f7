"""Written by `make statements` from `sql/labels.py`."""

from preceptor.adapters.storage.statements import Statement

CLOSE = Statement(
    "UPDATE instruction_labels SET until=? WHERE instruction_labels.org = ? AND instruction_labels.family = ? AND instruction_labels.name = ? AND instruction_labels.until IS NULL",
    'UPDATE instruction_labels SET until=%s::BIGINT WHERE instruction_labels.org = %s::VARCHAR COLLATE "C" AND instruction_labels.family = %s::VARCHAR COLLATE "C" AND instruction_labels.name = %s::VARCHAR COLLATE "C" AND instruction_labels.until IS NULL',
    ("at", "org", "of_family", "named"),
)
LAST = Statement(
    "SELECT instruction_labels.family, instruction_labels.name, instruction_labels.step, instruction_labels.instruction, instruction_labels.user, instruction_labels.since, instruction_labels.until \nFROM instruction_labels \nWHERE instruction_labels.org = ? AND instruction_labels.family = ? AND instruction_labels.name = ? ORDER BY instruction_labels.step DESC\n LIMIT ? OFFSET 0",
    'SELECT instruction_labels.family, instruction_labels.name, instruction_labels.step, instruction_labels.instruction, instruction_labels."user", instruction_labels.since, instruction_labels.until \nFROM instruction_labels \nWHERE instruction_labels.org = %s::VARCHAR COLLATE "C" AND instruction_labels.family = %s::VARCHAR COLLATE "C" AND instruction_labels.name = %s::VARCHAR COLLATE "C" ORDER BY instruction_labels.step DESC \n LIMIT %s OFFSET 0',
    ("org", "family", "name", "limit"),
)
OF_AGENT = Statement(
    "SELECT instruction_labels.family, instruction_labels.name, instruction_labels.step, instruction_labels.instruction, instruction_labels.user, instruction_labels.since, instruction_labels.until \nFROM assignments JOIN instruction_labels ON instruction_labels.org = assignments.org AND instruction_labels.family = assignments.family \nWHERE assignments.org = ? AND assignments.agent = ? AND assignments.until IS NULL AND instruction_labels.until IS NULL",
    'SELECT instruction_labels.family, instruction_labels.name, instruction_labels.step, instruction_labels.instruction, instruction_labels."user", instruction_labels.since, instruction_labels.until \nFROM assignments JOIN instruction_labels ON instruction_labels.org = assignments.org AND instruction_labels.family = assignments.family \nWHERE assignments.org = %s::VARCHAR COLLATE "C" AND assignments.agent = %s::VARCHAR COLLATE "C" AND assignments.until IS NULL AND instruction_labels.until IS NULL',
    ("org", "agent"),
)
OF_FAMILY = Statement(
    "SELECT instruction_labels.family, instruction_labels.name, instruction_labels.step, instruction_labels.instruction, instruction_labels.user, instruction_labels.since, instruction_labels.until \nFROM instruction_labels \nWHERE instruction_labels.org = ? AND instruction_labels.family = ? AND instruction_labels.until IS NULL ORDER BY instruction_labels.name",
    'SELECT instruction_labels.family, instruction_labels.name, instruction_labels.step, instruction_labels.instruction, instruction_labels."user", instruction_labels.since, instruction_labels.until \nFROM instruction_labels \nWHERE instruction_labels.org = %s::VARCHAR COLLATE "C" AND instruction_labels.family = %s::VARCHAR COLLATE "C" AND instruction_labels.until IS NULL ORDER BY instruction_labels.name',
    ("org", "family"),
)
OF_FAMILY_AT = Statement(
    "SELECT instruction_labels.family, instruction_labels.name, instruction_labels.step, instruction_labels.instruction, instruction_labels.user, instruction_labels.since, instruction_labels.until \nFROM instruction_labels \nWHERE instruction_labels.org = ? AND instruction_labels.family = ? AND instruction_labels.since <= ? AND (instruction_labels.until IS NULL OR instruction_labels.until > ?)",
    'SELECT instruction_labels.family, instruction_labels.name, instruction_labels.step, instruction_labels.instruction, instruction_labels."user", instruction_labels.since, instruction_labels.until \nFROM instruction_labels \nWHERE instruction_labels.org = %s::VARCHAR COLLATE "C" AND instruction_labels.family = %s::VARCHAR COLLATE "C" AND instruction_labels.since <= %s::BIGINT AND (instruction_labels.until IS NULL OR instruction_labels.until > %s::BIGINT)',
    ("org", "family", "at", "at"),
)
OPEN = Statement(
    "INSERT INTO instruction_labels (org, family, name, step, instruction, user, since, until) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO instruction_labels (org, family, name, step, instruction, "user", since, until) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::INTEGER, %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::BIGINT, %s::BIGINT)',
    ("org", "family", "name", "step", "instruction", "user", "since", "until"),
)
RATE = Statement(
    "INSERT INTO instruction_ratings (org, family, user, score) VALUES (?, ?, ?, ?)",
    'INSERT INTO instruction_ratings (org, family, "user", score) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::INTEGER)',
    ("org", "family", "user", "score"),
)
UNRATE = Statement(
    "DELETE FROM instruction_ratings WHERE instruction_ratings.org = ? AND instruction_ratings.family = ? AND instruction_ratings.user = ?",
    'DELETE FROM instruction_ratings WHERE instruction_ratings.org = %s::VARCHAR COLLATE "C" AND instruction_ratings.family = %s::VARCHAR COLLATE "C" AND instruction_ratings."user" = %s::VARCHAR COLLATE "C"',
    ("org", "family", "user"),
)
