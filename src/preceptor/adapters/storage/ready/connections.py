"""Written by `make statements` from `sql/connections.py`."""

from preceptor.adapters.storage.statements import Statement

ADD_PROVIDER = Statement(
    "INSERT INTO providers (org, id, sealed, body) VALUES (?, ?, ?, ?)",
    'INSERT INTO providers (org, id, sealed, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s, %s::VARCHAR)',
    ("org", "id", "sealed", "body"),
)
ADD_SERVER = Statement(
    "INSERT INTO mcp_servers (org, id, sealed, body) VALUES (?, ?, ?, ?)",
    'INSERT INTO mcp_servers (org, id, sealed, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s, %s::VARCHAR)',
    ("org", "id", "sealed", "body"),
)
ALL_PROVIDERS = Statement(
    "SELECT providers.body, providers.sealed \nFROM providers \nWHERE providers.org = ? ORDER BY providers.id",
    'SELECT providers.body, providers.sealed \nFROM providers \nWHERE providers.org = %s::VARCHAR COLLATE "C" ORDER BY providers.id',
    ("org",),
)
ALL_SERVERS = Statement(
    "SELECT mcp_servers.body, mcp_servers.sealed \nFROM mcp_servers \nWHERE mcp_servers.org = ? ORDER BY mcp_servers.id",
    'SELECT mcp_servers.body, mcp_servers.sealed \nFROM mcp_servers \nWHERE mcp_servers.org = %s::VARCHAR COLLATE "C" ORDER BY mcp_servers.id',
    ("org",),
)
FIND_PROVIDER = Statement(
    "SELECT providers.body, providers.sealed \nFROM providers \nWHERE providers.org = ? AND providers.id = ?",
    'SELECT providers.body, providers.sealed \nFROM providers \nWHERE providers.org = %s::VARCHAR COLLATE "C" AND providers.id = %s::VARCHAR COLLATE "C"',
    ("org", "id"),
)
FIND_SERVER = Statement(
    "SELECT mcp_servers.body, mcp_servers.sealed \nFROM mcp_servers \nWHERE mcp_servers.org = ? AND mcp_servers.id = ?",
    'SELECT mcp_servers.body, mcp_servers.sealed \nFROM mcp_servers \nWHERE mcp_servers.org = %s::VARCHAR COLLATE "C" AND mcp_servers.id = %s::VARCHAR COLLATE "C"',
    ("org", "id"),
)
REMOVE_PROVIDER = Statement(
    "DELETE FROM providers WHERE providers.org = ? AND providers.id = ?",
    'DELETE FROM providers WHERE providers.org = %s::VARCHAR COLLATE "C" AND providers.id = %s::VARCHAR COLLATE "C"',
    ("org", "id"),
)
REMOVE_SERVER = Statement(
    "DELETE FROM mcp_servers WHERE mcp_servers.org = ? AND mcp_servers.id = ?",
    'DELETE FROM mcp_servers WHERE mcp_servers.org = %s::VARCHAR COLLATE "C" AND mcp_servers.id = %s::VARCHAR COLLATE "C"',
    ("org", "id"),
)
REPLACE_PROVIDER = Statement(
    "UPDATE providers SET sealed=?, body=? WHERE providers.org = ? AND providers.id = ?",
    'UPDATE providers SET sealed=%s, body=%s::VARCHAR WHERE providers.org = %s::VARCHAR COLLATE "C" AND providers.id = %s::VARCHAR COLLATE "C"',
    ("sealed", "body", "org", "id"),
)
REPLACE_SERVER = Statement(
    "UPDATE mcp_servers SET sealed=?, body=? WHERE mcp_servers.org = ? AND mcp_servers.id = ?",
    'UPDATE mcp_servers SET sealed=%s, body=%s::VARCHAR WHERE mcp_servers.org = %s::VARCHAR COLLATE "C" AND mcp_servers.id = %s::VARCHAR COLLATE "C"',
    ("sealed", "body", "org", "id"),
)
