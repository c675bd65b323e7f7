"""Alembic's entry point: the connection is given by `schema.upgrade`, there is no configuration file."""

from alembic import context
from sqlalchemy import Connection

from preceptor.adapters.storage.webhook_tables import metadata

connection: Connection = context.config.attributes["connection"]
context.configure(
    connection=connection, target_metadata=metadata, transaction_per_migration=True, transactional_ddl=True
)
with context.begin_transaction():
    context.run_migrations()
