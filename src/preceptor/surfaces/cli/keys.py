"""`preceptor keys`: API keys of the organisation `default`."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from preceptor.surfaces.cli.connection import api, path_to
from preceptor.surfaces.cli.console import AsJson, say, say_json, say_table, when

app = typer.Typer(no_args_is_help=True, help="Make, list and revoke API keys of the organisation `default`.")


@app.command("list")
def list_keys(as_json: AsJson = False) -> None:
    """List the keys, revoked ones too, without their secrets."""
    with api() as preceptor:
        keys = list(preceptor.items("/api/keys"))
    if as_json:
        say_json(keys)
        return
    rows = [(key["keyId"], key["name"], key["role"], when(key["createdAt"]), _state(key)) for key in keys]
    say_table(("id", "name", "role", "created", "state"), rows)


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for, or who has it.")],
    role: Annotated[
        str | None, typer.Option(metavar="ROLE", help="viewer, editor, operator or admin. Default: viewer.")
    ] = None,
    permission: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Instead of a role, one permission; may be given again and again."),
    ] = None,
    expires_in: Annotated[
        int | None, typer.Option(metavar="DAYS", min=1, max=36500, help="Days it is good for. Default: for ever.")
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The user it acts for. Default: the admin with the role admin, else itself."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key. It is shown once: only a hash of it is kept.

    [bold]Examples[/bold]
      preceptor keys create "Ann's laptop" --role editor --expires-in 90
      preceptor keys create "Ann's phone" --role viewer --user ann
      preceptor keys create importer --permission agent:read --permission conversation:write
    """
    wanted = _wanted(name, role, permission or [], expires_in) | ({"userId": user} if user else {})
    with api() as preceptor:
        made = preceptor.post("/api/keys", wanted)
    if as_json:
        say_json(made)
        return
    say((made["key"], "bold"))
    until = f", good until {made['expiresAt']}" if made["expiresAt"] else ""
    say((f"Key {made['keyId']} ({made['role']}{until}). It is shown this once: keep it now.", "dim"))


@app.command()
def revoke(key_id: Annotated[str, typer.Argument(metavar="ID", help="As `preceptor keys list` shows it.")]) -> None:
    """Revoke a key: whoever uses it is refused from now on.

    [bold]Example[/bold]
      preceptor keys revoke k3j9x0aab2cd
    """
    with api() as preceptor:
        preceptor.delete(path_to("/api/keys", key_id))
    say(f"Key {key_id} is revoked.")


def _wanted(name: str, role: str | None, permissions: list[str], days: int | None) -> dict[str, Any]:
    wanted: dict[str, Any] = {"name": name}
    if permissions:
        wanted["permissions"] = permissions
    if role or not permissions:
        wanted["role"] = role or "viewer"
    if days is not None:
        wanted["expiresAt"] = (datetime.now(UTC) + timedelta(days=days)).isoformat()
    return wanted


def _state(key: dict[str, Any]) -> str:
    if key["revokedAt"]:
        return f"revoked {key['revokedAt']}"
    return f"until {when(key['expiresAt'])}" if key["expiresAt"] else "usable"
