"""Written by `make statements` from `sql/waiting.py`."""

from preceptor.adapters.storage.statements import Statement

MESSAGES = Statement(
    "SELECT count(*) AS count_1 \nFROM deliveries \nWHERE deliveries.open = 1 AND deliveries.due < ?",
    "SELECT count(*) AS count_1 \nFROM deliveries \nWHERE deliveries.open = 1 AND deliveries.due < %s::BIGINT",
    ("now",),
)
TASKS = Statement(
    "SELECT count(*) AS count_1 \nFROM tasks \nWHERE tasks.open = 1 AND tasks.lease < ?",
    "SELECT count(*) AS count_1 \nFROM tasks \nWHERE tasks.open = 1 AND tasks.lease < %s::BIGINT",
    ("now",),
)
TURNS = Statement(
    "SELECT count(*) AS count_1 \nFROM turns \nWHERE turns.status = 'running' AND turns.lease < ?",
    "SELECT count(*) AS count_1 \nFROM turns \nWHERE turns.status = 'running' AND turns.lease < %s::BIGINT",
    ("now",),
)
