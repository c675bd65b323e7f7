"""The statements of `orgs.py` one folder up."""

from sqlalchemy import bindparam, select

from preceptor.adapters.storage.sql.building import compiled, insert_into, limited
from preceptor.adapters.storage.tables import orgs

# An organisation is looked up by its own id: on PostgreSQL row-level security still hides the others from a tenant.
ADD = insert_into(orgs)
FIND = compiled(select(orgs.c.body).where(orgs.c.org == bindparam("id")))
PAGE = compiled(limited(select(orgs.c.body).where(orgs.c.org > bindparam("after")).order_by(orgs.c.org)))
