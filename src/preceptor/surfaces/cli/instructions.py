"""`preceptor instructions`: the library of the organisation `default`."""

from typing import Annotated, Any

import typer

from preceptor.surfaces.cli import exchange, versions
from preceptor.surfaces.cli.connection import api
from preceptor.surfaces.cli.console import AsJson, say, say_json, say_table, warn
from preceptor.surfaces.cli.library import PATH, as_file, find, path_of, read_file, settings_of

app = typer.Typer(
    no_args_is_help=True,
    help="""The instruction library: write, version, label, try and exchange what agents are told.

    An instruction is named by its id, by the id of a version, or by its name:
    "Refund policy" and refund-policy are the same.""",
)
versions.register(app)
exchange.register(app)

Which = Annotated[str, typer.Argument(metavar="INSTRUCTION", help="Its id, the id of a version, or its name.")]
Guidelines = Annotated[list[str] | None, typer.Option("--guideline", metavar="TEXT", help="One; may be repeated.")]
Constraints = Annotated[list[str] | None, typer.Option("--constraint", metavar="TEXT", help="One; may be repeated.")]
File = Annotated[
    str | None, typer.Option(metavar="FILE", help="Read it from Markdown, YAML or JSON; - is standard input.")
]
Prompt = Annotated[str | None, typer.Option(metavar="TEXT", help="The system prompt.")]


