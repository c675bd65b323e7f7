"""The statements of `labels.py` one folder up."""

from sqlalchemy import bindparam, delete, select, update

from preceptor.adapters.storage.sql.building import compiled, insert_into, limited, mine
from preceptor.adapters.storage.tables import assignments, instruction_labels, instruction_ratings

_LABEL = (
    instruction_labels.c.family,
    instruction_labels.c.name,
    instruction_labels.c.step,
    instruction_labels.c.instruction,
    instruction_labels.c.user,
    instruction_labels.c.since,
    instruction_labels.c.until,
)
OPEN = insert_into(instruction_labels)
CLOSE = compiled(
    update(instruction_labels)
    .where(
        mine(instruction_labels),
        instruction_labels.c.family == bindparam("of_family"),
        instruction_labels.c.name == bindparam("named"),
        instruction_labels.c.until.is_(None),
    )
    .values(until=bindparam("at"))
)
LAST = compiled(
    limited(
        select(*_LABEL)
        .where(
            mine(instruction_labels),
            instruction_labels.c.family == bindparam("family"),
            instruction_labels.c.name == bindparam("name"),
        )
        .order_by(instruction_labels.c.step.desc())
    )
)
OF_FAMILY = compiled(
    select(*_LABEL)
    .where(
        mine(instruction_labels),
        instruction_labels.c.family == bindparam("family"),
        instruction_labels.c.until.is_(None),
    )
    .order_by(instruction_labels.c.name)
)
OF_FAMILY_AT = compiled(
    select(*_LABEL).where(
        mine(instruction_labels),
        instruction_labels.c.family == bindparam("family"),
        instruction_labels.c.since <= bindparam("at"),
        instruction_labels.c.until.is_(None) | (instruction_labels.c.until > bindparam("at")),
    )
)
OF_AGENT = compiled(
    select(*_LABEL)
    .join_from(
        assignments,
        instruction_labels,
        (instruction_labels.c.org == assignments.c.org) & (instruction_labels.c.family == assignments.c.family),
    )
    .where(
        mine(assignments),
        assignments.c.agent == bindparam("agent"),
        assignments.c.until.is_(None),
        instruction_labels.c.until.is_(None),
    )
)
RATE = insert_into(instruction_ratings)
UNRATE = compiled(
    delete(instruction_ratings).where(
        mine(instruction_ratings),
        instruction_ratings.c.family == bindparam("family"),
        instruction_ratings.c.user == bindparam("user"),
    )
)
