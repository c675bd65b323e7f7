"""The statements of `histories.py` one folder up."""

from sqlalchemy import bindparam, select

from preceptor.adapters.storage.sql.building import compiled, insert_into, mine, update_by_key
from preceptor.adapters.storage.turn_tables import histories

FIND = compiled(
    select(histories.c.body).where(
        mine(histories), histories.c.conversation == bindparam("conversation"), histories.c.view == bindparam("view")
    )
)
ADD = insert_into(histories)
REPLACE = update_by_key(histories)
