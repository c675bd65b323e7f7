"""`preceptor orgs`."""

from typing import Annotated

import typer

from preceptor.surfaces.cli.connection import api
from preceptor.surfaces.cli.console import AsJson, say, say_json, say_table, when

app = typer.Typer(no_args_is_help=True, help="Create and list organisations: the walls between tenants.")


@app.command("list")
def list_orgs(as_json: AsJson = False) -> None:
    """List the organisations of this installation."""
    with api() as preceptor:
        orgs = list(preceptor.items("/api/orgs"))
    if as_json:
        say_json(orgs)
        return
    say_table(("id", "name", "created"), [(org["orgId"], org["name"], when(org["createdAt"])) for org in orgs])


@app.command()
def create(
    org_id: Annotated[str, typer.Argument(metavar="ID", help="Small letters, digits and dashes; chosen for good.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="As people know it.")],
    as_json: AsJson = False,
) -> None:
    """Create an organisation.

    [bold]Example[/bold]
      preceptor orgs create acme "Acme Ltd"
    """
    with api() as preceptor:
        made = preceptor.post("/api/orgs", {"orgId": org_id, "name": name})
    if as_json:
        say_json(made)
        return
    say(f"The organisation {made['orgId']} ({made['name']}) is there.")
    say("  Its admin key  ", (made["adminKey"], "bold"), ("  (shown here once)", "dim"))
