"""Written by `make statements` from `sql/assignments.py`."""

from preceptor.adapters.storage.statements import Statement

CLOSE = Statement(
    "UPDATE assignments SET until=? WHERE assignments.org = ? AND assignments.id = ? AND assignments.until IS NULL",
    'UPDATE assignments SET until=%s::BIGINT WHERE assignments.org = %s::VARCHAR COLLATE "C" AND assignments.id = %s::VARCHAR COLLATE "C" AND assignments.until IS NULL',
    ("at", "org", "named"),
)
FIND = Statement(
    "SELECT assignments.body \nFROM assignments \nWHERE assignments.org = ? AND assignments.agent = ? AND assignments.family = ? AND assignments.until IS NULL",
    'SELECT assignments.body \nFROM assignments \nWHERE assignments.org = %s::VARCHAR COLLATE "C" AND assignments.agent = %s::VARCHAR COLLATE "C" AND assignments.family = %s::VARCHAR COLLATE "C" AND assignments.until IS NULL',
    ("org", "agent", "family"),
)
LAST_SEQ = Statement(
    "SELECT max(assignments.seq) AS max_1 \nFROM assignments \nWHERE assignments.org = ? AND assignments.agent = ?",
    'SELECT max(assignments.seq) AS max_1 \nFROM assignments \nWHERE assignments.org = %s::VARCHAR COLLATE "C" AND assignments.agent = %s::VARCHAR COLLATE "C"',
    ("org", "agent"),
)
OF_AGENT = Statement(
    "SELECT assignments.body \nFROM assignments \nWHERE assignments.org = ? AND assignments.agent = ? AND assignments.until IS NULL ORDER BY assignments.priority, assignments.seq, assignments.id",
    'SELECT assignments.body \nFROM assignments \nWHERE assignments.org = %s::VARCHAR COLLATE "C" AND assignments.agent = %s::VARCHAR COLLATE "C" AND assignments.until IS NULL ORDER BY assignments.priority, assignments.seq, assignments.id',
    ("org", "agent"),
)
OF_AGENT_AT = Statement(
    "SELECT assignments.body \nFROM assignments \nWHERE assignments.org = ? AND assignments.agent = ? AND assignments.since <= ? AND (assignments.until IS NULL OR assignments.until > ?) ORDER BY assignments.priority, assignments.seq, assignments.id",
    'SELECT assignments.body \nFROM assignments \nWHERE assignments.org = %s::VARCHAR COLLATE "C" AND assignments.agent = %s::VARCHAR COLLATE "C" AND assignments.since <= %s::BIGINT AND (assignments.until IS NULL OR assignments.until > %s::BIGINT) ORDER BY assignments.priority, assignments.seq, assignments.id',
    ("org", "agent", "at", "at"),
)
OF_AGENT_WITH_HEADS = Statement(
    "SELECT assignments.body, instruction_versions.id, instruction_versions.version, instruction_versions.status, CASE WHEN (instruction_versions.id > ?) THEN instruction_versions.body END AS anon_1, instruction_versions.updated, instruction_versions.updated_by \nFROM assignments LEFT OUTER JOIN instructions ON instructions.org = assignments.org AND instructions.id = assignments.family LEFT OUTER JOIN instruction_versions ON instruction_versions.org = instructions.org AND instruction_versions.id = instructions.head \nWHERE assignments.org = ? AND assignments.agent = ? AND assignments.until IS NULL",
    'SELECT assignments.body, instruction_versions.id, instruction_versions.version, instruction_versions.status, CASE WHEN (instruction_versions.id > %s::VARCHAR COLLATE "C") THEN instruction_versions.body END AS anon_1, instruction_versions.updated, instruction_versions.updated_by \nFROM assignments LEFT OUTER JOIN instructions ON instructions.org = assignments.org AND instructions.id = assignments.family LEFT OUTER JOIN instruction_versions ON instruction_versions.org = instructions.org AND instruction_versions.id = instructions.head \nWHERE assignments.org = %s::VARCHAR COLLATE "C" AND assignments.agent = %s::VARCHAR COLLATE "C" AND assignments.until IS NULL',
    ("newer_than", "org", "agent"),
)
OF_FAMILY = Statement(
    "SELECT assignments.body \nFROM assignments \nWHERE assignments.org = ? AND assignments.family = ? AND assignments.until IS NULL ORDER BY assignments.agent",
    'SELECT assignments.body \nFROM assignments \nWHERE assignments.org = %s::VARCHAR COLLATE "C" AND assignments.family = %s::VARCHAR COLLATE "C" AND assignments.until IS NULL ORDER BY assignments.agent',
    ("org", "family"),
)
OPEN = Statement(
    "INSERT INTO assignments (org, id, step, agent, family, pin, priority, active, seq, since, until, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO assignments (org, id, step, agent, family, pin, priority, active, seq, since, until, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::INTEGER, %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::BIGINT, %s::INTEGER, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::VARCHAR)',
    ("org", "id", "step", "agent", "family", "pin", "priority", "active", "seq", "since", "until", "body"),
)
