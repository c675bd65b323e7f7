"""The statements of `instructions.py` one folder up."""

from sqlalchemy import Integer, bindparam, func, literal_column, select, update

from preceptor.adapters.storage.sql.building import (
    any_or,
    as_wanted,
    compiled,
    insert_into,
    limited,
    mine,
    update_by_key,
)
from preceptor.adapters.storage.tables import (
    assignments,
    instruction_ratings,
    instruction_statuses,
    instruction_versions,
    instructions,
)

_AT_ONCE = 16
ZERO, ONE = literal_column("0", Integer), literal_column("1", Integer)
ADD = insert_into(instructions)
REPLACE = update_by_key(instructions)
ADD_VERSION = insert_into(instruction_versions)
ADD_STATUS = insert_into(instruction_statuses)
_FAMILY = (
    instructions.c.head,
    instructions.c.status,
    instructions.c.public,
    instructions.c.deleted,
    instructions.c.revision,
)
_VERSION = (
    instruction_versions.c.body,
    instruction_versions.c.status,
    instruction_versions.c.updated,
    instruction_versions.c.updated_by,
)
_USES = (
    select(func.count())
    .select_from(assignments)
    .where(
        mine(assignments),
        assignments.c.family == instructions.c.id,
        assignments.c.until.is_(None),
        assignments.c.active == ONE,
    )
    .correlate(instructions)
    .scalar_subquery()
)
_RATED = (
    select(func.count())
    .select_from(instruction_ratings)
    .where(mine(instruction_ratings), instruction_ratings.c.family == instructions.c.id)
    .correlate(instructions)
    .scalar_subquery()
)
_SCORES = (
    select(func.sum(instruction_ratings.c.score))
    .where(mine(instruction_ratings), instruction_ratings.c.family == instructions.c.id)
    .correlate(instructions)
    .scalar_subquery()
)
_WITH_HEAD = select(*_VERSION, *_FAMILY, _USES, _RATED, _SCORES).join_from(
    instructions,
    instruction_versions,
    (instruction_versions.c.org == instructions.c.org) & (instruction_versions.c.id == instructions.c.head),
)
FIND = compiled(_WITH_HEAD.where(mine(instructions), instructions.c.id == bindparam("id")))
# Newest first; a cursor is the last family shown.
PAGE = compiled(
    limited(
        _WITH_HEAD.where(
            mine(instructions),
            instructions.c.deleted == ZERO,
            *as_wanted(instructions, any_or(instructions.c.status, "status")),
        ).order_by(instructions.c.id.desc())
    )
)
VERSION = compiled(select(*_VERSION).where(mine(instruction_versions), instruction_versions.c.id == bindparam("id")))
VERSIONS = compiled(
    select(*_VERSION).where(mine(instruction_versions), instruction_versions.c.family == bindparam("family"))
)
NAMED = compiled(
    select(*_VERSION).where(
        mine(instruction_versions),
        instruction_versions.c.id.in_([bindparam(f"id_{number}") for number in range(_AT_ONCE)]),
    )
)
MOVE = compiled(
    update(instruction_versions)
    .where(mine(instruction_versions), instruction_versions.c.id == bindparam("named"))
    .values(status=bindparam("to_status"), updated=bindparam("at"), updated_by=bindparam("by"))
)
LAST_STATUS = compiled(
    select(instruction_statuses.c.step).where(
        mine(instruction_statuses),
        instruction_statuses.c.id == bindparam("id"),
        instruction_statuses.c.until.is_(None),
    )
)
END_STATUS = compiled(
    update(instruction_statuses)
    .where(
        mine(instruction_statuses),
        instruction_statuses.c.id == bindparam("named"),
        instruction_statuses.c.until.is_(None),
    )
    .values(until=bindparam("at"))
)
_CANDIDATE = (
    instruction_versions.c.family,
    instruction_versions.c.id,
    instruction_versions.c.version,
)
CANDIDATES = compiled(
    select(*_CANDIDATE, instruction_versions.c.status)
    .join_from(
        assignments,
        instruction_versions,
        (instruction_versions.c.org == assignments.c.org) & (instruction_versions.c.family == assignments.c.family),
    )
    .where(mine(assignments), assignments.c.agent == bindparam("agent"), assignments.c.until.is_(None))
)
CANDIDATES_AT = compiled(
    select(*_CANDIDATE, instruction_statuses.c.status)
    .join_from(
        instruction_statuses,
        instruction_versions,
        (instruction_versions.c.org == instruction_statuses.c.org)
        & (instruction_versions.c.id == instruction_statuses.c.id),
    )
    .where(
        mine(instruction_statuses),
        instruction_statuses.c.family == bindparam("family"),
        instruction_statuses.c.since <= bindparam("at"),
        instruction_statuses.c.until.is_(None) | (instruction_statuses.c.until > bindparam("at")),
    )
)
