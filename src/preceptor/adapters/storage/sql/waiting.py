"""The statements of `waiting.py` one folder up."""

from sqlalchemy import Integer, Text, bindparam, func, literal_column, select

from preceptor.adapters.storage.sql.building import compiled
from preceptor.adapters.storage.task_tables import tasks
from preceptor.adapters.storage.turn_tables import turns
from preceptor.adapters.storage.webhook_tables import deliveries

_OPEN = literal_column("1", Integer)
_RUNNING = literal_column("'running'", Text)
# A look at the whole installation, over all organisations.
TURNS = compiled(
    select(func.count()).select_from(turns).where(turns.c.status == _RUNNING, turns.c.lease < bindparam("now"))
)
TASKS = compiled(select(func.count()).select_from(tasks).where(tasks.c.open == _OPEN, tasks.c.lease < bindparam("now")))
MESSAGES = compiled(
    select(func.count()).select_from(deliveries).where(deliveries.c.open == _OPEN, deliveries.c.due < bindparam("now"))
)
