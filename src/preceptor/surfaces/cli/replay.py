"""`preceptor replay`: go through past turns again with something changed."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from preceptor.domain.errors import Malformed
from preceptor.surfaces.cli.connection import Api, api, path_to
from preceptor.surfaces.cli.console import AsJson, err, say, say_json, say_table, when
from preceptor.surfaces.cli.library import Unwritable

PATH = "/api/replays"
AT_ONCE, MOST_BYTES = 100, 5_000_000
"""Records of an export that are sent together, and how much of them: a server reads no body without an end."""
Numbered = tuple[int, Any]
"""A record with its number in the file."""
Id = Annotated[str, typer.Argument(metavar="REPLAY", help="Its id.")]
Report = Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML report.")]
Turns = Annotated[list[str] | None, typer.Option("--turn", metavar="TURN", help="This turn. May be given often.")]
Versions = Annotated[
    list[str] | None,
    typer.Option("--instruction", metavar="FAMILY=VERSION", help="Another version. May be given often."),
]

app = typer.Typer(help="Go through past turns again with something changed.", no_args_is_help=True)
_path = partial(path_to, PATH)


@app.command("run")
def run(  # noqa: PLR0913, PLR0917 - each is an option of the command
    turn: Turns = None,
    agent: Annotated[str | None, typer.Option(help="The newest turns of this agent.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many turns at most.")] = 100,
    instruction: Versions = None,
    model: Annotated[str | None, typer.Option(help="Another model.")] = None,
    overrides: Annotated[
        str | None, typer.Option(metavar="JSON", help="Any other override, as the API takes it.")
    ] = None,
    mode: Annotated[str, typer.Option(help="step or trajectory.")] = "step",
    live: Annotated[bool, typer.Option("--live", help="Ask the model again. Without: no model is asked.")] = False,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Replay past turns and say what came out otherwise. No conversation is written to, and no tool is run.

    [bold]Examples[/bold]
      preceptor replay run --agent support --instruction 0198…=1.1.0 --report report.html
      preceptor replay run --turn 0198… --model openai:gpt-5-mini --live
    """
    from preceptor.wire import strict_json

    said: Any = strict_json.read(overrides.encode()) if overrides else {}
    changed: dict[str, Any] = dict(said)
    if instruction:
        changed["instructions"] = dict(map(_version, instruction))
    if model:
        changed["model"] = model
    which: dict[str, Any] = {"turnIds": turn} if turn else {"filter": {"limit": limit} | _named(agentId=agent)}
    asked = {**which, "overrides": changed, "mode": mode, "replies": "live" if live else "recorded"}
    with api() as preceptor:
        started = preceptor.post(PATH, asked)
        _watch(preceptor, started, quiet=as_json)
        _finish(preceptor, started["replayId"], report, as_json=as_json)


@app.command("list")
def page(as_json: AsJson = False) -> None:
    """List replays, newest first.

    [bold]Example[/bold]
      preceptor replay list
    """
    with api() as preceptor:
        found = list(preceptor.items(PATH))
    if as_json:
        say_json(found)
        return
    rows = [
        (one["replayId"], one["status"], one["mode"], one["replies"], _told(one["summary"]), when(one["createdAt"]))
        for one in found
    ]
    say_table(("replay", "status", "mode", "replies", "found", "created"), rows)


@app.command("show")
def show(which: Id, report: Report = None, as_json: AsJson = False) -> None:
    """Show what a replay found; write a report of it, if wanted.

    [bold]Example[/bold]
      preceptor replay show 0198… --report report.html
    """
    with api() as preceptor:
        _finish(preceptor, which, report, as_json=as_json)


@app.command("cancel")
def cancel(which: Id) -> None:
    """Stop a replay. What it found by then stays.

    [bold]Example[/bold]
      preceptor replay cancel 0198…
    """
    with api() as preceptor:
        say(preceptor.post(_path(which, "cancel"))["status"])


