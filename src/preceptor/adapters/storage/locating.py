"""Where a database is. Knows no database: a command that finds a server running needs none."""

from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from preceptor.domain.errors import CannotStart

FORMS = "Write it as sqlite:///path/to/file.db or postgresql://user:password@host/database."


class SqliteFile(msgspec.Struct, frozen=True):
    path: Path

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"


class PostgresDatabase(msgspec.Struct, frozen=True):
    url: str


Database = SqliteFile | PostgresDatabase


def locate(url: str) -> Database:
    """Read a database URL."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return SqliteFile(Path(rest[1:]).expanduser().absolute())
    if scheme in {"postgresql", "postgres"}:
        try:
            urlsplit(url).port  # noqa: B018 - raises when the port is not a number
        except ValueError:
            raise CannotStart(f"PRECEPTOR_DATABASE_URL names a port that is not a number. {FORMS}") from None
        return PostgresDatabase("postgresql://" + rest)
    raise CannotStart(f"PRECEPTOR_DATABASE_URL is not a database address we know. {FORMS}")
