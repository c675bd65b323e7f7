"""`preceptor`: the commands, and what becomes of their failures."""

import sys
import traceback
from contextvars import ContextVar
from io import TextIOWrapper
from typing import Annotated, cast

import typer

from preceptor import __version__
from preceptor.domain.errors import PreceptorError
from preceptor.surfaces.cli import (
    agents,
    chat,
    database,
    doctor,
    executions,
    experiments,
    instructions,
    keys,
    link,
    mcp,
    mcp_servers,
    models,
    orgs,
    providers,
    replay,
    serve,
    users,
    webhooks,
    worker,
)
from preceptor.surfaces.cli.console import AsJson, complain, say, say_json

HELP = """Decides what an agent is told, how it reasons and who sees what, and can prove it afterwards.

Start with [bold]preceptor serve[/bold]: it needs no set-up and says where to go next.

Settings are environment variables (PRECEPTOR_PORT, PRECEPTOR_DATA_DIR,
PRECEPTOR_DATABASE_URL …) or lines of .env or preceptor.toml. While a server
runs, the other commands speak to it; without one they open the data.
"""
EXAMPLES = """[bold]Examples[/bold]
  preceptor serve --port 8080
  preceptor chat "Hello"
  preceptor models list
  preceptor link
  preceptor instructions templates
  preceptor agents effective assistant
  preceptor replay run --agent assistant --instruction FAMILY=1.1.0
  preceptor keys create "Ann's laptop" --role editor
  preceptor db backup friday.backup
  preceptor doctor

[bold]Exit codes[/bold]  0 fine, 1 refused or failed, 2 wrong usage
"""

app = typer.Typer(
    name="preceptor",
    help=HELP,
    epilog=EXAMPLES,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve")(serve.serve)
app.command("worker")(worker.worker)
app.command("chat")(chat.chat)
app.command("mcp")(mcp.mcp)
app.command("link")(link.link)
app.add_typer(instructions.app, name="instructions")
app.add_typer(agents.app, name="agents")
app.add_typer(executions.app, name="executions")
app.add_typer(replay.app, name="replay")
app.add_typer(experiments.app, name="experiments")
app.add_typer(models.app, name="models")
app.add_typer(providers.app, name="providers")
app.add_typer(mcp_servers.app, name="mcp-servers")
app.add_typer(keys.app, name="keys")
app.add_typer(users.app, name="users")
app.add_typer(orgs.app, name="orgs")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(database.app, name="db")
app.command("doctor")(doctor.doctor)

_debugging = ContextVar("debugging", default=False)


@app.callback()
def main(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show where in the code a failure comes from.")] = False,
) -> None:
    _debugging.set(debug)
    if context.invoked_subcommand is None:
        say(context.get_help())


@app.command()
def version(as_json: AsJson = False) -> None:
    """Say which version this is.

    [bold]Example[/bold]
      preceptor version --json
    """
    from preceptor.adapters.storage.schema import HEAD

    if as_json:
        say_json({"version": __version__, "schema": HEAD, "python": sys.version.split()[0]})
    else:
        say(f"Preceptor {__version__}")


def run() -> None:
    """Run a command; a failure is one line, never a traceback unless one was asked for."""
    _spell_out_what_cannot_be_shown()
    try:
        app(prog_name="preceptor")
    except PreceptorError as error:
        sys.exit(_report(error))
    except ModuleNotFoundError as error:
        sys.exit(_report_missing(error))
    except Exception as error:  # noqa: BLE001 - the last place where a person can still be told in words
        sys.exit(_report_unforeseen(error))


def _spell_out_what_cannot_be_shown() -> None:
    """A terminal without some letter is shown its number: a name in another script is no reason to fail."""
    out: object = sys.stdout
    if isinstance(out, TextIOWrapper):
        cast("TextIOWrapper", out).reconfigure(errors="backslashreplace")


def _report(error: PreceptorError) -> int:
    from preceptor.surfaces.cli.connection import Declined
    from preceptor.surfaces.problems import face_of

    _trace(error)
    complain(str(error))
    return error.exit_code if isinstance(error, Declined) else face_of(error).exit_code


def _report_missing(error: ModuleNotFoundError) -> int:
    from preceptor.surfaces.cli.examining import extra_with

    extra = extra_with(error.name or "")
    if extra is None:
        return _report_unforeseen(error)
    _trace(error)
    complain(f"This needs {error.name}, which is not installed. Run `pip install 'preceptor[{extra}]'`.")
    return 1


def _report_unforeseen(error: Exception) -> int:
    from preceptor.adapters.observability.logs import REDACTOR

    _trace(error)
    said = REDACTOR.text(f"{type(error).__name__}: {error}")
    complain(f"Something went wrong that we did not foresee ({said}). Run `preceptor --debug …` to see where.")
    return 1


def _trace(error: Exception) -> None:
    from preceptor.adapters.observability.logs import REDACTOR

    if _debugging.get():
        sys.stderr.write(REDACTOR.text("".join(traceback.format_exception(error))))
