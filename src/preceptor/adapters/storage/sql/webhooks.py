"""The statements of `webhooks.py` one folder up."""

from sqlalchemy import Integer, bindparam, delete, literal_column, select, update

from preceptor.adapters.storage.sql.building import changed_to, compiled, insert_into, limited, mine
from preceptor.adapters.storage.webhook_tables import deliveries, webhooks

ONE, NONE = literal_column("1", Integer), literal_column("0", Integer)
ADD = insert_into(webhooks)
_THIS = (mine(webhooks), webhooks.c.id == bindparam("named"))
FIND = compiled(select(webhooks.c.body, webhooks.c.sealed).where(*_THIS))
REPLACE = compiled(update(webhooks).where(*_THIS).values(changed_to("body")))
RESEAL = compiled(update(webhooks).where(*_THIS).values(changed_to("sealed")))
REMOVE = compiled(delete(webhooks).where(*_THIS))
ALL = compiled(select(webhooks.c.body).where(mine(webhooks)).order_by(webhooks.c.id))
# Sending is the installation's: a process waits until some organisation has a webhook.
ANY = compiled(limited(select(webhooks.c.id)))
_SHOWN = (deliveries.c.org, deliveries.c.open, deliveries.c.status, deliveries.c.due, deliveries.c.body)
_ONE = (mine(deliveries), deliveries.c.id == bindparam("named"))
_OF = (mine(deliveries), deliveries.c.webhook == bindparam("of"))
ADD_DELIVERY = insert_into(deliveries)
FIND_DELIVERY = compiled(select(*_SHOWN).where(*_ONE))
MESSAGE = compiled(select(deliveries.c.message).where(*_ONE))
KEEP = compiled(update(deliveries).where(*_ONE).values(changed_to("open", "status", "due", "worker", "body")))
PAGE = compiled(
    limited(select(*_SHOWN).where(*_OF, deliveries.c.id < bindparam("before")).order_by(deliveries.c.id.desc()))
)
GIVE_UP = compiled(update(deliveries).where(*_OF, deliveries.c.open == ONE).values(changed_to("open", "status")))
FORGET = compiled(delete(deliveries).where(*_OF))
CLAIM = compiled(
    update(deliveries)
    .where(*_ONE, deliveries.c.open == ONE, deliveries.c.due == bindparam("seen"))
    .values(changed_to("due", "worker"))
)
# For the same reason a process sends what is due in every organisation.
DUE = compiled(
    limited(
        select(*_SHOWN).where(deliveries.c.open == ONE, deliveries.c.due <= bindparam("now")).order_by(deliveries.c.due)
    )
)
RELEASE = compiled(
    update(deliveries)
    .where(deliveries.c.open == ONE, deliveries.c.worker.is_not(None), deliveries.c.worker != bindparam("but"))
    .values(due=bindparam("now"), worker=bindparam("to_worker"))
)
# A sweep of the installation, over all organisations.
FORGET_OLD = compiled(delete(deliveries).where(deliveries.c.created < bindparam("before"), deliveries.c.open == NONE))