@app.command("list")
def list_instructions(
    type_: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="system, task, behavior, template.")
    ] = None,
    category: Annotated[str | None, typer.Option(metavar="WORD", help="Such as support, coding, analysis.")] = None,
    status: Annotated[str | None, typer.Option(metavar="STATUS", help="draft, active, deprecated, archived.")] = None,
    search: Annotated[str | None, typer.Option(metavar="WORDS", help="In names and descriptions.")] = None,
    tag: Annotated[str | None, typer.Option(metavar="TAGS", help="All of these, separated by commas.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the instructions, each at its newest version in force.

    [bold]Examples[/bold]
      preceptor instructions list --type system --status active
      preceptor instructions list --search refund --json
    """
    wanted = {"type": type_, "category": category, "status": status, "q": search, "tags": tag}
    with api() as preceptor:
        found = list(preceptor.items(PATH, **wanted))
    if as_json:
        say_json(found)
        return
    columns = ("id", "name", "type", "category", "version", "status", "agents", "rating")
    begin = "There are none. Begin with `preceptor instructions templates`, or `preceptor instructions create --help`."
    say_table(columns, [_row(one) for one in found], none=begin)


@app.command()
def show(which: Which, as_json: AsJson = False) -> None:
    """Show what an instruction says, as the file that `pull` would write.

    [bold]Examples[/bold]
      preceptor instructions show refund-policy
      preceptor instructions show refund-policy > refund-policy.md
    """
    with api() as preceptor:
        found = find(preceptor, which)
    if as_json:
        say_json(found)
    else:
        say(as_file(found).rstrip("\n"))


@app.command()
def create(  # noqa: PLR0913, PLR0917 - the options of a command
    name: Annotated[str | None, typer.Option(metavar="NAME", help="As people will call it.")] = None,
    type_: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="system, task, behavior, template.")
    ] = None,
    category: Annotated[str | None, typer.Option(metavar="WORD", help="Such as support, coding, analysis.")] = None,
    prompt: Prompt = None,
    guideline: Guidelines = None,
    constraint: Constraints = None,
    draft: Annotated[bool, typer.Option("--draft", help="Do not put it in force yet.")] = False,
    file: File = None,
    template: Annotated[str | None, typer.Option(metavar="ID", help="Fill in this template.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A gap of the template.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create an instruction: by options, from a file, or from a template.

    [bold]Examples[/bold]
      preceptor instructions create --name Support --type system --prompt "You answer customers." --guideline "Be brief"
      preceptor instructions create --file support.md
      preceptor instructions create --template template-support-vi --set companyName=ACME --name "Hỗ trợ ACME"
    """
    said: dict[str, Any] = {"name": name, "type": type_, "status": "draft" if draft else None}
    told = {field: value for field, value in said.items() if value is not None}
    with api() as preceptor:
        if template is not None:
            made = preceptor.post(
                path_of("from-template", template), told | {"customizations": settings_of(set_ or [])}
            )
        else:
            body = (read_file(file) if file else {}) | told | ({"category": category} if category else {})
            made = preceptor.post(PATH, _with_content(body, prompt, guideline, constraint))
    _tell(made, as_json, "is there")


@app.command()
def revise(  # noqa: PLR0913, PLR0917 - the options of a command
    which: Which,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Its new name.")] = None,
    prompt: Prompt = None,
    guideline: Guidelines = None,
    constraint: Constraints = None,
    file: File = None,
    changelog: Annotated[str | None, typer.Option(metavar="TEXT", help="What changed, in your words.")] = None,
    bump: Annotated[str | None, typer.Option(metavar="PART", help="major, minor or patch. Default: computed.")] = None,
    as_json: AsJson = False,
) -> None:
    """Change an instruction: a new version is appended. Guidelines and constraints given here are added.

    With --file, the file is the whole of what it says from now on.

    [bold]Examples[/bold]
      preceptor instructions revise refund-policy --guideline "Mention the 30 days" --changelog "Asked for by legal"
      preceptor instructions revise refund-policy --file refund-policy.md --bump major
    """
    with api() as preceptor:
        found = find(preceptor, which)
        newest = next(preceptor.items(path_of(found["familyId"], "versions")))
        body: dict[str, Any] = _whole(read_file(file)) if file else {"content": {}}
        body |= {key: value for key, value in {"name": name, "changelog": changelog, "bump": bump}.items() if value}
        _with_content(body, prompt, guideline, constraint, newest["content"])
        made = preceptor.put(path_of(found["familyId"]), body, f'"{found["revision"]}"')
    unchanged = made["instructionId"] == newest["instructionId"]
    _tell(made, as_json, "says that already; nothing changed" if unchanged else "is the newest version")


@app.command()
def delete(
    which: Which,
    force: Annotated[bool, typer.Option("--force", help="Also where agents follow it.")] = False,
) -> None:
    """Hide an instruction. Its versions can still be read by their ids.

    [bold]Example[/bold]
      preceptor instructions delete refund-policy
    """
    with api() as preceptor:
        found = find(preceptor, which)
        preceptor.delete(path_of(found["familyId"]) + ("?force=true" if force else ""))
    say(f"{found['name']} is hidden.")


@app.command()
def templates(
    role: Annotated[str | None, typer.Option(metavar="WORD", help="assistant, analyst or reviewer.")] = None,
    category: Annotated[str | None, typer.Option(metavar="WORD", help="support, coding, analysis or general.")] = None,
    language: Annotated[str | None, typer.Option(metavar="CODE", help="en, ru or vi.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the templates: those that come with the software, then your own.

    [bold]Examples[/bold]
      preceptor instructions templates --category support --language vi
      preceptor instructions create --template template-support-vi --set companyName=ACME
    """
    with api() as preceptor:
        found = list(preceptor.items(f"{PATH}/templates", role=role, category=category))
    shown = [one for one in found if language in (None, one["content"]["language"])]
    if as_json:
        say_json(shown)
        return
    columns = ("id", "name", "category", "role", "language", "version", "gaps")
    say_table(columns, [_template_row(one) for one in shown])


def _template_row(one: dict[str, Any]) -> tuple[str, ...]:
    gaps = ", ".join(
        gap["name"] + ("*" if gap["required"] and gap["default"] is None else "") for gap in one["variables"]
    )
    language = one["content"]["language"] or ""
    return one["templateId"], one["name"], one["category"], one["targetRole"], language, one["version"], gaps


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    rating = "" if one["averageRating"] is None else f"{one['averageRating']:.1f}"
    words = (one["familyId"], one["name"], one["type"], one["category"], one["version"], one["status"])
    return *words, str(one["usageCount"]), rating


def _with_content(
    body: dict[str, Any],
    prompt: str | None,
    guidelines: list[str] | None,
    constraints: list[str] | None,
    before: dict[str, Any] | None = None,
) -> dict[str, Any]:
    content = body.setdefault("content", {})
    if prompt is not None:
        content["systemPrompt"] = prompt
    for field, more in (("guidelines", guidelines), ("constraints", constraints)):
        if more:
            content[field] = [*(content.get(field) or (before or {}).get(field) or ()), *more]
    return body


def _whole(said: dict[str, Any]) -> dict[str, Any]:
    """A file is all that an instruction says: what is not in it is taken away."""
    from preceptor.domain.instructions.content import Content

    nothing = {field.alias or name: None for name, field in Content.model_fields.items()}
    rest = {name: value for name, value in said.items() if name != "status"}
    return rest | {"content": nothing | said.get("content", {})}


def _tell(made: dict[str, Any], as_json: bool, what: str) -> None:
    for remark in made.get("warnings") or ():
        warn(remark["sentence"])
    if as_json:
        say_json(made)
    else:
        say((made["name"], "bold"), f" {made['version']} ({made['status']}) {what}. ", (made["familyId"], "dim"))
