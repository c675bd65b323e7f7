"""`preceptor mcp-servers`: servers whose tools the agents of the organisation `default` may use."""

import sys
from functools import partial
from typing import Annotated, Any

import typer

from preceptor.surfaces.cli.connection import api, path_to
from preceptor.surfaces.cli.console import AsJson, say, say_json, say_table
from preceptor.surfaces.cli.secret import KeyEnv, KeyStdin, NoKey, read_key
from preceptor.surfaces.cli.telling import harmless

app = typer.Typer(no_args_is_help=True, help="MCP servers: add them, look at their tools, approve what you want.")

Id = Annotated[str, typer.Argument(metavar="ID", help="As `preceptor mcp-servers list` shows it.")]
Tools = Annotated[list[str], typer.Argument(metavar="TOOL…", help="Their names at the server.")]
_path = partial(path_to, "/api/mcp-servers")


@app.command("list")
def list_servers(as_json: AsJson = False) -> None:
    """List the servers, with how many of their tools are approved.

    [bold]Example[/bold]
      preceptor mcp-servers list --json
    """
    with api() as preceptor:
        found = list(preceptor.items("/api/mcp-servers"))
    if as_json:
        say_json(found)
        return
    say_table(("id", "address", "approved", "tools", "what to know"), [_row(one) for one in found])


@app.command()
def show(server: Id, as_json: AsJson = False) -> None:
    """Show what a server offered when it was last looked at, and how each tool stands.

    [bold]Example[/bold]
      preceptor mcp-servers show sky
    """
    with api() as preceptor:
        found = preceptor.get(_path(server))
    _shown(found, as_json=as_json)


@app.command()
def add(
    server: Annotated[str, typer.Argument(metavar="ID", help="Small letters, digits and hyphens.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="Its streamable HTTP address.")],
    key_env: KeyEnv = None,
    key_stdin: KeyStdin = False,
    no_key: NoKey = False,
    as_json: AsJson = False,
) -> None:
    """Add a server, and look at what it has. Nothing of it is used before you approve it.

    [bold]Examples[/bold]
      preceptor mcp-servers add sky https://sky.example/mcp
      preceptor mcp-servers add sky https://sky.example/mcp --key-env SKY_KEY
    """
    wanted = {"serverId": server, "url": url} | read_key(key_env, stdin=key_stdin, none=no_key)
    with api() as preceptor:
        preceptor.post("/api/mcp-servers", wanted)
        found = preceptor.post(_path(server, "refresh"))
    _shown(found, as_json=as_json)


@app.command()
def refresh(server: Id, as_json: AsJson = False) -> None:
    """Ask a server what it has now. A tool that is no longer what you approved is not used until you approve it.

    [bold]Example[/bold]
      preceptor mcp-servers refresh sky
    """
    with api() as preceptor:
        found = preceptor.post(_path(server, "refresh"))
    _shown(found, as_json=as_json)


@app.command()
def approve(
    server: Id,
    tools: Tools,
    effect: Annotated[
        str | None,
        typer.Option(metavar="EFFECT", help="read, idempotent or once: may a call be repeated? Default: once."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not show them and ask first.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let agents use these tools as they are now, besides those that are approved already.

    [bold]Examples[/bold]
      preceptor mcp-servers approve sky weather --effect read
      preceptor mcp-servers approve sky weather tides --yes
    """
    with api() as preceptor:
        found = preceptor.get(_path(server))
        chosen = _chosen(found, tools)
        if not yes:
            _looked_at(chosen)
        wanted = [_approval(one, effect or "once") for one in chosen]
        kept = [_approval(one) for one in _approved(found) if one["name"] not in tools]
        made = preceptor.put(_path(server, "tools"), {"tools": kept + wanted}, f'"{found["revision"]}"')
    _shown(made, as_json=as_json)


@app.command()
def withdraw(server: Id, tools: Tools, as_json: AsJson = False) -> None:
    """No longer let agents use these tools.

    [bold]Example[/bold]
      preceptor mcp-servers withdraw sky weather
    """
    with api() as preceptor:
        found = preceptor.get(_path(server))
        _chosen(found, tools)
        kept = [_approval(one) for one in _approved(found) if one["name"] not in tools]
        made = preceptor.put(_path(server, "tools"), {"tools": kept}, f'"{found["revision"]}"')
    _shown(made, as_json=as_json)


@app.command()
def remove(server: Id) -> None:
    """Forget a server, its key and every approval.

    [bold]Example[/bold]
      preceptor mcp-servers remove sky
    """
    with api() as preceptor:
        preceptor.delete(_path(server))
    say(f"The MCP server {server} is forgotten.")


def _chosen(found: dict[str, Any], names: list[str]) -> list[dict[str, Any]]:
    offered = {one["name"]: one for one in found["tools"]}
    for name in names:
        if name not in offered:
            known = ", ".join(harmless(one) for one in offered) or "none that we know of: refresh it first"
            raise typer.BadParameter(f"{found['serverId']} has no tool {name!r}; it has {known}")
        if offered[name]["standing"] == "refused":
            raise typer.BadParameter(f"{name!r} cannot be approved: {offered[name]['why']}")
    return [offered[name] for name in dict.fromkeys(names)]


def _looked_at(tools: list[dict[str, Any]]) -> None:
    for one in tools:
        say((harmless(one["name"]), "bold"), f"  {harmless(one['description'])}")
    if not sys.stdin.isatty():
        raise typer.BadParameter("there is nobody to ask; look at them with `show`, then give --yes")
    typer.confirm("Let agents use these?", abort=True, err=True)


def _approved(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in found["tools"] if one["standing"] == "approved"]


def _approval(tool: dict[str, Any], effect: str | None = None) -> dict[str, Any]:
    return {"name": tool["name"], "hash": tool["hash"], "effect": effect or tool["effect"] or "once"}


def _shown(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(found)
        return
    say((found["serverId"], "bold"), f"  {found['url'] or 'from the operator'}")
    if found["problem"]:
        say((harmless(found["problem"]), "yellow"))
    rows = [
        (harmless(one["name"]), one["fullName"], one["standing"], one["effect"] or "", _first_line(one))
        for one in found["tools"]
    ]
    say_table(("tool", "agents call it", "standing", "effect", "what it says it does"), rows)


def _first_line(tool: dict[str, Any]) -> str:
    return tool["why"] or harmless(tool["description"].strip().partition("\n")[0])[:80]


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    approved = len(_approved(one))
    changed = sum(tool["standing"] == "changed" for tool in one["tools"])
    note = one["problem"] or (f"{changed} changed since" if changed else "")
    return one["serverId"], one["url"] or "from the operator", str(approved), str(len(one["tools"])), harmless(note)
