"""Where a database is. Knows no database: a command that finds a server running needs none."""

from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import msgspec

from preceptor.domain.errors import CannotStart

FORMS = "Write it as sqlite:///path/to/file.db or postgresql://user:password@host/database."
USUAL_PORT = 5432
SPELLED = "Write @ as %40, / as %2F, # as %23 and % as %25 there."


class SqliteFile(msgspec.Struct, frozen=True):
    path: Path

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    @property
    def is_there(self) -> bool:
        try:
            return self.path.exists()
        except OSError as error:
            raise CannotStart(
                f"The database file {self.path} cannot be looked at ({error.strerror}). "
                "Check who owns its folder, or correct PRECEPTOR_DATA_DIR or PRECEPTOR_DATABASE_URL."
            ) from None


class PostgresDatabase(msgspec.Struct, frozen=True):
    url: str


Database = SqliteFile | PostgresDatabase


def locate(url: str) -> Database:
    """Read a database URL."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return SqliteFile(_whole(Path(rest[1:])))
    if scheme in {"postgresql", "postgres"}:
        try:
            parts = urlsplit(url)
            if parts.netloc.count("@") > 1 or "@" in parts.path + parts.fragment:
                raise CannotStart(
                    f"PRECEPTOR_DATABASE_URL has a sign in its name or password that ends them. {SPELLED}"
                )
            return PostgresDatabase("postgresql://" + (_of_several(parts) or rest))
        except ValueError:
            raise CannotStart(f"PRECEPTOR_DATABASE_URL names a port that is not a number. {FORMS}") from None
    raise CannotStart(f"PRECEPTOR_DATABASE_URL is not a database address we know. {FORMS}")


def _of_several(parts: SplitResult) -> str | None:
    """Hosts with commas between them, as everyone here reads them: only PostgreSQL's own library knows that form."""
    user, at, hosts = parts.netloc.rpartition("@")
    if "," not in hosts:
        parts.port  # noqa: B018 - raises when the port is not a number
        return None
    each = [urlsplit(f"//{host}") for host in hosts.split(",")]
    named = ",".join(one.hostname or "" for one in each)
    ports = ",".join(str(one.port or USUAL_PORT) for one in each)
    query = "&".join(filter(None, (f"host={named}&port={ports}", parts.query)))
    return f"{user}{at}{parts.path}?{query}"


def _whole(path: Path) -> Path:
    try:
        return path.expanduser().absolute()
    except RuntimeError:
        raise CannotStart("PRECEPTOR_DATABASE_URL names the home of a user that does not exist. Correct it.") from None
