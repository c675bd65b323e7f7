"""The statements of `exposures.py` one folder up."""

from sqlalchemy import Text, and_, bindparam, cast, delete, func, or_, select, update

from preceptor.adapters.storage.sql.building import compiled, insert_into, limited, mine
from preceptor.adapters.storage.tables import conversations
from preceptor.adapters.storage.turn_tables import exposures, signals

_NAMES = ("org", "experiment", "conversation", "unit", "arm")
_SUMS = tuple(column.name for column in exposures.c if column.name not in _NAMES)
_THESE = (mine(exposures), exposures.c.experiment == bindparam("of"))
ADD = insert_into(exposures)
MORE = compiled(
    update(exposures)
    .where(*_THESE, exposures.c.conversation == bindparam("in_"))
    .values({name: exposures.c[name] + bindparam(f"more_{name}", type_=exposures.c[name].type) for name in _SUMS})
)
_TALLY = (exposures.c.conversation, exposures.c.unit, exposures.c.arm, *(exposures.c[name] for name in _SUMS))
ALL = compiled(select(*_TALLY).where(*_THESE).order_by(exposures.c.conversation))
PAGE = compiled(
    limited(
        select(*_TALLY)
        .where(
            *_THESE,
            exposures.c.conversation > bindparam("after"),
            or_(cast(bindparam("arm"), Text).is_(None), exposures.c.arm == bindparam("arm")),
        )
        .order_by(exposures.c.conversation)
    )
)
_SAID = and_(signals.c.org == exposures.c.org, signals.c.conversation == exposures.c.conversation)
SAID = compiled(
    select(exposures.c.conversation, signals.c.metric, func.sum(signals.c.value), func.count())
    .select_from(exposures)
    .join(signals, _SAID)
    .where(*_THESE, exposures.c.conversation >= bindparam("first"), exposures.c.conversation <= bindparam("last"))
    .group_by(exposures.c.conversation, signals.c.metric)
)
# Ids of conversations grow with time, so those since a moment are found by the first id that it could have given.
TRAFFIC = compiled(
    select(func.count(), func.count(conversations.c.user.distinct())).where(
        mine(conversations), conversations.c.agent == bindparam("agent"), conversations.c.id >= bindparam("first")
    )
)
TELL = insert_into(signals)
UNTELL = compiled(
    delete(signals).where(
        mine(signals),
        signals.c.conversation == bindparam("conversation"),
        signals.c.metric == bindparam("metric"),
        signals.c.about == bindparam("about"),
        signals.c.user == bindparam("user"),
    )
)
