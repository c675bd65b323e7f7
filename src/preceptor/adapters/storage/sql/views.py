"""The statements of `views.py` one folder up."""

from sqlalchemy import bindparam, select

from preceptor.adapters.storage.sql.building import compiled, insert_into, limited, mine
from preceptor.adapters.storage.turn_tables import views

ADD = insert_into(views)
_THIS = (mine(views), views.c.conversation == bindparam("of"))
CURRENT = compiled(limited(select(views.c.body).where(*_THIS).order_by(views.c.step.desc())))
ALL = compiled(select(views.c.body).where(*_THIS).order_by(views.c.step))
