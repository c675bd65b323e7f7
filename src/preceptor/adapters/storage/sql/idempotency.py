"""The statements of `idempotency.py` one folder up."""

from sqlalchemy import bindparam, delete, select, update

from preceptor.adapters.storage.sql.building import compiled, insert_into, mine
from preceptor.adapters.storage.tables import idempotency
from preceptor.adapters.storage.tables import idempotency_about as about

ADD = insert_into(idempotency)
FIND = compiled(
    select(idempotency.c.fingerprint, idempotency.c.answer).where(
        mine(idempotency), idempotency.c.key == bindparam("key"), idempotency.c.created > bindparam("oldest")
    )
)
SETTLE = compiled(
    update(idempotency)
    .where(mine(idempotency), idempotency.c.key == bindparam("named"))
    .values(answer=bindparam("given"))
)
TELL_ABOUT = insert_into(about)
KEPT_ABOUT = compiled(select(about.c.key, about.c.created).where(mine(about), about.c.about == bindparam("named")))
# Only the request that was about it: its key may be in use again.
ERASE = compiled(
    update(idempotency)
    .where(mine(idempotency), idempotency.c.key == bindparam("named"), idempotency.c.created == bindparam("then"))
    .values(answer=bindparam("given"), fingerprint=bindparam("asked"))
)
FORGET_ONE = compiled(
    delete(idempotency).where(
        mine(idempotency), idempotency.c.key == bindparam("key"), idempotency.c.created <= bindparam("oldest")
    )
)
# A sweep of the installation, over all organisations.
FORGET_OLD = compiled(delete(idempotency).where(idempotency.c.created <= bindparam("oldest")))
FORGET_OLD_ABOUT = compiled(delete(about).where(about.c.created <= bindparam("oldest")))
