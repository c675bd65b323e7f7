"""`preceptor users`: users of the organisation `default`."""

from typing import Annotated

import typer

from preceptor.surfaces.cli.connection import api
from preceptor.surfaces.cli.console import AsJson, say, say_json, say_table, when

app = typer.Typer(no_args_is_help=True, help="Add and list users of the organisation `default`.")


@app.command("list")
def list_users(as_json: AsJson = False) -> None:
    """List the users."""
    with api() as preceptor:
        users = list(preceptor.items("/api/users"))
    if as_json:
        say_json(users)
        return
    rows = [
        (user["userId"], user["name"], user["role"], user["groupId"] or "", when(user["createdAt"])) for user in users
    ]
    say_table(("id", "name", "role", "group", "created"), rows)


@app.command()
def create(
    user_id: Annotated[str, typer.Argument(metavar="ID", help="Chosen by you; with OIDC, the token's `sub`.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="As people know them.")],
    role: Annotated[str, typer.Option(metavar="ROLE", help="viewer, editor, operator or admin.")] = "viewer",
    group: Annotated[str | None, typer.Option(metavar="ID", help="The group they belong to.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a user.

    [bold]Example[/bold]
      preceptor users create ann "Ann Lee" --role editor
    """
    with api() as preceptor:
        made = preceptor.post("/api/users", {"userId": user_id, "name": name, "role": role, "groupId": group})
    if as_json:
        say_json(made)
        return
    say(f"The user {made['userId']} ({made['role']}) is there.")
