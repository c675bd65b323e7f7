"""Written by `make statements` from `sql/instructions.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO instructions (org, id, head, type, category, role, status, public, deleted, revision, words, tags) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO instructions (org, id, head, type, category, role, status, public, deleted, revision, words, tags) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::INTEGER, %s::INTEGER, %s::BIGINT, %s::VARCHAR, %s::VARCHAR)',
    ("org", "id", "head", "type", "category", "role", "status", "public", "deleted", "revision", "words", "tags"),
)
ADD_STATUS = Statement(
    "INSERT INTO instruction_statuses (org, id, step, family, status, since, until) VALUES (?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO instruction_statuses (org, id, step, family, status, since, until) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::INTEGER, %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::BIGINT, %s::BIGINT)',
    ("org", "id", "step", "family", "status", "since", "until"),
)
ADD_VERSION = Statement(
    "INSERT INTO instruction_versions (org, id, family, version, status, parent, updated, updated_by, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO instruction_versions (org, id, family, version, status, parent, updated, updated_by, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::BIGINT, %s::VARCHAR COLLATE "C", %s::VARCHAR)',
    ("org", "id", "family", "version", "status", "parent", "updated", "updated_by", "body"),
)
CANDIDATES = Statement(
    "SELECT instruction_versions.family, instruction_versions.id, instruction_versions.version, instruction_versions.status \nFROM assignments JOIN instruction_versions ON instruction_versions.org = assignments.org AND instruction_versions.family = assignments.family \nWHERE assignments.org = ? AND assignments.agent = ? AND assignments.until IS NULL",
    'SELECT instruction_versions.family, instruction_versions.id, instruction_versions.version, instruction_versions.status \nFROM assignments JOIN instruction_versions ON instruction_versions.org = assignments.org AND instruction_versions.family = assignments.family \nWHERE assignments.org = %s::VARCHAR COLLATE "C" AND assignments.agent = %s::VARCHAR COLLATE "C" AND assignments.until IS NULL',
    ("org", "agent"),
)
CANDIDATES_AT = Statement(
    "SELECT instruction_versions.family, instruction_versions.id, instruction_versions.version, instruction_statuses.status \nFROM instruction_statuses JOIN instruction_versions ON instruction_versions.org = instruction_statuses.org AND instruction_versions.id = instruction_statuses.id \nWHERE instruction_statuses.org = ? AND instruction_statuses.family = ? AND instruction_statuses.since <= ? AND (instruction_statuses.until IS NULL OR instruction_statuses.until > ?)",
    'SELECT instruction_versions.family, instruction_versions.id, instruction_versions.version, instruction_statuses.status \nFROM instruction_statuses JOIN instruction_versions ON instruction_versions.org = instruction_statuses.org AND instruction_versions.id = instruction_statuses.id \nWHERE instruction_statuses.org = %s::VARCHAR COLLATE "C" AND instruction_statuses.family = %s::VARCHAR COLLATE "C" AND instruction_statuses.since <= %s::BIGINT AND (instruction_statuses.until IS NULL OR instruction_statuses.until > %s::BIGINT)',
    ("org", "family", "at", "at"),
)
END_STATUS = Statement(
    "UPDATE instruction_statuses SET until=? WHERE instruction_statuses.org = ? AND instruction_statuses.id = ? AND instruction_statuses.until IS NULL",
    'UPDATE instruction_statuses SET until=%s::BIGINT WHERE instruction_statuses.org = %s::VARCHAR COLLATE "C" AND instruction_statuses.id = %s::VARCHAR COLLATE "C" AND instruction_statuses.until IS NULL',
    ("at", "org", "named"),
)
FIND = Statement(
    "SELECT instruction_versions.body, instruction_versions.status, instruction_versions.updated, instruction_versions.updated_by, instructions.head, instructions.status AS status_1, instructions.public, instructions.deleted, instructions.revision, (SELECT count(*) AS count_1 \nFROM assignments \nWHERE assignments.org = ? AND assignments.family = instructions.id AND assignments.until IS NULL AND assignments.active = 1) AS anon_1, (SELECT count(*) AS count_2 \nFROM instruction_ratings \nWHERE instruction_ratings.org = ? AND instruction_ratings.family = instructions.id) AS anon_2, (SELECT sum(instruction_ratings.score) AS sum_1 \nFROM instruction_ratings \nWHERE instruction_ratings.org = ? AND instruction_ratings.family = instructions.id) AS anon_3 \nFROM instructions JOIN instruction_versions ON instruction_versions.org = instructions.org AND instruction_versions.id = instructions.head \nWHERE instructions.org = ? AND instructions.id = ?",
    'SELECT instruction_versions.body, instruction_versions.status, instruction_versions.updated, instruction_versions.updated_by, instructions.head, instructions.status AS status_1, instructions.public, instructions.deleted, instructions.revision, (SELECT count(*) AS count_1 \nFROM assignments \nWHERE assignments.org = %s::VARCHAR COLLATE "C" AND assignments.family = instructions.id AND assignments.until IS NULL AND assignments.active = 1) AS anon_1, (SELECT count(*) AS count_2 \nFROM instruction_ratings \nWHERE instruction_ratings.org = %s::VARCHAR COLLATE "C" AND instruction_ratings.family = instructions.id) AS anon_2, (SELECT sum(instruction_ratings.score) AS sum_1 \nFROM instruction_ratings \nWHERE instruction_ratings.org = %s::VARCHAR COLLATE "C" AND instruction_ratings.family = instructions.id) AS anon_3 \nFROM instructions JOIN instruction_versions ON instruction_versions.org = instructions.org AND instruction_versions.id = instructions.head \nWHERE instructions.org = %s::VARCHAR COLLATE "C" AND instructions.id = %s::VARCHAR COLLATE "C"',
    ("org", "org", "org", "org", "id"),
)
LAST_STATUS = Statement(
    "SELECT instruction_statuses.step \nFROM instruction_statuses \nWHERE instruction_statuses.org = ? AND instruction_statuses.id = ? AND instruction_statuses.until IS NULL",
    'SELECT instruction_statuses.step \nFROM instruction_statuses \nWHERE instruction_statuses.org = %s::VARCHAR COLLATE "C" AND instruction_statuses.id = %s::VARCHAR COLLATE "C" AND instruction_statuses.until IS NULL',
    ("org", "id"),
)
MOVE = Statement(
    "UPDATE instruction_versions SET status=?, updated=?, updated_by=? WHERE instruction_versions.org = ? AND instruction_versions.id = ?",
    'UPDATE instruction_versions SET status=%s::VARCHAR COLLATE "C", updated=%s::BIGINT, updated_by=%s::VARCHAR COLLATE "C" WHERE instruction_versions.org = %s::VARCHAR COLLATE "C" AND instruction_versions.id = %s::VARCHAR COLLATE "C"',
    ("to_status", "at", "by", "org", "named"),
)
NAMED = Statement(
    "SELECT instruction_versions.body, instruction_versions.status, instruction_versions.updated, instruction_versions.updated_by \nFROM instruction_versions \nWHERE instruction_versions.org = ? AND instruction_versions.id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    'SELECT instruction_versions.body, instruction_versions.status, instruction_versions.updated, instruction_versions.updated_by \nFROM instruction_versions \nWHERE instruction_versions.org = %s::VARCHAR COLLATE "C" AND instruction_versions.id IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)',
    (
        "org",
        "id_0",
        "id_1",
        "id_2",
        "id_3",
        "id_4",
        "id_5",
        "id_6",
        "id_7",
        "id_8",
        "id_9",
        "id_10",
        "id_11",
        "id_12",
        "id_13",
        "id_14",
        "id_15",
    ),
)
PAGE = Statement(
    "SELECT instruction_versions.body, instruction_versions.status, instruction_versions.updated, instruction_versions.updated_by, instructions.head, instructions.status AS status_1, instructions.public, instructions.deleted, instructions.revision, (SELECT count(*) AS count_1 \nFROM assignments \nWHERE assignments.org = ? AND assignments.family = instructions.id AND assignments.until IS NULL AND assignments.active = 1) AS anon_1, (SELECT count(*) AS count_2 \nFROM instruction_ratings \nWHERE instruction_ratings.org = ? AND instruction_ratings.family = instructions.id) AS anon_2, (SELECT sum(instruction_ratings.score) AS sum_1 \nFROM instruction_ratings \nWHERE instruction_ratings.org = ? AND instruction_ratings.family = instructions.id) AS anon_3 \nFROM instructions JOIN instruction_versions ON instruction_versions.org = instructions.org AND instruction_versions.id = instructions.head \nWHERE instructions.org = ? AND instructions.deleted = 0 AND (CAST(? AS TEXT) IS NULL OR instructions.id < ?) AND (CAST(? AS TEXT) IS NULL OR instructions.type = ?) AND (CAST(? AS TEXT) IS NULL OR instructions.category = ?) AND (CAST(? AS TEXT) IS NULL OR instructions.role = ?) AND (CAST(? AS TEXT) IS NULL OR instructions.status = ?) AND (CAST(? AS TEXT) IS NULL OR instructions.words LIKE ? ESCAPE '\\') AND (CAST(? AS TEXT) IS NULL OR instructions.tags LIKE ? ESCAPE '\\') ORDER BY instructions.id DESC\n LIMIT ? OFFSET 0",
    'SELECT instruction_versions.body, instruction_versions.status, instruction_versions.updated, instruction_versions.updated_by, instructions.head, instructions.status AS status_1, instructions.public, instructions.deleted, instructions.revision, (SELECT count(*) AS count_1 \nFROM assignments \nWHERE assignments.org = %s::VARCHAR COLLATE "C" AND assignments.family = instructions.id AND assignments.until IS NULL AND assignments.active = 1) AS anon_1, (SELECT count(*) AS count_2 \nFROM instruction_ratings \nWHERE instruction_ratings.org = %s::VARCHAR COLLATE "C" AND instruction_ratings.family = instructions.id) AS anon_2, (SELECT sum(instruction_ratings.score) AS sum_1 \nFROM instruction_ratings \nWHERE instruction_ratings.org = %s::VARCHAR COLLATE "C" AND instruction_ratings.family = instructions.id) AS anon_3 \nFROM instructions JOIN instruction_versions ON instruction_versions.org = instructions.org AND instruction_versions.id = instructions.head \nWHERE instructions.org = %s::VARCHAR COLLATE "C" AND instructions.deleted = 0 AND (CAST(%s AS TEXT) IS NULL OR instructions.id < %s::VARCHAR COLLATE "C") AND (CAST(%s AS TEXT) IS NULL OR instructions.type = %s::VARCHAR COLLATE "C") AND (CAST(%s AS TEXT) IS NULL OR instructions.category = %s::VARCHAR COLLATE "C") AND (CAST(%s AS TEXT) IS NULL OR instructions.role = %s::VARCHAR COLLATE "C") AND (CAST(%s AS TEXT) IS NULL OR instructions.status = %s::VARCHAR COLLATE "C") AND (CAST(%s AS TEXT) IS NULL OR instructions.words LIKE %s::VARCHAR ESCAPE \'\\\') AND (CAST(%s AS TEXT) IS NULL OR instructions.tags LIKE %s::VARCHAR ESCAPE \'\\\') ORDER BY instructions.id DESC \n LIMIT %s OFFSET 0',
    (
        "org",
        "org",
        "org",
        "org",
        "after",
        "after",
        "type",
        "type",
        "category",
        "category",
        "role",
        "role",
        "status",
        "status",
        "words",
        "words",
        "tags",
        "tags",
        "limit",
    ),
)
REPLACE = Statement(
    "UPDATE instructions SET head=?, type=?, category=?, role=?, status=?, public=?, deleted=?, revision=?, words=?, tags=? WHERE instructions.org = ? AND instructions.id = ?",
    'UPDATE instructions SET head=%s::VARCHAR COLLATE "C", type=%s::VARCHAR COLLATE "C", category=%s::VARCHAR COLLATE "C", role=%s::VARCHAR COLLATE "C", status=%s::VARCHAR COLLATE "C", public=%s::INTEGER, deleted=%s::INTEGER, revision=%s::BIGINT, words=%s::VARCHAR, tags=%s::VARCHAR WHERE instructions.org = %s::VARCHAR COLLATE "C" AND instructions.id = %s::VARCHAR COLLATE "C"',
    ("head", "type", "category", "role", "status", "public", "deleted", "revision", "words", "tags", "org", "id"),
)
VERSION = Statement(
    "SELECT instruction_versions.body, instruction_versions.status, instruction_versions.updated, instruction_versions.updated_by \nFROM instruction_versions \nWHERE instruction_versions.org = ? AND instruction_versions.id = ?",
    'SELECT instruction_versions.body, instruction_versions.status, instruction_versions.updated, instruction_versions.updated_by \nFROM instruction_versions \nWHERE instruction_versions.org = %s::VARCHAR COLLATE "C" AND instruction_versions.id = %s::VARCHAR COLLATE "C"',
    ("org", "id"),
)
VERSIONS = Statement(
    "SELECT instruction_versions.body, instruction_versions.status, instruction_versions.updated, instruction_versions.updated_by \nFROM instruction_versions \nWHERE instruction_versions.org = ? AND instruction_versions.family = ?",
    'SELECT instruction_versions.body, instruction_versions.status, instruction_versions.updated, instruction_versions.updated_by \nFROM instruction_versions \nWHERE instruction_versions.org = %s::VARCHAR COLLATE "C" AND instruction_versions.family = %s::VARCHAR COLLATE "C"',
    ("org", "family"),
)
