"""`preceptor link`."""

from preceptor.surfaces.cli.addresses import address
from preceptor.surfaces.cli.console import AsJson, say, say_json


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
        say(f"No server is running on {settings.data_dir}: start one with `preceptor serve`, then open the link.")
