"""`preceptor worker`."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from preceptor import __version__
from preceptor.domain.errors import CannotStart
from preceptor.surfaces.cli.addresses import address
from preceptor.surfaces.cli.console import say, warn
from preceptor.surfaces.cli.options import settings_with
from preceptor.surfaces.cli.serve import begin_to_log, hide, warn_of_deaf_ears, warn_of_slips

if TYPE_CHECKING:
    import asyncio

    from preceptor.settings import Settings
    from preceptor.surfaces.cli.answering import Port

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
    host: Annotated[str | None, typer.Option(help="Address to listen on (PRECEPTOR_HOST, 127.0.0.1).")] = None,
    port: Annotated[
        int | None,
        typer.Option(help="Port for /healthz, /readyz and /metrics; 0 picks a free one (PRECEPTOR_WORKER_PORT, none)."),
    ] = None,
) -> None:
    """Carry out what servers accept: background turns, executions and replays.

    Needs PRECEPTOR_RUNNER=dbos and PostgreSQL, with the same settings as the
    servers. Start as many as you like, anywhere. A worker that dies is found
    out, and others go on where it was; one that is told to stop finishes what
    it can within 5 seconds and leaves the rest to them. With a port it says how
    it is to whoever may ask a server: /healthz, /readyz and /metrics.

    [bold]Examples[/bold]
      PRECEPTOR_RUNNER=dbos preceptor worker --database-url postgresql://me:secret@db/preceptor
      PRECEPTOR_RUNNER=dbos preceptor worker --port 3004
    """
    settings = settings_with(
        data_dir=data_dir, database_url=database_url, worker_concurrency=concurrency, host=host, worker_port=port
    )
    warn_of_slips()
    _require_queues(settings)
    begin_to_log(settings)
    _take_secrets(settings)
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


def _take_secrets(settings: "Settings") -> None:
    """A worker is never alone: what its servers have sealed opens with their key, and not with one that it makes."""
    shared = settings.kept_secret_key.found() is not None
    hide(settings, settings.kept_admin_key.found() or "", settings.kept_secret_key.found_or_made())
    if not shared:
        warn("This worker made a secret key of its own. Give it the PRECEPTOR_SECRET_KEY of the servers.")


def _run(settings: "Settings") -> None:
    import asyncio

    import uvloop

    port = _port(settings)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_work(settings, port))


def _port(settings: "Settings") -> "Port | None":
    """Before anything else: who cannot have it has taken up nothing yet."""
    if settings.worker_port is None:
        return None
    from preceptor.surfaces.cli.answering import Port

    return Port.take(settings.host, settings.worker_port)


async def _work(settings: "Settings", port: "Port | None") -> None:
    import asyncio
    import signal

    from preceptor.app import open_preceptor
    from preceptor.engine.means.hearing import NOBODY

    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    hearers = NOBODY if port is None else port.metrics.hearers()
    async with open_preceptor(settings, hearers=hearers, worker=True) as preceptor:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, _stop, stopping)
        name = preceptor.session.means.worker
        say("Preceptor ", __version__, " is working as ", (name, "bold green"), ". Stop it with Ctrl-C.")
        async with nullcontext() if port is None else port.answering(preceptor):
            if port is not None:
                say("It says how it is on ", (address(settings.host, port.number), "bold green"), "/readyz")
                warn_of_deaf_ears(settings)
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
