"""`preceptor db`: the schema, copies, and whether the log is what was written."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from preceptor.domain.errors import CannotStart
from preceptor.surfaces.cli.connection import in_turn
from preceptor.surfaces.cli.console import AsJson, err, say, say_json, say_table

if TYPE_CHECKING:
    from preceptor.adapters.storage.opening import Database
    from preceptor.adapters.storage.verifying import Verification

app = typer.Typer(no_args_is_help=True, help="Look after the database: upgrade, check, back up, restore, verify.")


@app.command()
def upgrade(as_json: AsJson = False) -> None:
    """Bring the schema up to date. A server does this by itself when it starts.

    [bold]Example[/bold]
      preceptor db upgrade
    """
    from preceptor.adapters.storage.schema import HEAD

    database = _database()
    before = _revision(database)
    changed = before != HEAD and _upgraded(database)
    if as_json:
        say_json({"from": before, "to": HEAD, "changed": changed})
    elif changed:
        say(f"The schema is now {HEAD}." if before is None else f"The schema went from {before} to {HEAD}.")
    else:
        say(f"The schema is {HEAD} already.")


@app.command()
def check(as_json: AsJson = False) -> None:
    """Say which schema the database has, and fail unless it is the one this version needs.

    [bold]Example[/bold]
      preceptor db check && preceptor serve
    """
    from preceptor.adapters.storage.schema import HEAD

    revision = _revision(_database())
    current = revision == HEAD
    if as_json:
        say_json({"schema": revision, "newest": HEAD, "current": current})
    else:
        say(_state(revision, HEAD))
    if not current:
        raise typer.Exit(1)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes; it must not exist yet.")],
    as_json: AsJson = False,
) -> None:
    """Copy the database to one file, also while a server writes to it.

    The copy is what was there at one moment, and is the same for SQLite and
    PostgreSQL.

    [bold]Example[/bold]
      preceptor db backup "preceptor-$(date +%F).backup"
    """
    from preceptor.adapters.storage import backup as copying

    with _progress("Copying") as done:
        report = copying.backup(_existing(), file.expanduser().absolute(), done)
    if as_json:
        say_json({"file": str(file), "rows": report.rows, "bytes": report.bytes})
    else:
        say(f"Copied {report.rows:,} rows to {file} ({report.bytes:,} bytes).")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A copy that `preceptor db backup` made.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Also when the database holds something; that is kept under another name.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put a copy back, into an empty database unless told to replace a full one.

    No server may be running. Anchors of what came after the copy are set aside.

    [bold]Examples[/bold]
      preceptor db restore friday.backup
      preceptor db restore friday.backup --replace
    """
    from preceptor.adapters.storage import backup as copying

    with _progress("Restoring") as done:
        source, database = file.expanduser().absolute(), _database()
        report = in_turn(lambda: copying.restore(source, database, replace=replace, progress=done))
    kept = [str(each) for each in (report.kept, _anchors_set_aside()) if each is not None]
    if as_json:
        say_json({"file": str(file), "rows": report.rows, "kept": kept})
        return
    say(f"Restored {report.rows:,} rows: the database is as it was when {file} was made.")
    for each in kept:
        say((f"What was there before is kept as {each}.", "dim"))


@app.command()
def verify(as_json: AsJson = False) -> None:
    """Check that the log is what was written: no row edited, removed, moved or cut off.

    Compares every row with its hash, every stream with the checkpoints, and
    those with anchors.jsonl in the data folder. Exits with 1 when something
    does not hold.

    [bold]Example[/bold]
      preceptor db verify
    """
    from preceptor.adapters.storage import verifying

    with _progress("Verifying") as done:
        found = verifying.verify(_existing(), _anchors(), lambda events: done(events, 0))
    if as_json:
        say_json(_told(found))
    else:
        _show(found)
    if not found.ok:
        raise typer.Exit(1)


def _database() -> "Database":
    from preceptor.adapters.storage.opening import locate
    from preceptor.settings import Settings

    return locate(Settings.load().database)


def _existing() -> "Database":
    """The database, which must be there already."""
    from preceptor.adapters.storage.opening import SqliteFile

    database = _database()
    if isinstance(database, SqliteFile) and not database.is_there:
        raise CannotStart(
            f"There is no database at {database.path}. Check PRECEPTOR_DATA_DIR, or make one with `preceptor serve`."
        )
    return database


def _anchors() -> Path:
    from preceptor.settings import Settings

    return Settings.load().data_dir / "anchors.jsonl"


def _anchors_set_aside() -> Path | None:
    """They remember what the restored log does not hold, and would call it cut."""
    anchors = _anchors()
    if not anchors.exists():
        return None
    return anchors.rename(anchors.with_name(f"{anchors.name}.before-restore-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"))


def _revision(database: "Database") -> str | None:
    """The schema a database is at. Looking at a file that is not there must not make it."""
    from preceptor.adapters.storage.opening import SqliteFile, revision_of

    if isinstance(database, SqliteFile) and not database.is_there:
        return None
    return revision_of(database)


def _upgraded(database: "Database") -> bool:
    from preceptor.adapters.storage import opening
    from preceptor.adapters.storage.lockfile import Lock

    if not isinstance(database, opening.SqliteFile):
        return opening.upgrade(database)
    opening.prepare_folder(database.path.parent)

    def upgraded() -> bool:
        with opening.of_start(database), Lock(database.path):
            return opening.upgrade(database)

    return in_turn(upgraded)


def _state(revision: str | None, newest: str) -> str:
    if revision is None:
        return f"There is no schema yet; `preceptor serve` or `preceptor db upgrade` makes it ({newest})."
    if revision == newest:
        return f"The schema is {revision}, as this version needs it."
    if revision > newest:
        return f"The schema is {revision}, newer than the {newest} this version knows: install a newer Preceptor."
    return f"The schema is {revision}; this version needs {newest}: run `preceptor db upgrade`."


def _told(found: "Verification") -> dict[str, object]:
    broken = [{"org": one.org, "stream": one.stream, "seq": one.seq, "why": one.why} for one in found.broken]
    return {
        "ok": found.ok,
        "events": found.events,
        "streams": found.streams,
        "checkpoints": found.checkpoints,
        "anchors": found.anchors,
        "broken": broken,
    }


def _show(found: "Verification") -> None:
    looked_at = (
        f"{found.events:,} events in {found.streams:,} streams, "
        f"{found.checkpoints:,} checkpoints, {found.anchors:,} anchors"
    )
    if found.ok:
        say(("The log is what was written: ", "bold green"), looked_at, ".")
        return
    say(("The log is not what was written", "bold red"), f" in {len(found.broken):,} places ({looked_at}):")
    say_table(
        ("organisation", "stream", "row", "what is wrong"),
        [(one.org, one.stream, str(one.seq), one.why) for one in found.broken],
    )


@contextmanager
def _progress(label: str) -> Generator[Callable[[int, int], None]]:
    """A bar on standard error, where someone is looking. It is told how much is done and of how much; 0 is unknown."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = err()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
