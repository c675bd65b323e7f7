"""The statements of `tasks.py` one folder up."""

from sqlalchemy import Integer, Text, bindparam, cast, exists, insert, literal_column, select, update

from preceptor.adapters.storage.sql.building import changed_to, compiled, insert_into, limited, mine
from preceptor.adapters.storage.sql.leases import Leased
from preceptor.adapters.storage.task_tables import task_conversations, tasks

ONE = literal_column("1", Integer)
ADD = insert_into(tasks)
_THIS = (mine(tasks), tasks.c.id == bindparam("named"))
FIND = compiled(select(tasks).where(*_THIS))
_ANY = cast(bindparam("any_status"), Integer) == ONE
_ANYONE = cast(bindparam("any_user"), Integer) == ONE
PAGE = compiled(
    limited(
        select(tasks)
        .where(
            mine(tasks),
            tasks.c.kind == bindparam("of_kind"),
            tasks.c.id < bindparam("before"),
            _ANY | (tasks.c.status == bindparam("with_status")),
            _ANYONE | (tasks.c.user == bindparam("of_user")),
        )
        .order_by(tasks.c.id.desc())
    )
)
KEEP = compiled(update(tasks).where(*_THIS).values(changed_to("open", "status", "cancel", "body")))
_LEASED = Leased(tasks, tasks.c.open == ONE)
TAKE = _LEASED.take()
CANCEL = _LEASED.cancel()
EXTEND = _LEASED.extend()
WAIT = _LEASED.wait()
RELEASE = _LEASED.release()
EXPIRED = _LEASED.expired()
TO_CANCEL = _LEASED.to_cancel()
_USED = exists().where(
    mine(task_conversations),
    task_conversations.c.conversation == bindparam("conversation"),
    task_conversations.c.task == bindparam("task"),
)
USE = compiled(
    insert(task_conversations).from_select(
        ["org", "conversation", "task"],
        select(
            cast(bindparam("org"), Text), cast(bindparam("conversation"), Text), cast(bindparam("task"), Text)
        ).where(~_USED),
    )
)
USING = compiled(
    select(task_conversations.c.task).where(
        mine(task_conversations), task_conversations.c.conversation == bindparam("of")
    )
)
