"""`preceptor serve`."""

import logging
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote, urlsplit

import msgspec
import typer

from preceptor import __version__
from preceptor.domain.errors import Unauthenticated
from preceptor.surfaces.cli.addresses import address
from preceptor.surfaces.cli.console import say, warn
from preceptor.surfaces.cli.options import settings_with

if TYPE_CHECKING:
    from preceptor.adapters.observability.tracing import Tracing
    from preceptor.app import Preceptor
    from preceptor.settings import Settings

LABEL = 12
"""Columns of the words in front of what is printed at the start."""


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (PRECEPTOR_HOST, 127.0.0.1).")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0 picks a free one (PRECEPTOR_PORT, 3003).")
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of the data and of first-run secrets (PRECEPTOR_DATA_DIR).")
    ] = None,
    database_url: Annotated[
        str | None,
        typer.Option(help="sqlite:///path or postgresql://user:password@host/database (PRECEPTOR_DATABASE_URL)."),
    ] = None,
) -> None:
    """Run Preceptor: the API, the web page, and their data.

    Prints the address, a one-time sign-in link and, on the first start, the
    admin API key. Options win over settings. Stop it with Ctrl-C; nothing that
    was acknowledged is lost, however it ends.

    [bold]Examples[/bold]
      preceptor serve
      preceptor serve --port 8080 --data-dir ./data
      preceptor serve --database-url postgresql://me:secret@db/preceptor
    """
    settings = settings_with(host=host, port=port, data_dir=data_dir, database_url=database_url)
    warn_of_slips()
    begin_to_log(settings)
    first_start = settings.kept_admin_key.found() is None
    secrets = settings.secrets()
    hide(settings, secrets.admin_key, secrets.secret_key)
    _run(settings, Welcome(settings, secrets.admin_key if first_start else None))


class Welcome(msgspec.Struct, frozen=True):
    """What is said once the server listens."""

    settings: "Settings"
    new_key: str | None
    """The admin key, when it was made just now."""

    def print(self, url: str, token: str, *, key_is_ours: bool) -> None:
        say("Preceptor ", __version__, " is running on ", (url, "bold green"))
        for label, value, note in self._lines(url, token, key_is_ours=key_is_ours):
            said = f"  ({note})" if note else ""
            say(f"  {label:<{LABEL}}", (value, "bold"), (said, "dim"))
        warn_of_deaf_ears(self.settings)

    def _lines(self, url: str, token: str, *, key_is_ours: bool) -> Iterator[tuple[str, str, str]]:
        yield "Sign in", f"{url}/login?token={token}", "works once, within 15 minutes"
        yield self._admin_key() if key_is_ours else ("Admin key", "the one the installation has", "made elsewhere")
        yield "Data", self._data(), ""
        yield "Model", *self._model()
        if self.settings.runner == "dbos" and not self._has_its_own_file:
            yield (
                "Background",
                "preceptor worker",
                "start one or more: they carry out what need not be answered at once",
            )
        yield "More links", f"{self._here()}preceptor link", ""
        yield "Stop", "Ctrl-C", ""

    def _admin_key(self) -> tuple[str, str, str]:
        file = str(self.settings.data_dir / "admin.key")
        if self.new_key is not None:
            return "Admin key", self.new_key, f"shown here once, kept in {file}"
        if self.settings.admin_key is not None:
            return "Admin key", "the one in PRECEPTOR_ADMIN_KEY", ""
        return "Admin key", f"kept in {file}", ""

    @property
    def _has_its_own_file(self) -> bool:
        from preceptor.adapters.storage.opening import SqliteFile, locate

        return isinstance(locate(self.settings.database), SqliteFile)

    def _data(self) -> str:
        from preceptor.adapters.storage.opening import SqliteFile, locate

        match locate(self.settings.database):
            case SqliteFile(path):
                return str(path)
            case _:
                return f"PostgreSQL {_without_password(self.settings.database)}"

    def _model(self) -> tuple[str, str]:
        """The model of agents that name none."""
        from preceptor.adapters.models.registry import FIRST_LISTED, ModelRegistry

        chosen = ModelRegistry(self.settings).default
        if chosen == FIRST_LISTED:
            return f"the first of {self.settings.model_url}", ""
        return chosen, "small and English only, for trying things out" if chosen == "local" else ""

    def _here(self) -> str:
        """What another shell needs to be told to find these data."""
        default = type(self.settings).model_fields["data_dir"].get_default(call_default_factory=True)
        folder = self.settings.data_dir
        if folder == default or os.environ.get("PRECEPTOR_DATA_DIR") == str(folder):
            return ""
        return f"PRECEPTOR_DATA_DIR={shlex.quote(str(folder))} "


