"""The statements of `replays.py` one folder up."""

from sqlalchemy import Integer, bindparam, cast, delete, insert, literal_column, select

from preceptor.adapters.storage.sql.building import compiled, limited, mine
from preceptor.adapters.storage.task_tables import replay_items as items

ONE = literal_column("1", Integer)
ADD = compiled(insert(items).values({column.name: bindparam(column.name) for column in items.c}))
DIGESTS = compiled(
    select(items.c.place, items.c.digest).where(mine(items), items.c.replay == bindparam("of")).order_by(items.c.place)
)
PAGE = compiled(
    limited(
        select(items.c.place, items.c.conversation, items.c.changed, items.c.digest, items.c.body)
        .where(
            mine(items),
            items.c.replay == bindparam("of"),
            items.c.place > bindparam("after"),
            (cast(bindparam("all_of_them"), Integer) == ONE) | (items.c.changed == ONE),
        )
        .order_by(items.c.place)
    )
)
USING = compiled(select(items.c.replay).where(mine(items), items.c.conversation == bindparam("said_in")).distinct())
ERASE = compiled(delete(items).where(mine(items), items.c.conversation == bindparam("said_in")))
