"""The statements of `keys.py` one folder up."""

from sqlalchemy import bindparam, literal_column, or_, select

from preceptor.adapters.storage.sql.building import bodies_after, compiled, insert_into, mine, update_by_key
from preceptor.adapters.storage.tables import api_keys
from preceptor.domain.ownership import INSTALLATION

ADD = insert_into(api_keys)
REPLACE = update_by_key(api_keys)
PAGE = bodies_after(api_keys)
# The one look-up that may cross organisations: a credential is what tells us the organisation.
FIND = compiled(
    select(api_keys.c.org, api_keys.c.secret_hash, api_keys.c.body).where(
        api_keys.c.id == bindparam("id"), or_(mine(api_keys), bindparam("org") == literal_column(f"'{INSTALLATION}'"))
    )
)
