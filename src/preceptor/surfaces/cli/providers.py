"""`preceptor providers`: where the organisation `default` has models of its own."""

from functools import partial
from typing import Annotated, Any

import typer

from preceptor.surfaces.cli.connection import api, path_to
from preceptor.surfaces.cli.console import AsJson, say, say_json, say_table
from preceptor.surfaces.cli.secret import KeyEnv, KeyStdin, NoKey, read_key
from preceptor.surfaces.cli.telling import harmless

app = typer.Typer(no_args_is_help=True, help="Providers of your own: agents name their models as ID:NAME.")

Id = Annotated[str, typer.Argument(metavar="ID", help="As `preceptor providers list` shows it.")]
_path = partial(path_to, "/api/providers")


@app.command("list")
def list_providers(as_json: AsJson = False) -> None:
    """List the providers, without their keys.

    [bold]Example[/bold]
      preceptor providers list --json
    """
    with api() as preceptor:
        found = list(preceptor.items("/api/providers"))
    if as_json:
        say_json(found)
        return
    rows = [(one["providerId"], one["kind"], one["url"], "yes" if one["hasKey"] else "no") for one in found]
    say_table(("id", "kind", "address", "key"), rows)


@app.command()
def add(  # noqa: PLR0913, PLR0917 - the options of a command
    provider_id: Annotated[str, typer.Argument(metavar="ID", help="Small letters, digits and hyphens.")],
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="openai, anthropic or openai-compatible: the format it speaks.")
    ],
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where its API begins. Default: the provider's own address.")
    ] = None,
    key_env: KeyEnv = None,
    key_stdin: KeyStdin = False,
    no_key: NoKey = False,
    as_json: AsJson = False,
) -> None:
    """Add a provider. Its key is asked for, sealed at once for this address, and never shown again.

    [bold]Examples[/bold]
      preceptor providers add ours openai
      preceptor providers add ours openai --key-env OPENAI_API_KEY
      preceptor providers add lab openai-compatible --url http://10.0.0.7:8000/v1 --no-key
    """
    wanted: dict[str, Any] = {"providerId": provider_id, "kind": kind} | ({"url": url} if url else {})
    wanted |= read_key(key_env, stdin=key_stdin, none=no_key)
    with api() as preceptor:
        made = preceptor.post("/api/providers", wanted)
    if as_json:
        say_json(made)
        return
    say(f"The provider {provider_id} is there. Name its models {provider_id}:NAME.")
    if not made["hasKey"]:
        say(("It has no key.", "dim"))


@app.command()
def change(
    provider_id: Id,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Another address: the key is forgotten.")] = None,
    key_env: KeyEnv = None,
    key_stdin: KeyStdin = False,
    no_key: NoKey = False,
    as_json: AsJson = False,
) -> None:
    """Change a provider's address, its key, or both.

    [bold]Example[/bold]
      preceptor providers change ours --key-env NEW_KEY
    """
    news = ({"url": url} if url else {}) | read_key(key_env, stdin=key_stdin, none=no_key)
    with api() as preceptor:
        made = preceptor.patch(_path(provider_id), news)
    if as_json:
        say_json(made)
    else:
        say(f"The provider {provider_id} is at {made['url']}, {'with' if made['hasKey'] else 'without'} a key.")


@app.command()
def remove(provider_id: Id) -> None:
    """Forget a provider and its key.

    [bold]Example[/bold]
      preceptor providers remove ours
    """
    with api() as preceptor:
        preceptor.delete(_path(provider_id))
    say(f"The provider {provider_id} and its key are forgotten.")


@app.command("test")
def try_out(
    provider_id: Id,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Its name at the provider.")],
    as_json: AsJson = False,
) -> None:
    """Ask one of its models a short question, with the stored address and key. It costs a few tokens.

    [bold]Example[/bold]
      preceptor providers test ours gpt-5-mini
    """
    with api() as preceptor:
        answer = preceptor.post(_path(provider_id, "test"), {"model": model})
    if as_json:
        say_json(answer)
    else:
        say((harmless(answer["sentence"]), "bold" if answer["ok"] else "red"))
        say((f"{provider_id}:{model}, {answer['seconds']:.1f} s", "dim"))
    if not answer["ok"]:
        raise typer.Exit(1)
