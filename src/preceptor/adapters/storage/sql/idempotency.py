"""The statements of `idempotency.py` one folder up."""

from sqlalchemy import bindparam, delete, select, update

from preceptor.adapters.storage.sql.building import compiled, insert_into, mine
from preceptor.adapters.storage.tables import idempotency

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
FORGET_ONE = compiled(
    delete(idempotency).where(
        mine(idempotency), idempotency.c.key == bindparam("key"), idempotency.c.created <= bindparam("oldest")
    )
)
# A sweep of the installation, over all organisations.
FORGET_OLD = compiled(delete(idempotency).where(idempotency.c.created <= bindparam("oldest")))
