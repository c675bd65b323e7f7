"""`preceptor executions`: have steps carried out, and see how far they are."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from preceptor.surfaces.cli.connection import Api, api, path_to
from preceptor.surfaces.cli.console import AsJson, say, say_json, say_table, when
from preceptor.surfaces.cli.library import read_bytes

PATH = "/api/executions"
Id = Annotated[str, typer.Argument(metavar="EXECUTION", help="Its id.")]
_COLOURS = {
    "completed": "green",
    "failed": "red",
    "timeout": "red",
    "skipped": "dim",
    "cancelled": "yellow",
    "running": "cyan",
}

app = typer.Typer(help="Have steps carried out that depend on each other.", no_args_is_help=True)
_path = partial(path_to, PATH)


@app.command("run")
def run(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help='JSON: {"steps": [...]}, as POST /api/executions takes.')
    ],
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Until it has ended.")] = True,
    as_json: AsJson = False,
) -> None:
    """Have the steps of a file carried out, and watch.

    [bold]Examples[/bold]
      preceptor executions run chat.json
      preceptor executions run chat.json --no-wait --json
    """
    from preceptor.wire import strict_json

    body: Any = strict_json.read(read_bytes(file))
    with api() as preceptor:
        started = preceptor.post(PATH, body)
        _finish(preceptor, started, as_json=as_json, wait=wait)


@app.command("list")
def page(
    status: Annotated[str | None, typer.Option(help="pending, running, completed, failed, cancelled, timeout.")] = None,
    as_json: AsJson = False,
) -> None:
    """List executions, newest first.

    [bold]Example[/bold]
      preceptor executions list --status failed
    """
    with api() as preceptor:
        found = list(preceptor.items(PATH, status=status))
    if as_json:
        say_json(found)
        return
    rows = [(one["executionId"], one["type"], one["status"], _progress(one), when(one["createdAt"])) for one in found]
    say_table(("execution", "type", "status", "steps", "created"), rows)


@app.command("show")
def show(which: Id, as_json: AsJson = False) -> None:
    """Show an execution: each step, how often it was tried, and what went wrong.

    [bold]Example[/bold]
      preceptor executions show 0198…
    """
    with api() as preceptor:
        _tell(preceptor.get(_path(which)), as_json=as_json)


@app.command("cancel")
def cancel(which: Id, as_json: AsJson = False) -> None:
    """Stop an execution.

    [bold]Example[/bold]
      preceptor executions cancel 0198…
    """
    with api() as preceptor:
        _tell(preceptor.post(_path(which, "cancel")), as_json=as_json)


@app.command("retry")
def retry(
    which: Id,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Until it has ended.")] = True,
    as_json: AsJson = False,
) -> None:
    """Try again what did not come off.

    [bold]Example[/bold]
      preceptor executions retry 0198…
    """
    with api() as preceptor:
        _finish(preceptor, preceptor.post(_path(which, "retry")), as_json=as_json, wait=wait)


def _finish(preceptor: Api, started: dict[str, Any], *, as_json: bool, wait: bool) -> None:
    path = _path(started["executionId"])
    if not wait:
        _tell(started, as_json=as_json)
        return
    preceptor.watch(f"{path}/events", lambda kind, told: None if as_json else _hear(kind, told))
    done = preceptor.get(path)
    _tell(done, as_json=as_json)
    if done["status"] != "completed":
        raise typer.Exit(1)


def _hear(kind: str, told: dict[str, Any]) -> None:
    name, _, what = kind.partition(".")
    if name == "step":
        say((f"{what:<10}", _COLOURS.get(what, "")), f"step {told['index']}", f"  {told.get('sentence') or ''}")


def _tell(execution: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(execution)
        return
    status = execution["status"]
    say((status, _COLOURS.get(status, "")), f"  {execution['executionId']}  {_progress(execution)} steps")
    for step in execution["steps"]:
        tried = f" ({len(step['attempts'])} attempts)" if len(step["attempts"]) > 1 else ""
        line = f"{step['index']:>3}  {step['name']}{tried}  {step['sentence'] or ''}".rstrip()
        say((f"{step['status']:<10}", _COLOURS.get(step["status"], "")), line)


def _progress(one: dict[str, Any]) -> str:
    return f"{one['progress']['done']}/{one['progress']['total']}"
