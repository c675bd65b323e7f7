"""The statements of `agents.py` one folder up."""

from preceptor.adapters.storage.sql.building import bodies_after, body_by_id, insert_into, update_by_key
from preceptor.adapters.storage.tables import agents

ADD = insert_into(agents)
REPLACE = update_by_key(agents)
FIND = body_by_id(agents)
PAGE = bodies_after(agents)
