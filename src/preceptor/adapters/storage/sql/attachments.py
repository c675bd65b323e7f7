"""The statements of `attachments.py` one folder up."""

from sqlalchemy import bindparam, delete, select, update

from preceptor.adapters.storage.sql.building import compiled, insert_into, mine
from preceptor.adapters.storage.turn_tables import attachments

ADD = insert_into(attachments)
_THIS = (mine(attachments), attachments.c.id == bindparam("named"))
FIND = compiled(
    select(
        attachments.c.id,
        attachments.c.user,
        attachments.c.conversation,
        attachments.c.media_type,
        attachments.c.name,
        attachments.c.size,
        attachments.c.text,
        attachments.c.created,
    ).where(*_THIS)
)
DATA = compiled(select(attachments.c.data).where(*_THIS))
SAY_IN = compiled(update(attachments).where(*_THIS).values(conversation=bindparam("said_in")))
SAID_IN = compiled(
    select(attachments.c.id).where(mine(attachments), attachments.c.conversation == bindparam("said_in"))
)
ERASE = compiled(delete(attachments).where(mine(attachments), attachments.c.conversation == bindparam("said_in")))
# A sweep of the installation, over all organisations.
FORGET = compiled(
    delete(attachments).where(attachments.c.conversation.is_(None), attachments.c.created < bindparam("before"))
)
