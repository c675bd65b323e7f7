"""The statements of `users.py` one folder up."""

from preceptor.adapters.storage.sql.building import bodies_after, body_by_id, insert_into
from preceptor.adapters.storage.tables import users

ADD = insert_into(users)
FIND = body_by_id(users)
PAGE = bodies_after(users)
