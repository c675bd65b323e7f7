"""The statements of `assignments.py` one folder up."""

from sqlalchemy import Integer, bindparam, case, func, literal_column, select, update

from preceptor.adapters.storage.sql.building import compiled, insert_into, mine
from preceptor.adapters.storage.tables import assignments, instruction_versions, instructions

ONE = literal_column("1", Integer)
_NOW = assignments.c.until.is_(None)
_ORDER = (assignments.c.priority, assignments.c.seq, assignments.c.id)
OPEN = insert_into(assignments)
CLOSE = compiled(
    update(assignments)
    .where(mine(assignments), assignments.c.id == bindparam("named"), _NOW)
    .values(until=bindparam("at"))
)
FIND = compiled(
    select(assignments.c.body).where(
        mine(assignments), assignments.c.agent == bindparam("agent"), assignments.c.family == bindparam("family"), _NOW
    )
)
OF_AGENT = compiled(
    select(assignments.c.body)
    .where(mine(assignments), assignments.c.agent == bindparam("agent"), _NOW)
    .order_by(*_ORDER)
)
# Each with the head of its family, which is what most of them mean, and of heads that are newer all that they say.
OF_AGENT_WITH_HEADS = compiled(
    select(
        assignments.c.body,
        instruction_versions.c.id,
        instruction_versions.c.version,
        instruction_versions.c.status,
        case((instruction_versions.c.id > bindparam("newer_than"), instruction_versions.c.body)),
        instruction_versions.c.updated,
        instruction_versions.c.updated_by,
    )
    .select_from(
        assignments.outerjoin(
            instructions, (instructions.c.org == assignments.c.org) & (instructions.c.id == assignments.c.family)
        ).outerjoin(
            instruction_versions,
            (instruction_versions.c.org == instructions.c.org) & (instruction_versions.c.id == instructions.c.head),
        )
    )
    .where(mine(assignments), assignments.c.agent == bindparam("agent"), _NOW)
)
OF_AGENT_AT = compiled(
    select(assignments.c.body)
    .where(
        mine(assignments),
        assignments.c.agent == bindparam("agent"),
        assignments.c.since <= bindparam("at"),
        _NOW | (assignments.c.until > bindparam("at")),
    )
    .order_by(*_ORDER)
)
OF_FAMILY = compiled(
    select(assignments.c.body)
    .where(mine(assignments), assignments.c.family == bindparam("family"), _NOW)
    .order_by(assignments.c.agent)
)
LAST_SEQ = compiled(
    select(func.max(assignments.c.seq)).where(mine(assignments), assignments.c.agent == bindparam("agent"))
)
