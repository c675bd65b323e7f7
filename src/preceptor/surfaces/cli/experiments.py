"""`preceptor experiments`: compare two versions, and see what came of it."""

from functools import partial
from typing import Annotated, Any

import typer

from preceptor.surfaces.cli.connection import Api, api, path_to
from preceptor.surfaces.cli.console import AsJson, say, say_json, say_table, when
from preceptor.surfaces.cli.library import find, find_version

app = typer.Typer(no_args_is_help=True, help="Experiments: compare two versions, and see what can be believed of it.")

PATH = "/api/instructions/experiments"
Which = Annotated[str, typer.Argument(metavar="EXPERIMENT", help="Its id.")]
_path = partial(path_to, PATH)


@app.command("list")
def list_experiments(
    status: Annotated[
        str | None, typer.Option(metavar="WORD", help="draft, running, stopped, ended or promoted.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List experiments, newest first.

    [bold]Example[/bold]
      preceptor experiments list --status running
    """
    with api() as preceptor:
        found = list(preceptor.items(PATH, status=status))
    if as_json:
        say_json(found)
        return
    columns = ("name", "status", "agents", "metric", "ends", "id")
    say_table(columns, [_row(one) for one in found])


@app.command()
def create(  # noqa: PLR0913, PLR0917 - the options of a command
    name: Annotated[str, typer.Argument(metavar="NAME", help="As people know it.")],
    instruction: Annotated[str, typer.Argument(metavar="INSTRUCTION", help="Its id, or its name.")],
    control: Annotated[str, typer.Argument(metavar="CONTROL", help="The version to compare with, as 1.2.0.")],
    variant: Annotated[str, typer.Argument(metavar="VARIANT", help="The version that may be better.")],
    agent: Annotated[list[str], typer.Option("--agent", metavar="AGENT", help="Who tries it; may be repeated.")],
    split: Annotated[float | None, typer.Option(metavar="SHARE", help="Of the variant. Default: 0.5.")] = None,
    days: Annotated[float | None, typer.Option(metavar="NUMBER", help="How long. Default: 7.")] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="WORD", help="conversation or user. Default: conversation.")
    ] = None,
    metric: Annotated[str | None, typer.Option(metavar="NAME", help="The one that decides. Default: rating.")] = None,
    guard: Annotated[
        list[str] | None, typer.Option("--guard", metavar="NAME", help="A metric not to harm; may be repeated.")
    ] = None,
    draft: Annotated[bool, typer.Option("--draft", help="Do not start it yet.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare two versions of an instruction. It starts at once, and says what it can show.

    [bold]Example[/bold]
      preceptor experiments create "Shorter answers" manner 1.0.0 2.0.0 --agent support --days 14 --guard cost
    """
    with api() as preceptor:
        body = {"name": name, "agentIds": agent, **_arms(preceptor, instruction, control, variant)}
        wishes = {"splitRatio": split, "duration": days, "unit": unit, "primaryMetric": metric, "guardrails": guard}
        body |= {key: value for key, value in wishes.items() if value is not None}
        made = preceptor.post(PATH, body | ({"status": "draft"} if draft else {}))
    _told(made, as_json)


@app.command()
def show(experiment: Which, as_json: AsJson = False) -> None:
    """Show the design of an experiment.

    [bold]Example[/bold]
      preceptor experiments show 0199a1b2-0000-7000-8000-000000000000
    """
    with api() as preceptor:
        _told(preceptor.get(_path(experiment)), as_json)


@app.command()
def start(experiment: Which, as_json: AsJson = False) -> None:
    """Start a draft. Its agents are held at the control until an arm is promoted.

    [bold]Example[/bold]
      preceptor experiments start 0199a1b2-0000-7000-8000-000000000000
    """
    _ask(experiment, "start", as_json)


@app.command()
def stop(experiment: Which, as_json: AsJson = False) -> None:
    """Stop an experiment: from now on the control is served.

    [bold]Example[/bold]
      preceptor experiments stop 0199a1b2-0000-7000-8000-000000000000
    """
    _ask(experiment, "stop", as_json)


@app.command()
def promote(
    experiment: Which,
    control: Annotated[bool, typer.Option("--control", help="The control, and not the variant.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make the variant what all agents of the experiment are told.

    [bold]Example[/bold]
      preceptor experiments promote 0199a1b2-0000-7000-8000-000000000000
    """
    _ask(experiment, "promote", as_json, {"arm": "control" if control else "variant"})


@app.command()
def results(experiment: Which, as_json: AsJson = False) -> None:
    """Show what an experiment has shown so far. Looking does no harm.

    [bold]Example[/bold]
      preceptor experiments results 0199a1b2-0000-7000-8000-000000000000 --json
    """
    with api() as preceptor:
        found = preceptor.get(_path(experiment, "results"))
    if as_json:
        say_json(found)
        return
    say((found["verdict"]["sentence"], "bold"))
    say(found["power"]["sentence"])
    health = found["health"]
    lights = ("srm", "crossover", "renderedMismatch")
    checks = ", ".join(f"{name} {health[name]['status']}" for name in lights)
    say(f"Health: {health['status']} ({checks})")
    sizes = ", ".join(f"{arm['name']} {arm['units']}" for arm in found["arms"])
    say(f"Units ({found['unit']}s): {sizes}")
    columns = ("metric", "role", "control", "variant", "difference", "at every look", "once, at the end", "p")
    say_table(columns, [_effect(found, one) for one in found["effects"] if one["difference"] is not None])


def _arms(preceptor: Api, instruction: str, control: str, variant: str) -> dict[str, str]:
    found = find(preceptor, instruction)
    return {
        "controlInstructionId": find_version(preceptor, found, control)["instructionId"],
        "variantInstructionId": find_version(preceptor, found, variant)["instructionId"],
    }


def _ask(experiment: str, what: str, as_json: bool, body: dict[str, str] | None = None) -> None:
    with api() as preceptor:
        _told(preceptor.post(_path(experiment, what), body), as_json)


def _told(experiment: dict[str, Any], as_json: bool) -> None:
    if as_json:
        say_json(experiment)
        return
    say((experiment["name"], "bold"), f"  {experiment['status']}")
    say(f"Id: {experiment['experimentId']}")
    say(f"Agents: {', '.join(experiment['agentIds'])}")
    say(f"Decides by: {experiment['primaryMetric']}")
    say(f"Variant: {experiment['splitRatio']:.0%} of {experiment['unit']}s")
    if experiment["endsAt"]:
        say(f"Ends: {experiment['endsAt']}")
    say(experiment["power"]["sentence"])


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    agents = ", ".join(one["agentIds"])
    return (one["name"], one["status"], agents, one["primaryMetric"], when(one["endsAt"] or ""), one["experimentId"])


def _effect(found: dict[str, Any], one: dict[str, Any]) -> tuple[str, ...]:
    means = [arm["metrics"].get(one["metric"], {}).get("mean", 0.0) for arm in found["arms"]]
    valid = one["alwaysValid"]
    return (
        one["metric"],
        one["role"],
        *(f"{mean:.4g}" for mean in means),
        f"{one['difference']:+.4g}",
        f"{valid['low']:+.4g} … {valid['high']:+.4g}",
        f"{one['low']:+.4g} … {one['high']:+.4g}",
        f"{one['pValue']:.3g}",
    )
