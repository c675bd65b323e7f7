"""The statements of `published.py` one folder up."""

from sqlalchemy import Integer, bindparam, literal_column, select

from preceptor.adapters.storage.sql.building import as_wanted, compiled, insert_into, limited, mine, update_by_key
from preceptor.adapters.storage.tables import published_instructions as published

ONE = literal_column("1", Integer)
_PUBLICATION = (published.c.org, published.c.body, published.c.head, published.c.withdrawn)
ADD = insert_into(published)
REPLACE = update_by_key(published)
MINE = compiled(select(*_PUBLICATION).where(mine(published), published.c.family == bindparam("family")))
# Reading what was published is the purpose of these: they cross organisations.
FIND = compiled(select(*_PUBLICATION).where(published.c.id == bindparam("id")))
HEAD = compiled(select(*_PUBLICATION).where(published.c.family == bindparam("family"), published.c.head == ONE))
PAGE = compiled(
    limited(select(*_PUBLICATION).where(published.c.head == ONE, *as_wanted(published)).order_by(published.c.id.desc()))
)
