"""Row-level security: on PostgreSQL the database itself keeps organisations apart, whatever a statement forgets."""

from alembic import op

ROLE = "preceptor_tenant"
VISIBLE = "org = current_setting('preceptor.org', true) OR current_setting('preceptor.org', true) = '*'"

INSIDE_ANY = "coalesce(current_setting('preceptor.org', true), '') <> ''"


def make_role() -> None:
    """A role without privileges of its own, for connections whose user would otherwise be above the fence."""
    op.execute(
        f"""DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}') THEN
            CREATE ROLE {ROLE} NOLOGIN;
            GRANT {ROLE} TO CURRENT_USER;
        END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN NULL;
        END $$"""
    )


def fence(*tables: str) -> None:
    """Put tables behind the fence; a no-op on SQLite."""
    if op.get_context().dialect.name != "postgresql":
        return
    for table in tables:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY one_organisation ON {table} USING ({VISIBLE}) WITH CHECK ({VISIBLE})")
        op.execute(
            f"""DO $$ BEGIN
            IF EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}') THEN
                GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {ROLE};
            END IF; END $$"""
        )


def show_to_all(table: str) -> None:
    """Let every organisation read a fenced table. Its rows are still changed by their owner alone."""
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"CREATE POLICY shown_to_all ON {table} FOR SELECT USING ({INSIDE_ANY})")
