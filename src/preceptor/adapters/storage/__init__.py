"""One schema and one set of statements, for SQLite and PostgreSQL alike.

SQLAlchemy Core describes the tables and compiles each statement once, at import; `sqlite3` and `psycopg` run them.
"""
