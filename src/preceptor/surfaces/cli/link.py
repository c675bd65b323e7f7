"""`preceptor link`."""

from typing import TYPE_CHECKING

from preceptor.surfaces.cli.addresses import address
from preceptor.surfaces.cli.console import AsJson, say, say_json

if TYPE_CHECKING:
    from preceptor.settings import Settings


def link(as_json: AsJson = False) -> None:
    """Print a fresh one-time sign-in link.

    Whoever opens it first is signed in as the admin; it works once, within 15 minutes.

    [bold]Examples[/bold]
      preceptor link
      xdg-open "$(preceptor link --json | jq -r .url)"
    """
    from preceptor.settings import Settings
    from preceptor.surfaces.cli.connection import api

    settings = Settings.load()
    with api() as preceptor:
        made = preceptor.post("/api/sign-in-links")
        running = preceptor.server is not None
        where = preceptor.server or address(settings.host, settings.port)
    url = where + made["path"]
    if as_json:
        say_json({"url": url, "expiresAt": made["expiresAt"], "running": running})
        return
    say((url, "bold"))
    say(("It works once, within 15 minutes.", "dim"))
    if not running:
        say(_what_first(settings, where))


def _what_first(settings: "Settings", where: str) -> str:
    """A file has one server at most, and that would hold it. A database of many may have any, at any address."""
    from preceptor.adapters.storage.locating import SqliteFile, locate

    if isinstance(locate(settings.database), SqliteFile):
        return f"No server is running on {settings.data_dir}: start one with `preceptor serve`, then open the link."
    return f"Put the address of your server in the place of {where}, or start one here with `preceptor serve`."
