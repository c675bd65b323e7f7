"""The statements of `sign_ins.py` one folder up."""

from sqlalchemy import bindparam, delete, select

from preceptor.adapters.storage.sql.building import compiled, insert_into
from preceptor.adapters.storage.tables import sign_ins

ADD = insert_into(sign_ins)
# Whoever holds the token is whom it signs in: the look-up is by its hash, across organisations.
FIND = compiled(select(sign_ins.c.owner, sign_ins.c.expires).where(sign_ins.c.token_hash == bindparam("token_hash")))
# A sweep of the installation, over all organisations.
FORGET_OLD = compiled(delete(sign_ins).where(sign_ins.c.expires <= bindparam("now")))
REMOVE = compiled(delete(sign_ins).where(sign_ins.c.token_hash == bindparam("token_hash")))
