"""More checks of `preceptor doctor`: what waits, the secret key, traces, and which parts are installed."""

import socket
import stat
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from preceptor.domain.errors import PreceptorError
from preceptor.surfaces.cli.findings import Finding, Status

if TYPE_CHECKING:
    from preceptor.adapters.storage.opening import Database
    from preceptor.settings import Settings

LATE = timedelta(minutes=1)
"""After which someone should have carried on."""
EXTRAS = {
    "server": "fastapi",
    "local": "xllamacpp",
    "postgres": "psycopg",
    "durable": "dbos",
    "mcp": "mcp",
    "providers": "pydantic_ai",
    "otel": "opentelemetry.sdk",
}


def runner(database: "Database") -> Finding:
    """Whether something goes on by itself, or should and does not."""
    from preceptor.adapters.storage.waiting import waiting_in

    if not _is_ours(database):
        return Finding("runner", Status.INFO, "Nothing can wait before there is a database of this version.")
    found = waiting_in(database, datetime.now(UTC) - LATE)
    counts = {"turns": found.turns, "executions or replays": found.tasks, "messages to webhooks": found.messages}
    late = [f"{count} {what}" for what, count in counts.items() if count]
    if late:
        said = f"Nobody carries on with {' and '.join(late)}."
        return Finding("runner", Status.WARN, said, "Start `preceptor serve`: it takes up what others left.")
    return Finding("runner", Status.OK, "Nothing waits that someone should carry on with.")


def secret_key(settings: "Settings") -> Finding:
    """The key that stored secrets are sealed with, and whether it is the one that opens them."""
    closed = _closed_to(settings)
    if not closed:
        return _kept_key(settings)
    said = f"It does not open {closed} stored secrets of providers, MCP servers or webhooks."
    return Finding("secret key", Status.FAIL, said, "Start with the key they were sealed with, or enter them again.")


def _closed_to(settings: "Settings") -> int:
    """How many stored secrets do not open. What is wrong with the database or the file is told elsewhere."""
    from preceptor.adapters.storage.opening import locate
    from preceptor.adapters.storage.sealed import sealed_in

    try:
        key = settings.kept_secret_key.found()
        database = locate(settings.database)
        return sum(not _opens(key, *one) for one in sealed_in(database)) if _is_ours(database) else 0
    except PreceptorError:
        return 0


def _opens(key: str | None, sealed: bytes, context: bytes) -> bool:
    from preceptor.adapters.sealing import SealBroken, SealedBox

    try:
        return key is not None and bool(SealedBox(key).open(sealed, context))
    except SealBroken:
        return False


def _is_ours(database: "Database") -> bool:
    """Whether it is there, and of this version."""
    from preceptor.adapters.storage.opening import SqliteFile, revision_of
    from preceptor.adapters.storage.schema import HEAD

    return (not isinstance(database, SqliteFile) or database.is_there) and revision_of(database) == HEAD


def _kept_key(settings: "Settings") -> Finding:
    if settings.secret_key is not None:
        return Finding("secret key", Status.OK, "It comes from PRECEPTOR_SECRET_KEY.")
    file = settings.data_dir / "secret.key"
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        return Finding("secret key", Status.INFO, "There is none yet; the first start makes one.")
    except OSError as error:
        return Finding("secret key", Status.WARN, f"{file} cannot be read ({error.strerror}).", "Check who owns it.")
    if mode & 0o077:
        return Finding("secret key", Status.WARN, f"Others on this machine can read {file}.", f"chmod 600 {file}")
    return Finding("secret key", Status.OK, "Only its owner can read it. Back it up: without it no stored key opens.")


def tracing(settings: "Settings") -> Finding:
    """Where traces go, and whether someone listens there."""
    endpoint = settings.otel_endpoint
    if endpoint is None:
        return Finding("traces", Status.INFO, "They are off.", "Set PRECEPTOR_OTEL_ENDPOINT to send them somewhere.")
    if not _is_there(EXTRAS["otel"]):
        return Finding("traces", Status.FAIL, "The extra is missing.", 'Run `pip install "preceptor[otel]"`.')
    try:
        parts = urlsplit(endpoint)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), timeout=3).close()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        return Finding("traces", Status.WARN, f"Nobody listens at {endpoint} ({why}).", "Start the collector.")
    told = "with what was said" if settings.otel_content else "without what was said"
    return Finding("traces", Status.OK, f"They go to {endpoint}, {told}.")


def extras() -> Finding:
    """Which optional parts are installed."""
    there = [name for name, module in EXTRAS.items() if _is_there(module)]
    missing = [name for name in EXTRAS if name not in there]
    said = f"Installed: {', '.join(there) or 'none'}."
    remedy = f'Add others with `pip install "preceptor[{",".join(missing)}]"`.' if missing else ""
    return Finding("extras", Status.INFO if missing else Status.OK, said, remedy)


def extra_with(module: str) -> str | None:
    """The extra that brings a module which is not here; None if none does."""
    top = module.partition(".")[0]
    brought = {one.partition(".")[0]: name for name, one in EXTRAS.items()}
    if top in brought or top == __name__.partition(".")[0]:
        return brought.get(top)
    return None if _is_there(EXTRAS["server"]) else "server"


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
