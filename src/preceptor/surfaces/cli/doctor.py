"""`preceptor doctor`: what is right, what is not, and what to do about it."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from msgspec.structs import asdict

from preceptor.domain.errors import PreceptorError
from preceptor.surfaces.cli.console import AsJson, say, say_json, say_table
from preceptor.surfaces.cli.examining import extras, runner, secret_key, tracing
from preceptor.surfaces.cli.findings import STYLES, Finding, Status

if TYPE_CHECKING:
    from preceptor.adapters.storage.opening import Database
    from preceptor.domain.reasoning.verdict import Judged
    from preceptor.engine.ports import Guardian
    from preceptor.settings import Settings

LEAST_FREE = 0.05
FURTHEST_OFF = 2.0
"""Seconds that two clocks may differ."""
FIRST_YEAR = 2026
"""When this was written: a clock before it is wrong."""
SHORTEST_KEY = 16
MODEL_PATIENCE = 60.0


def doctor(as_json: AsJson = False) -> None:
    """Check settings, data, disk, clock, keys, what waits, the server, the model, the guard and the rest.

    Exits with 1 when something fails; a warning alone is fine. Changes nothing.

    [bold]Examples[/bold]
      preceptor doctor
      preceptor doctor --json | jq '.checks[] | select(.status != "ok")'
    """
    findings = list(_examine())
    fine = all(finding.status is not Status.FAIL for finding in findings)
    if as_json:
        say_json({"ok": fine, "checks": [asdict(finding) for finding in findings]})
    else:
        _show(findings, fine=fine)
    if not fine:
        raise typer.Exit(1)


def _show(findings: list[Finding], *, fine: bool) -> None:
    from rich.text import Text

    rows = [(each.name, Text(each.status, STYLES[each.status]), each.detail, each.remedy) for each in findings]
    say_table(("check", "", "what we found", "what to do"), rows)
    say(("Fit to serve.", "bold green") if fine else ("Something needs your attention.", "bold red"))


def _examine() -> Iterator[Finding]:
    from preceptor.settings import Settings

    try:
        settings = Settings.load()
    except PreceptorError as error:
        yield Finding("settings", Status.FAIL, str(error), "Correct that setting; the other checks need it.")
        return
    yield _settings()
    yield _data_folder(settings.data_dir)
    yield from _database(settings)
    yield _disk(settings)
    yield _admin_key(settings)
    yield secret_key(settings)
    yield _server(settings)
    yield _model(settings)
    yield _guard(settings)
    yield tracing(settings)
    yield extras()


def _settings() -> Finding:
    from preceptor.readable import folders
    from preceptor.settings import Settings

    if passed_over := folders():
        names = " and ".join(map(str, passed_over))
        return Finding("settings", Status.WARN, f"No settings are read from the folder {names}.", "Name it otherwise.")
    if unknown := Settings.slips():
        names = ", ".join(unknown)
        return Finding("settings", Status.WARN, f"Not settings of Preceptor: {names}.", "Check their spelling.")
    return Finding("settings", Status.OK, "They can be read.")


def _data_folder(folder: Path) -> Finding:
    there = _nearest(folder)
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        remedy = "Make it writable, or choose another PRECEPTOR_DATA_DIR."
        return Finding("data folder", Status.FAIL, f"{there} cannot be written to ({error.strerror}).", remedy)
    said = f"{folder} is writable." if there == folder else f"{folder} is not there yet; the first start makes it."
    return Finding("data folder", Status.OK, said)


def _database(settings: "Settings") -> Iterator[Finding]:
    """The database, the clock it keeps time by, and what waits in it."""
    from preceptor.adapters.storage.opening import locate

    try:
        database = locate(settings.database)
        yield _schema(database)
        yield _clock(database, settings.data_dir)
        yield runner(database)
    except PreceptorError as error:
        yield Finding("database", Status.FAIL, str(error), "Correct PRECEPTOR_DATABASE_URL, or mend what it points at.")


def _schema(database: "Database") -> Finding:
    from preceptor.adapters.storage.opening import SqliteFile, revision_of
    from preceptor.adapters.storage.schema import HEAD

    if isinstance(database, SqliteFile) and not database.is_there:
        return Finding("database", Status.INFO, f"{database.path} is not there yet; the first start makes it.")
    revision = revision_of(database)
    if revision == HEAD:
        return Finding("database", Status.OK, f"It answers, and its schema is {HEAD}, as this version needs it.")
    if revision is not None and revision > HEAD:
        said = f"Its schema is {revision}, newer than the {HEAD} this version knows."
        return Finding("database", Status.FAIL, said, "Install a newer Preceptor.")
    said = "It is empty." if revision is None else f"Its schema is {revision}; this version needs {HEAD}."
    return Finding("database", Status.WARN, said, "Run `preceptor db upgrade`, or start the server, which does it.")


def _clock(database: "Database", folder: Path) -> Finding:
    """Our clock against the one that stamps what we store."""
    from preceptor.adapters.storage.opening import PostgresDatabase

    now = datetime.now(UTC)
    if now.year < FIRST_YEAR:
        return Finding("clock", Status.WARN, f"It says {now:%Y-%m-%d}.", "Set the time of this machine.")
    match database:
        case PostgresDatabase(url):
            other, off = "PostgreSQL", _behind_postgres(url)
        case _:
            other, off = "the file system", _behind_files(_nearest(folder))
    if off is None:
        return Finding("clock", Status.WARN, f"It cannot be compared with {other}.", "Make the data folder writable.")
    if abs(off) > FURTHEST_OFF:
        said = f"It is {abs(off):.0f} s {'behind' if off > 0 else 'ahead of'} {other}."
        return Finding("clock", Status.WARN, said, "Set the time of both machines, best by NTP.")
    return Finding("clock", Status.OK, f"It agrees with {other}.")


def _behind_files(folder: Path) -> float | None:
    with suppress(OSError), tempfile.NamedTemporaryFile(dir=folder) as made:
        return Path(made.name).stat().st_mtime - time.time()
    return None


def _behind_postgres(url: str) -> float:
    import psycopg

    from preceptor.adapters.storage.postgres import of_start

    with of_start(url), psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
        row = connection.execute("SELECT clock_timestamp()").fetchone()
        assert row is not None
        return (row[0] - datetime.now(UTC)).total_seconds()


def _disk(settings: "Settings") -> Finding:
    from preceptor.adapters.storage.opening import SqliteFile, locate

    folder = settings.data_dir
    with suppress(PreceptorError):
        database = locate(settings.database)
        folder = database.path.parent if isinstance(database, SqliteFile) else folder
    usage = shutil.disk_usage(_nearest(folder))
    share = usage.free / usage.total if usage.total else 1.0
    said = f"{share:.0%} of the disk of {folder} is free."
    if share < LEAST_FREE:
        remedy = f"Free some space, or move PRECEPTOR_DATA_DIR: under {LEAST_FREE:.0%} the server is not ready."
        return Finding("disk", Status.FAIL, f"Only {said}", remedy)
    return Finding("disk", Status.OK, said)


def _admin_key(settings: "Settings") -> Finding:
    from preceptor.kept_secrets import sendable

    file, given = settings.data_dir / "admin.key", settings.admin_key
    try:
        key = sendable(given.get_secret_value() if given else file.read_text(encoding="utf-8").strip())
    except FileNotFoundError:
        return Finding("admin key", Status.INFO, "There is none yet; the first start makes one.")
    except OSError as error:
        return Finding("admin key", Status.WARN, f"{file} cannot be read ({error.strerror}).", "Check who owns it.")
    except UnicodeDecodeError:
        return Finding("admin key", Status.FAIL, f"{file} is not text.", "Put the key back, or delete the file.")
    except PreceptorError as error:
        return Finding("admin key", Status.FAIL, str(error), "Leave it out to have one made.")
    if len(key) < SHORTEST_KEY:
        remedy = "Set PRECEPTOR_ADMIN_KEY to a long random text, or leave it out to have one made."
        return Finding("admin key", Status.WARN, f"It has only {len(key)} characters, so it can be guessed.", remedy)
    return Finding("admin key", Status.OK, "It is long enough.")


def _server(settings: "Settings") -> Finding:
    import httpx2

    from preceptor.surfaces.cli.connection import find_server, host_header

    try:
        server = find_server(settings) or _expected_server(settings)
    except PreceptorError:
        return Finding("server", Status.INFO, "Whether one runs cannot be told without the database.")
    if server is None:
        return Finding("server", Status.INFO, "None runs on these data.", "Start one with `preceptor serve`.")
    try:
        answer = httpx2.get(f"{server}/readyz", headers=host_header(settings, server), timeout=5, trust_env=False)
        checks = answer.json()["checks"]
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TypeError, KeyError):
        return Finding("server", Status.INFO, f"None answers at {server}.", "Start one with `preceptor serve`.")
    if answer.status_code == 200:
        return Finding("server", Status.OK, f"It runs at {server} and is ready.")
    wrong = " ".join(check["detail"] for check in checks if not check["ok"])
    return Finding("server", Status.FAIL, f"It runs at {server} and is not ready: {wrong}", "See its log.")


def _model(settings: "Settings") -> Finding:
    """The model that agents use, and whether it answers. With a provider the question costs a few tokens."""
    import asyncio

    from preceptor.adapters.models.local import NAME
    from preceptor.adapters.models.trying import try_model

    try:
        tried = asyncio.run(try_model(settings, None, MODEL_PATIENCE, longest=16))
    except PreceptorError as error:
        return Finding("model", Status.WARN, str(error), "Until then no agent can answer. See `preceptor models list`.")
    said = f"{tried.model} answers within {tried.seconds:.1f} s."
    if tried.model != NAME:
        return Finding("model", Status.OK, said)
    remedy = "For real work set OPENAI_API_KEY, ANTHROPIC_API_KEY or PRECEPTOR_MODEL_URL."
    return Finding("model", Status.OK, f"{said} It is small, and English only.", remedy)


def _guard(settings: "Settings") -> Finding:
    """The guardian, and whether it gives a verdict."""
    import asyncio

    from preceptor.adapters.guardians.choosing import guardian_of
    from preceptor.domain.reasoning.verdict import GuardFailure, Mode

    try:
        guardian = guardian_of(settings)
    except PreceptorError as error:
        return Finding("guard", Status.FAIL, str(error), "Correct that setting.")
    if guardian is None:
        return Finding(
            "guard", Status.WARN, "It is off: nobody judges what users write.", "See PRECEPTOR_GUARD_ENABLED."
        )
    judged = asyncio.run(_asked(guardian))
    enforced = settings.guard_mode is Mode.ENFORCE
    if isinstance(judged, GuardFailure):
        said = f"{guardian.name} gives no verdict: {judged.kind.value} ({judged.detail})."
        remedy = f"Mend it: until then {'no message is answered' if enforced else 'nothing is judged'}."
        return Finding("guard", Status.FAIL if enforced else Status.WARN, said, remedy)
    then = "What it finds unsafe is stopped." if enforced else "What it finds unsafe is noted, and not stopped."
    return Finding("guard", Status.OK, f"{guardian.name} gives verdicts. {then}")


async def _asked(guardian: "Guardian") -> "Judged":
    """What a guardian says of a harmless sentence."""
    try:
        return await guardian.judge("Where is my order?")
    finally:
        await guardian.close()


def _expected_server(settings: "Settings") -> str | None:
    """On PostgreSQL no lock tells who runs; the settings say where one would be."""
    from preceptor.adapters.storage.opening import PostgresDatabase, locate
    from preceptor.surfaces.cli.addresses import address

    is_postgres = isinstance(locate(settings.database), PostgresDatabase)
    return address(settings.host, settings.port) if is_postgres else None


def _nearest(folder: Path) -> Path:
    """The folder, or the closest one above it that exists."""
    from preceptor.kept_secrets import is_there

    return next(place for place in (folder, *folder.parents) if is_there(place))
