"""The statements of `tasks.py` one folder up."""

from sqlalchemy import Integer, Text, bindparam, cast, exists, insert, literal_column, select, update

from preceptor.adapters.storage.sql.building import compiled, insert_into, limited, mine
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
KEEP = compiled(
    update(tasks)
    .where(*_THIS)
    .values(
        open=bindparam("to_open"),
        status=bindparam("to_status"),
        cancel=bindparam("to_cancel"),
        body=bindparam("to_body"),
    )
)
TAKE = compiled(
    update(tasks).where(*_THIS, tasks.c.open == ONE).values(worker=bindparam("to_worker"), lease=bindparam("to_lease"))
)
CANCEL = compiled(update(tasks).where(*_THIS, tasks.c.open == ONE).values(cancel=bindparam("by")))
# Leases are the installation's: a worker extends and takes over tasks of every organisation.
EXTEND = compiled(
    update(tasks).where(tasks.c.worker == bindparam("by"), tasks.c.open == ONE).values(lease=bindparam("until"))
)
# Whoever held it is gone, and no one has taken it up since.
WAIT = compiled(
    update(tasks)
    .where(
        *_THIS, tasks.c.open == ONE, tasks.c.worker == bindparam("of_worker"), tasks.c.lease == bindparam("of_lease")
    )
    .values(worker=literal_column("''", Text), lease=bindparam("until"))
)
RELEASE = compiled(
    update(tasks)
    .where(tasks.c.worker == bindparam("by"), tasks.c.open == ONE)
    .values(worker=literal_column("''", Text), lease=literal_column("0", Integer))
)
EXPIRED = compiled(
    limited(
        select(tasks)
        .where(tasks.c.open == ONE, tasks.c.lease < bindparam("before"), tasks.c.worker != bindparam("but"))
        .order_by(tasks.c.lease)
    )
)
TO_CANCEL = compiled(
    select(tasks.c.org, tasks.c.id).where(
        tasks.c.worker == bindparam("by"), tasks.c.open == ONE, tasks.c.cancel.is_not(None)
    )
)
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
