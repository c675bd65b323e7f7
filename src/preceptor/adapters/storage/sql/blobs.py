"""The statements of `blobs.py` one folder up."""

from sqlalchemy import Text, bindparam, cast, delete, exists, insert, select

from preceptor.adapters.storage.sql.building import compiled, mine
from preceptor.adapters.storage.turn_tables import blobs

_HERE = exists().where(mine(blobs), blobs.c.sha256 == bindparam("sha256"))
PUT = compiled(
    insert(blobs).from_select(
        ["org", "sha256", "body"],
        select(cast(bindparam("org"), Text), cast(bindparam("sha256"), Text), cast(bindparam("body"), Text)).where(
            ~_HERE
        ),
    )
)
GET = compiled(select(blobs.c.body).where(mine(blobs), blobs.c.sha256 == bindparam("sha256")))
REMOVE = compiled(delete(blobs).where(mine(blobs), blobs.c.sha256 == bindparam("sha256")))
