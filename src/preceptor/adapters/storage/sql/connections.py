"""The statements of `connections.py` one folder up."""

from sqlalchemy import bindparam, delete, select

from preceptor.adapters.storage.connection_tables import mcp_servers, providers
from preceptor.adapters.storage.sql.building import compiled, insert_into, mine, update_by_key

ADD_PROVIDER, REPLACE_PROVIDER = insert_into(providers), update_by_key(providers)
ADD_SERVER, REPLACE_SERVER = insert_into(mcp_servers), update_by_key(mcp_servers)
FIND_PROVIDER = compiled(
    select(providers.c.body, providers.c.sealed).where(mine(providers), providers.c.id == bindparam("id"))
)
FIND_SERVER = compiled(
    select(mcp_servers.c.body, mcp_servers.c.sealed).where(mine(mcp_servers), mcp_servers.c.id == bindparam("id"))
)
ALL_PROVIDERS = compiled(select(providers.c.body, providers.c.sealed).where(mine(providers)).order_by("id"))
ALL_SERVERS = compiled(select(mcp_servers.c.body, mcp_servers.c.sealed).where(mine(mcp_servers)).order_by("id"))
REMOVE_PROVIDER = compiled(delete(providers).where(mine(providers), providers.c.id == bindparam("id")))
REMOVE_SERVER = compiled(delete(mcp_servers).where(mine(mcp_servers), mcp_servers.c.id == bindparam("id")))
