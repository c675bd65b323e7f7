"""`preceptor agents`: agents of the organisation `default`, and what they are told."""

from functools import partial
from typing import Annotated, Any

import typer

from preceptor.surfaces.cli.connection import Declined, api, path_to
from preceptor.surfaces.cli.console import AsJson, say, say_json, say_table, warn, when
from preceptor.surfaces.cli.library import find, find_version
from preceptor.surfaces.cli.policies import Budget, CarryOver, Guard, Sgr, policies, told

app = typer.Typer(no_args_is_help=True, help="Agents: make them, give them instructions, see what they are told.")

Agent = Annotated[str, typer.Argument(metavar="AGENT", help="Its id.")]
Which = Annotated[str, typer.Argument(metavar="INSTRUCTION", help="Its id, the id of a version, or its name.")]


Model = Annotated[
    str | None, typer.Option(metavar="NAME", help="The model that answers, as `preceptor models list` names it.")
]
Fallback = Annotated[
    list[str] | None,
    typer.Option("--fallback", metavar="NAME", help="Asked in its place when it cannot answer; may be repeated."),
]
Tools = Annotated[list[str] | None, typer.Option("--tool", metavar="NAME", help="A tool it may call; may be repeated.")]
_path = partial(path_to, "/api/agents")


@app.command("list")
def list_agents(as_json: AsJson = False) -> None:
    """List the agents.

    [bold]Example[/bold]
      preceptor agents list --json
    """
    with api() as preceptor:
        agents = list(preceptor.items("/api/agents"))
    if as_json:
        say_json(agents)
        return
    say_table(
        ("id", "name", "role", "created"), [(a["agentId"], a["name"], a["role"], when(a["createdAt"])) for a in agents]
    )


@app.command()
def show(agent: Agent, as_json: AsJson = False) -> None:
    """Show an agent and its instructions, in the order in which they speak.

    [bold]Example[/bold]
      preceptor agents show assistant
    """
    with api() as preceptor:
        found = preceptor.get(_path(agent))
        given = list(preceptor.items(_path(agent, "instructions")))
    if as_json:
        say_json(found | {"assignments": given})
        return
    say((found["agentId"], "bold"), f"  {found['name']}, {found['role']}")
    if found["permissions"]:
        say(f"May: {', '.join(found['permissions'])}")
    for line in _about(found):
        say(line)
    for warning in found["warnings"]:
        warn(warning["sentence"])
    columns = ("instruction", "type", "version", "pin", "priority", "state", "id")
    say_table(columns, [_row(one) for one in given])


@app.command()
def change(  # noqa: PLR0913, PLR0917 - the options of a command
    agent: Agent,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="As people know it.")] = None,
    model: Model = None,
    fallback: Fallback = None,
    no_fallback: Annotated[bool, typer.Option("--no-fallback", help="Ask no other model in its place.")] = False,
    tool: Tools = None,
    no_tools: Annotated[bool, typer.Option("--no-tools", help="Let it call none.")] = False,
    budget: Budget = None,
    guard: Guard = None,
    sgr: Sgr = None,
    carry_over: CarryOver = None,
    as_json: AsJson = False,
) -> None:
    """Change how an agent answers: with which models and tools, at what cost, how it is guarded and how it plans.

    What is not named stays as it is. Tools and fallback models that are named take the place of those it had.

    [bold]Examples[/bold]
      preceptor agents change support --name "Help desk" --tool calculator --tool current_time
      preceptor agents change support --model openai:gpt-5-mini --fallback anthropic:claude-haiku-4-5 --fallback local
      preceptor agents change support --budget tokens=20000 --budget seconds=60 --carry-over
      preceptor agents change support --guard report --guard answers=true --sgr thresholds.spamScore=0.9
      preceptor agents change support --guard default --budget default
    """
    news: dict[str, Any] = _said(name=name, model=model, fallbackModels=fallback, tools=tool, carryOver=carry_over)
    news |= {field: [] for field, none in (("fallbackModels", no_fallback), ("tools", no_tools)) if none}
    wanted = {"budget": budget, "guard": guard, "sgr": sgr}
    policies({}, **wanted)  # what cannot be meant is told before anything is asked
    with api() as preceptor:
        before: dict[str, Any] = preceptor.get(_path(agent)) if any(wanted.values()) else {}
        etag = {"etag": f'"{before["revision"]}"'} if before else {}
        made = preceptor.patch(_path(agent), news | policies(before, **wanted), **etag)
    if as_json:
        say_json(made)
        return
    others = ", then ".join(made["fallbackModels"])
    say(f"{agent} answers with {made['model'] or 'the default model'}{f', else with {others}' if others else ''}.")
    for line in _about(made):
        say(line)
    for warning in made["warnings"]:
        warn(warning["sentence"])


