"""Written by `make statements` from `sql/experiments.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO experiments (org, id, status, ends, body) VALUES (?, ?, ?, ?, ?)",
    'INSERT INTO experiments (org, id, status, ends, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::BIGINT, %s::VARCHAR)',
    ("org", "id", "status", "ends", "body"),
)
FIND = Statement(
    "SELECT experiments.body \nFROM experiments \nWHERE experiments.org = ? AND experiments.id = ?",
    'SELECT experiments.body \nFROM experiments \nWHERE experiments.org = %s::VARCHAR COLLATE "C" AND experiments.id = %s::VARCHAR COLLATE "C"',
    ("org", "id"),
)
LEAVE = Statement(
    "DELETE FROM experiment_slots WHERE experiment_slots.org = ? AND experiment_slots.experiment = ?",
    'DELETE FROM experiment_slots WHERE experiment_slots.org = %s::VARCHAR COLLATE "C" AND experiment_slots.experiment = %s::VARCHAR COLLATE "C"',
    ("org", "experiment"),
)
PAGE = Statement(
    "SELECT experiments.body \nFROM experiments \nWHERE experiments.org = ? AND (CAST(? AS TEXT) IS NULL OR experiments.id < ?) AND (CAST(? AS TEXT) IS NULL OR experiments.status = ?) ORDER BY experiments.id DESC\n LIMIT ? OFFSET 0",
    'SELECT experiments.body \nFROM experiments \nWHERE experiments.org = %s::VARCHAR COLLATE "C" AND (CAST(%s AS TEXT) IS NULL OR experiments.id < %s::VARCHAR COLLATE "C") AND (CAST(%s AS TEXT) IS NULL OR experiments.status = %s::VARCHAR COLLATE "C") ORDER BY experiments.id DESC \n LIMIT %s OFFSET 0',
    ("org", "after", "after", "status", "status", "limit"),
)
REPLACE = Statement(
    "UPDATE experiments SET status=?, ends=?, body=? WHERE experiments.org = ? AND experiments.id = ?",
    'UPDATE experiments SET status=%s::VARCHAR COLLATE "C", ends=%s::BIGINT, body=%s::VARCHAR WHERE experiments.org = %s::VARCHAR COLLATE "C" AND experiments.id = %s::VARCHAR COLLATE "C"',
    ("status", "ends", "body", "org", "id"),
)
RUNS = Statement(
    "SELECT experiments.org, experiments.id \nFROM experiments \nWHERE experiments.status = 'running' AND experiments.id > ? ORDER BY experiments.id\n LIMIT ? OFFSET 0",
    "SELECT experiments.org, experiments.id \nFROM experiments \nWHERE experiments.status = 'running' AND experiments.id > %s::VARCHAR COLLATE \"C\" ORDER BY experiments.id \n LIMIT %s OFFSET 0",
    ("after", "limit"),
)
SLOTS = Statement(
    "SELECT experiment_slots.agent, experiment_slots.family, experiment_slots.experiment, experiment_slots.control, experiment_slots.variant \nFROM experiment_slots JOIN experiments ON experiments.org = experiment_slots.org AND experiments.id = experiment_slots.experiment \nWHERE experiment_slots.org = ? AND experiments.ends > ? ORDER BY experiment_slots.experiment, experiment_slots.agent",
    'SELECT experiment_slots.agent, experiment_slots.family, experiment_slots.experiment, experiment_slots.control, experiment_slots.variant \nFROM experiment_slots JOIN experiments ON experiments.org = experiment_slots.org AND experiments.id = experiment_slots.experiment \nWHERE experiment_slots.org = %s::VARCHAR COLLATE "C" AND experiments.ends > %s::BIGINT ORDER BY experiment_slots.experiment, experiment_slots.agent',
    ("org", "now"),
)
TAKE = Statement(
    "INSERT INTO experiment_slots (org, agent, family, experiment, control, variant) VALUES (?, ?, ?, ?, ?, ?)",
    'INSERT INTO experiment_slots (org, agent, family, experiment, control, variant) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C")',
    ("org", "agent", "family", "experiment", "control", "variant"),
)
TAKEN = Statement(
    "SELECT experiment_slots.agent, experiment_slots.family, experiment_slots.experiment, experiment_slots.control, experiment_slots.variant \nFROM experiment_slots \nWHERE experiment_slots.org = ? AND experiment_slots.agent = ? AND experiment_slots.family = ?",
    'SELECT experiment_slots.agent, experiment_slots.family, experiment_slots.experiment, experiment_slots.control, experiment_slots.variant \nFROM experiment_slots \nWHERE experiment_slots.org = %s::VARCHAR COLLATE "C" AND experiment_slots.agent = %s::VARCHAR COLLATE "C" AND experiment_slots.family = %s::VARCHAR COLLATE "C"',
    ("org", "agent", "family"),
)
WITH_AGENT = Statement(
    "SELECT DISTINCT experiments.id, experiments.body \nFROM experiment_slots JOIN experiments ON experiments.org = experiment_slots.org AND experiments.id = experiment_slots.experiment \nWHERE experiment_slots.org = ? AND experiment_slots.agent = ? ORDER BY experiments.id",
    'SELECT DISTINCT experiments.id, experiments.body \nFROM experiment_slots JOIN experiments ON experiments.org = experiment_slots.org AND experiments.id = experiment_slots.experiment \nWHERE experiment_slots.org = %s::VARCHAR COLLATE "C" AND experiment_slots.agent = %s::VARCHAR COLLATE "C" ORDER BY experiments.id',
    ("org", "agent"),
)
WITH_FAMILY = Statement(
    "SELECT experiment_slots.agent, experiment_slots.family, experiment_slots.experiment, experiment_slots.control, experiment_slots.variant \nFROM experiment_slots JOIN experiments ON experiments.org = experiment_slots.org AND experiments.id = experiment_slots.experiment \nWHERE experiment_slots.org = ? AND experiments.ends > ? AND experiment_slots.family = ? ORDER BY experiment_slots.experiment, experiment_slots.agent",
    'SELECT experiment_slots.agent, experiment_slots.family, experiment_slots.experiment, experiment_slots.control, experiment_slots.variant \nFROM experiment_slots JOIN experiments ON experiments.org = experiment_slots.org AND experiments.id = experiment_slots.experiment \nWHERE experiment_slots.org = %s::VARCHAR COLLATE "C" AND experiments.ends > %s::BIGINT AND experiment_slots.family = %s::VARCHAR COLLATE "C" ORDER BY experiment_slots.experiment, experiment_slots.agent',
    ("org", "now", "family"),
)