@app.command("import")
def bring_in(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines, or a JSON list.")],
    agent: Annotated[str, typer.Option(help="The agent that takes the conversations on.")] = "assistant",
    kind: Annotated[str, typer.Option("--format", help="auto, openai, langfuse or langsmith.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Bring in conversations that were held elsewhere, so that they can be replayed.

    [bold]Example[/bold]
      preceptor replay import traffic.jsonl --agent support && preceptor replay run --agent support --live
    """
    from preceptor.surfaces.cli.library import decoded, read_bytes

    parts = list(_parts(_records(decoded(str(file), read_bytes(file)))))
    answers: list[Any] = []
    with api() as preceptor:
        for part in parts:
            body = {"agentId": agent, "format": kind, "records": [record for _, record in part]}
            answers.append(preceptor.post("/api/conversations/import", body))
    if as_json:
        say_json(answers)
        return
    conversations = sum(len(one["conversations"]) for one in answers)
    say(f"{conversations} conversations with {sum(one['turns'] for one in answers)} turns are with {agent}.")
    for part, one in zip(parts, answers, strict=True):
        for left in one["leftOut"]:
            say((f"record {part[left['record']][0]} is left out: {left['why']}", "yellow"))


def _records(text: str) -> list[Any]:
    """The lines of a file, or the items of the one list that it is."""
    from preceptor.wire import strict_json

    if text.lstrip().startswith("["):
        found: Any = strict_json.read(text.encode())
        return list(found)
    lines = enumerate(text.split("\n"))  # what else may end a line stands as it is in texts of JSON
    return [_record(before, line.encode()) for before, line in lines if line.strip()]


def _record(before: int, line: bytes) -> Any:
    from preceptor.wire import strict_json

    try:
        return strict_json.read(line)
    except Malformed:
        return strict_json.read(b"\n" * before + line)  # which says where in the file


def _parts(records: list[Any]) -> Iterator[list[Numbered]]:
    """What is sent together. A thread is in one part: in two it would become two conversations."""
    part: list[Numbered] = []
    size = 0
    for thread in _threads(records):
        more = sum(len(json.dumps(record)) for _, record in thread)
        if part and (len(part) + len(thread) > AT_ONCE or size + more > MOST_BYTES):
            yield part
            part, size = [], 0
        part += thread
        size += more
    if part:
        yield part


def _threads(records: list[Any]) -> Iterator[list[Numbered]]:
    """The records of each thread; of one that no request can hold, as many at a time as it can."""
    from preceptor.domain.conversations.imports import MOST_RECORDS
    from preceptor.wire.traces import thread_of

    found: dict[str | int, list[Numbered]] = {}
    for number, record in enumerate(records, 1):
        found.setdefault(thread_of(record) or number, []).append((number, record))
    for thread in found.values():
        yield from (thread[start : start + MOST_RECORDS] for start in range(0, len(thread), MOST_RECORDS))


def _version(said: str) -> tuple[str, str]:
    family, found, version = said.partition("=")
    if not (family and found and version):
        raise typer.BadParameter(f"{said!r} is not FAMILY=VERSION.", param_hint="--instruction")
    return family, version


def _named(**given: Any) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _watch(preceptor: Api, started: dict[str, Any], *, quiet: bool) -> None:
    from rich.progress import Progress

    with Progress(console=err(), transient=True, disable=quiet) as bar:
        task = bar.add_task("Replaying", total=started["progress"]["total"])

        def hear(kind: str, told: dict[str, Any]) -> None:
            if kind == "replay.progressed":
                bar.update(task, completed=told["done"])

        preceptor.watch(_path(started["replayId"], "events"), hear)


def _finish(preceptor: Api, which: str, report: Path | None, *, as_json: bool) -> None:
    done = preceptor.get(_path(which))
    if report is not None:
        _write(preceptor, done, report)
    if as_json:
        say_json(done)
    else:
        _tell(done, report)
    if done["status"] not in {"completed", "running"}:
        raise typer.Exit(1)


def _write(preceptor: Api, done: dict[str, Any], file: Path) -> None:
    from preceptor.surfaces.cli.report import html_of

    items = list(preceptor.items(_path(done["replayId"], "items")))
    try:
        file.write_text(html_of(done, items), encoding="utf-8", newline="\n")
    except OSError as error:
        raise Unwritable(file=str(file), why=error.strerror or type(error).__name__) from None


def _tell(done: dict[str, Any], report: Path | None) -> None:
    say((done["status"], "green" if done["status"] == "completed" else "yellow"), f"  {done['replayId']}")
    say(_told(done["summary"]))
    for one in done["comparison"]:
        interval = "" if one["low"] is None else f"  [{one['low']:+.4g}, {one['high']:+.4g}]"
        say(f"{one['metric']:<14}{one['before']:.4g} → {one['after']:.4g}  ({one['difference']:+.4g}){interval}")
    for item in done["items"]:
        if not item["same"]:
            why = item["sentence"] or item["diverged"] or f"{len(item['contextDiff'])} parts differ"
            say((f"{item['status']:<9}", "red" if item["status"] == "failed" else "yellow"), f"{item['turnId']}  {why}")
    say((done["validity"], "dim"))
    if report is not None:
        say(f"The report is in {report}.")


def _told(sums: dict[str, Any]) -> str:
    return (
        f"{sums['turns']} turns: {sums['same']} same, {sums['changed']} changed, {sums['ruleBreaks']} break a rule, "
        f"{sums['diverged']} diverged, {sums['failed']} failed; {sums['tokens']} tokens, cost {sums['cost']:g}"
    )