@app.command()
def create(  # noqa: PLR0913, PLR0917 - the options of a command
    agent_id: Annotated[str, typer.Argument(metavar="ID", help="Letters, digits, dots, dashes; chosen for good.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="As people know it.")],
    role: Annotated[
        str | None, typer.Option(metavar="WORD", help="assistant, analyst, reviewer. Default: assistant.")
    ] = None,
    permission: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Such as delegate; may be repeated.")
    ] = None,
    model: Model = None,
    fallback: Fallback = None,
    tool: Tools = None,
    budget: Budget = None,
    guard: Guard = None,
    sgr: Sgr = None,
    carry_over: CarryOver = None,
    as_json: AsJson = False,
) -> None:
    """Make an agent.

    [bold]Examples[/bold]
      preceptor agents create support "Support" --role assistant --tool calculator
      preceptor agents create support "Support" --model openai:gpt-5-mini --fallback anthropic:claude-haiku-4-5
      preceptor agents create support "Support" --budget seconds=60 --guard report --sgr off --carry-over
    """
    wanted: dict[str, Any] = {"agentId": agent_id, "name": name, "permissions": permission or []}
    wanted |= _said(role=role, model=model, fallbackModels=fallback, tools=tool, carryOver=carry_over)
    wanted |= policies({}, budget=budget, guard=guard, sgr=sgr)
    with api() as preceptor:
        made = preceptor.post("/api/agents", wanted)
    if as_json:
        say_json(made)
    else:
        say(f"The agent {made['agentId']} ({made['name']}) is there.")


@app.command()
def assign(  # noqa: PLR0913, PLR0917 - the options of a command
    agent: Agent,
    which: Which,
    pin: Annotated[str | None, typer.Option(metavar="PIN", help="latest, ^1.2 or label:NAME. Default: latest.")] = None,
    version: Annotated[str | None, typer.Option(metavar="VERSION", help="Stay at this version for good.")] = None,
    priority: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="A lower one speaks first. Default: 100.")
    ] = None,
    guideline: Annotated[
        list[str] | None, typer.Option("--guideline", metavar="TEXT", help="For this agent alone; may be repeated.")
    ] = None,
    disable: Annotated[
        list[str] | None,
        typer.Option("--disable", metavar="CONSTRAINT", help="By its text or its id; may be repeated."),
    ] = None,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why a locked constraint is disabled; it needs leave.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Give an instruction to an agent; if it has it already, change how it follows it.

    [bold]Examples[/bold]
      preceptor agents assign support refund-policy --pin label:production --priority 10
      preceptor agents assign support refund-policy --version 1.2.0 --guideline "Answer in Vietnamese"
    """
    if pin is not None and version is not None:
        raise typer.BadParameter("a pin follows versions and --version stays at one: give one of them")
    custom = {"additionalGuidelines": guideline, "disabledConstraints": disable, "reason": reason}
    body = _said(pin="exact" if version else pin, priority=priority, customizations=_said(**custom))
    with api() as preceptor:
        found = find(preceptor, which)
        named = find_version(preceptor, found, version)["instructionId"] if version else found["familyId"]
        try:
            made = preceptor.post(_path(agent, "instructions"), body | {"instructionId": named})
        except Declined as declined:
            if declined.status != 409:
                raise
            made = preceptor.put(_path(agent, "instructions", named), body)
    if as_json:
        say_json(made)
    else:
        say(f"{agent} follows {made['name']} {made['resolvedVersion']} ({made['pin']}, priority {made['priority']}).")


@app.command()
def unassign(agent: Agent, which: Which) -> None:
    """Take an instruction away from an agent.

    [bold]Example[/bold]
      preceptor agents unassign support refund-policy
    """
    with api() as preceptor:
        found = find(preceptor, which)
        preceptor.delete(_path(agent, "instructions", found["familyId"]))
    say(f"{agent} no longer follows {found['name']}.")


@app.command()
def effective(
    agent: Agent,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="A moment that has passed, as 2030-01-31T12:00:00Z.")
    ] = None,
    sources: Annotated[bool, typer.Option("--sources", help="Say where every part comes from.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what an agent is told: one prompt, merged from all its instructions.

    [bold]Examples[/bold]
      preceptor agents effective assistant
      preceptor agents effective assistant --sources
      preceptor agents effective assistant --at 2030-01-31T12:00:00Z --json
    """
    query = {"at": at} if at else {}
    with api() as preceptor:
        told = preceptor.get(_path(agent, "instructions", "effective"), **query)
        given = list(preceptor.items(_path(agent, "instructions"))) if sources and not as_json else []
    if as_json:
        say_json(told)
        return
    say(told["prompt"] or "This agent is told nothing: it has no instructions in force.")
    if sources:
        columns = ("part", "instruction", "version", "field", "rule")
        names = {one["assignmentId"]: one["name"] for one in given}
        rows = [
            (s["path"], names.get(s["assignment"]) or s["instructionId"], s["version"], _place(s), s["rule"])
            for s in told["sources"]
        ]
        say_table(columns, rows)
    _remark(told)


def _about(agent: dict[str, Any]) -> list[str]:
    tools = [f"tools: {', '.join(agent['tools'])}"] if agent["tools"] else []
    return [*tools, *told(agent)]


def _said(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, [], {})}


def _remark(told: dict[str, Any]) -> None:
    for notice in (*told["conflicts"], *told["warnings"]):
        warn(notice["sentence"])


def _place(source: dict[str, Any]) -> str:
    return source["field"] if source["index"] is None else f"{source['field']}[{source['index']}]"


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    state = "active" if one["isActive"] else "switched off"
    update = one["updateAvailable"]
    newer = f"{state}, {update['version']} is newer" if update else state
    number = one["resolvedVersion"] or "none"
    return (one["name"] or "", one["type"] or "", number, one["pin"], str(one["priority"]), newer, one["familyId"])