def _run(settings: "Settings", welcome: Welcome) -> None:
    import asyncio

    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, welcome))


async def _serve(settings: "Settings", welcome: Welcome) -> None:
    from preceptor.adapters.observability.metrics import Metrics
    from preceptor.adapters.storage.opening import prepare_folder
    from preceptor.app import open_preceptor
    from preceptor.surfaces.cli.server import Server, listen
    from preceptor.surfaces.cli.upkeep import Upkeep
    from preceptor.surfaces.http import create_app

    prepare_folder(settings.data_dir)  # wherever the database is, what proves that it is whole is kept there
    metrics, tracing = Metrics(), _tracing(settings)
    try:
        hearers = metrics.hearers(tracing.tracer)
        async with open_preceptor(settings, hearers=hearers, adopt_key=_adopts(settings)) as preceptor:
            server = Server(create_app(preceptor, metrics, tracing))
            with listen(settings.host, settings.port) as socket, server.heeding_signals():
                url = address(settings.host, socket.getsockname()[1])
                preceptor.announce(url)
                key_is_ours = await _is_known(preceptor, settings.secrets().admin_key)
                welcome.print(url, await preceptor.access.new_link_token(), key_is_ours=key_is_ours)
                async with Upkeep(preceptor).going_on():
                    await server.serve([socket])
    finally:
        tracing.close()


def _adopts(settings: "Settings") -> bool:
    """Whether our admin key replaces the installation's: when the operator gave it, or the data are ours alone."""
    from preceptor.adapters.storage.opening import SqliteFile, locate

    return settings.admin_key is not None or isinstance(locate(settings.database), SqliteFile)


async def _is_known(preceptor: "Preceptor", key: str) -> bool:
    try:
        await preceptor.access.by_key(key)
    except Unauthenticated:
        return False
    return True


def begin_to_log(settings: "Settings") -> None:
    """What other people's parts say about themselves is of use only to those who look for faults."""
    from preceptor.adapters.observability.logs import configure_logs

    configure_logs(settings.log_level, settings.log_format)
    if settings.log_level != "debug":
        for chatty in ("alembic", "uvicorn.error"):
            logging.getLogger(chatty).setLevel(logging.WARNING)


def _tracing(settings: "Settings") -> "Tracing":
    from preceptor.adapters.observability.opening import tracing_of

    return tracing_of(settings)


def hide(settings: "Settings", *secrets: str) -> None:
    """Take what must never be seen out of every log line from here on."""
    from preceptor.adapters.observability.logs import REDACTOR
    from preceptor.adapters.storage.opening import locate

    locate(settings.database)  # refuses what is not a URL at all
    password = urlsplit(settings.database).password or ""
    for secret in (*secrets, password, unquote(password)):
        REDACTOR.hide(secret)


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    hosts = parts.netloc.rpartition("@")[2]
    where = hosts if "," in hosts else f"{parts.hostname or 'localhost'}:{parts.port or 5432}"
    return where + parts.path


def warn_of_slips() -> None:
    from preceptor.readable import folders
    from preceptor.settings import Settings

    for place in folders():
        warn(f"{place} is a folder, so no settings are read from it. Give it another name if settings were meant.")
    for name in Settings.slips():
        warn(f"{name} is not a setting of Preceptor, so it changes nothing. Check its spelling.")


def warn_of_deaf_ears(settings: "Settings") -> None:
    """Listening beyond loopback is of no use while every name but loopback is refused."""
    from preceptor.settings import LOOPBACK

    if settings.host not in LOOPBACK and set(settings.allowed_hosts) <= set(LOOPBACK):
        warn("Only requests for loopback names are answered: add the names people use to PRECEPTOR_ALLOWED_HOSTS.")
