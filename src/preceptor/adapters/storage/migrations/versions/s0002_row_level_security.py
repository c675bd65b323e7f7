"""On PostgreSQL, row-level security on every table that holds an organisation's data.

Revision ID: 0002
"""

from alembic import op

from preceptor.adapters.storage.migrations.fence import fence, make_role

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        make_role()
    fence("orgs", "users", "api_keys", "sign_ins", "agents", "conversations", "streams", "events", "idempotency")
