"""The statements of `experiments.py` one folder up."""

from sqlalchemy import Text, and_, bindparam, cast, delete, literal_column, or_, select

from preceptor.adapters.storage.sql.building import body_by_id, compiled, insert_into, limited, mine, update_by_key
from preceptor.adapters.storage.turn_tables import experiment_slots as slots
from preceptor.adapters.storage.turn_tables import experiments

RUNNING = literal_column("'running'", Text)
ADD = insert_into(experiments)
REPLACE = update_by_key(experiments)
FIND = body_by_id(experiments)
# Newest first; a cursor is the last id shown.
PAGE = compiled(
    limited(
        select(experiments.c.body)
        .where(
            mine(experiments),
            or_(cast(bindparam("after"), Text).is_(None), experiments.c.id < bindparam("after")),
            or_(cast(bindparam("status"), Text).is_(None), experiments.c.status == bindparam("status")),
        )
        .order_by(experiments.c.id.desc())
    )
)
# The sweep of the installation, over all organisations.
RUNS = compiled(
    limited(
        select(experiments.c.org, experiments.c.id)
        .where(experiments.c.status == RUNNING, experiments.c.id > bindparam("after"))
        .order_by(experiments.c.id)
    )
)
TAKE = insert_into(slots)
LEAVE = compiled(delete(slots).where(mine(slots), slots.c.experiment == bindparam("experiment")))
_SLOT = (slots.c.agent, slots.c.family, slots.c.experiment, slots.c.control, slots.c.variant)
TAKEN = compiled(
    select(*_SLOT).where(mine(slots), slots.c.agent == bindparam("agent"), slots.c.family == bindparam("family"))
)
_ON = (
    select(*_SLOT)
    .join(experiments, and_(experiments.c.org == slots.c.org, experiments.c.id == slots.c.experiment))
    .where(mine(slots), experiments.c.ends > bindparam("now"))
    .order_by(slots.c.experiment, slots.c.agent)
)
WITH_FAMILY = compiled(_ON.where(slots.c.family == bindparam("family")))
SLOTS = compiled(_ON)
WITH_AGENT = compiled(
    select(experiments.c.id, experiments.c.body)
    .distinct()
    .select_from(slots)
    .join(experiments, and_(experiments.c.org == slots.c.org, experiments.c.id == slots.c.experiment))
    .where(mine(slots), slots.c.agent == bindparam("agent"))
    .order_by(experiments.c.id)
)
