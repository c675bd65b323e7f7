"""`preceptor worker`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from preceptor import __version__
from preceptor.domain.errors import CannotStart
from preceptor.surfaces.cli.console import say

if TYPE_CHECKING:
    import asyncio

    from preceptor.settings import Settings

DEADLINE = 15.0
"""Seconds after which a worker that was told to stop is gone, whatever still hangs. Others take up what it was at."""


def worker(
    database_url: Annotated[
        str | None, typer.Option(help="postgresql://user:password@host/database (PRECEPTOR_DATABASE_URL).")
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of secrets that the settings do not name (PRECEPTOR_DATA_DIR).")
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(help="Most turns, executions and replays, each, at once (PRECEPTOR_WORKER_CONCURRENCY)."),
    ] = None,
) -> None:
    """Carry out what servers accept: background turns, executions and replays.

    Needs PRECEPTOR_RUNNER=dbos and PostgreSQL, with the same settings as the
    servers. Start as many as you like, anywhere. A worker that dies is found
    out, and others go on where it was; one that is told to stop finishes what
    it can within 5 seconds and leaves the rest to them.

    [bold]Example[/bold]
      PRECEPTOR_RUNNER=dbos preceptor worker --database-url postgresql://me:secret@db/preceptor
    """
    from preceptor.adapters.observability.logs import configure_logs
    from preceptor.settings import Settings
    from preceptor.surfaces.cli.serve import hide, quieten

    given = {"data_dir": data_dir, "database_url": database_url, "worker_concurrency": concurrency}
    settings = Settings.load(**{name: value for name, value in given.items() if value is not None})
    _require_queues(settings)
    configure_logs(settings.log_level, settings.log_format)
    quieten(settings.log_level)
    hide(settings, settings.secrets())
    _run(settings)


def _require_queues(settings: "Settings") -> None:
    from preceptor.adapters.storage.opening import SqliteFile, locate

    if settings.runner != "dbos":
        raise CannotStart("There are no queues to work on: set PRECEPTOR_RUNNER=dbos, here and for the servers.")
    if isinstance(locate(settings.database), SqliteFile):
        raise CannotStart(
            "With SQLite the server carries everything out itself, so there is nothing for a worker. "
            "Set PRECEPTOR_DATABASE_URL to a PostgreSQL database, here and for the servers."
        )


def _run(settings: "Settings") -> None:
    import asyncio

    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_work(settings))


async def _work(settings: "Settings") -> None:
    import asyncio
    import signal

    from preceptor.app import open_preceptor

    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    async with open_preceptor(settings, worker=True) as preceptor:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, _stop, stopping)
        name = preceptor.session.means.worker
        say("Preceptor ", __version__, " is working as ", (name, "bold green"), ". Stop it with Ctrl-C.")
        await stopping.wait()
        say("Stopping: what is not done in a moment is left to others.")


def _stop(stopping: "asyncio.Event") -> None:
    import threading

    stopping.set()
    last_resort = threading.Timer(DEADLINE, _give_up)
    last_resort.daemon = True
    last_resort.start()


def _give_up() -> None:
    import os

    os._exit(1)
