"""`preceptor instructions`: the library as a folder of Markdown files, and as one file."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from preceptor.surfaces.cli.connection import Api, api
from preceptor.surfaces.cli.console import AsJson, say, say_diff, say_json
from preceptor.surfaces.cli.library import PATH, Unwritable, as_file, find, find_version, path_of, read_bytes

if TYPE_CHECKING:
    from preceptor.domain.instructions.bundle import Bundle

HERE = Path("instructions")
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Of Markdown files.", file_okay=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]
_COLOURS = {"create": "green", "add_version": "green", "revise": "yellow", "conflict": "red", "skip": "dim"}


def register(app: typer.Typer) -> None:
    for name, command in {"diff": diff, "pull": pull, "push": push, "import": bring_in, "export": take_out}.items():
        app.command(name)(command)


def pull(
    folder: Folder = HERE,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that you have edited.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Write the library into a folder: one Markdown file per instruction, at its newest version.

    Files keep their names and places. A file with edits that were not pushed is left as it is.

    [bold]Examples[/bold]
      preceptor instructions pull prompts --dry-run
      preceptor instructions pull prompts && git diff prompts
    """
    from preceptor.surfaces.cli.folders import Arriving, read_folder

    with api() as preceptor:
        library = _library(preceptor)
    changes = Arriving(folder, read_folder(folder), library).plan(force=force)
    if not dry_run:
        changes.write()
    _say_changes(changes.verdicts, as_json)
    if changes.kept:
        raise typer.Exit(1)


def push(
    folder: Folder = HERE,
    force: Annotated[bool, typer.Option("--force", help="Also over versions that came since you pulled.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Bring a folder into the library: new files become instructions, edited ones new versions. All or nothing.

    Afterwards the files carry the ids and version numbers that they have got.

    [bold]Examples[/bold]
      preceptor instructions push prompts --dry-run
      preceptor instructions push prompts
    """
    from preceptor.surfaces.cli.folders import Arriving, read_existing
    from preceptor.wire import library_files

    files = read_existing(folder)
    bundle = library_files.from_files(files)
    with api() as preceptor:
        plan = _send(preceptor, bundle, dry_run=dry_run, force=force)
        if not dry_run:
            Arriving(folder, files, _library(preceptor)).plan(force=True, only_known=True).write()
    _say_plan(plan, as_json)


def diff(
    which: Annotated[str | None, typer.Argument(metavar="INSTRUCTION", help="Compare two of its versions.")] = None,
    before: Annotated[str | None, typer.Argument(metavar="FROM", help="Default: the version before TO.")] = None,
    after: Annotated[str | None, typer.Argument(metavar="TO", help="Default: the newest version.")] = None,
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="Without an instruction: compare with it.")] = HERE,
) -> None:
    """Show what differs: between two versions, or between the library and a folder.

    [bold]Examples[/bold]
      preceptor instructions diff refund-policy 1.0.0 1.2.0
      preceptor instructions diff --folder prompts
    """
    with api() as preceptor:
        pairs = _versions(preceptor, which, before, after) if which else _folder(preceptor, folder)
    different = [say_diff(old, new, old_name, new_name) for old_name, old, new_name, new in pairs]
    if not any(different):
        say("Nothing differs.")


def bring_in(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A bundle: .json, .yaml or .yml.")],
    force: Annotated[bool, typer.Option("--force", help="Where both sides have changed, the file wins.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Bring in a library from one file. All of it or nothing; what is here already stays.

    [bold]Examples[/bold]
      preceptor instructions import library.json --dry-run
      preceptor instructions import library.yaml
    """
    from preceptor.wire import library_files

    raw = read_bytes(file)
    is_yaml = file.suffix in {".yaml", ".yml"}
    bundle = library_files.from_yaml(raw, file.name) if is_yaml else library_files.from_json(raw, file.name)
    with api() as preceptor:
        _say_plan(_send(preceptor, bundle, dry_run=dry_run, force=force), as_json)


def take_out(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help=".json or .yaml. Default: print JSON.")] = None,
    history: Annotated[bool, typer.Option(help="All versions, or only the newest.")] = True,
    assignments: Annotated[bool, typer.Option("--assignments", help="Which agents follow them, too.")] = False,
) -> None:
    """Take the library out as one plain file.

    [bold]Examples[/bold]
      preceptor instructions export library.json
      preceptor instructions export library.yaml --no-history --assignments
    """
    from preceptor.wire import library_files

    with api() as preceptor:
        bundle = _library(preceptor, history=history, assignments=assignments)
    is_yaml = file is not None and file.suffix in {".yaml", ".yml"}
    text = library_files.to_yaml(bundle) if is_yaml else library_files.to_json(bundle)
    if file is None:
        say(text.rstrip("\n"))
        return
    try:
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise Unwritable(file=str(file), why=error.strerror or type(error).__name__) from None
    say(f"{len(bundle.instructions)} instructions are in {file}.")


def _library(preceptor: Api, *, history: bool = True, assignments: bool = False) -> "Bundle":
    import json

    from preceptor.domain.instructions.bundle import Bundle

    asked = {"history": str(history).lower(), "assignments": str(assignments).lower()}
    return Bundle.model_validate_json(json.dumps(preceptor.get(f"{PATH}/export", **asked)))


def _send(preceptor: Api, bundle: "Bundle", *, dry_run: bool, force: bool) -> dict[str, Any]:
    from preceptor.wire.library_files import plain

    query = f"dryRun={str(dry_run).lower()}&force={str(force).lower()}"
    return preceptor.post(f"{PATH}/import?{query}", plain(bundle))


def _versions(preceptor: Api, which: str, before: str | None, after: str | None) -> list[tuple[str, str, str, str]]:
    found = find(preceptor, which)
    every = list(preceptor.items(path_of(found["familyId"], "versions")))
    new = find_version(preceptor, found, after) if after else every[0]
    place = [one["instructionId"] for one in every].index(new["instructionId"])
    old = find_version(preceptor, found, before) if before else every[min(place + 1, len(every) - 1)]
    return [(f"{old['name']} {old['version']}", as_file(old), f"{new['name']} {new['version']}", as_file(new))]


def _folder(preceptor: Api, folder: Path) -> list[tuple[str, str, str, str]]:
    from preceptor.surfaces.cli.folders import Arriving, read_existing

    files = read_existing(folder)
    there = Arriving(folder, files, _library(preceptor)).files
    here = {path: raw.decode("utf-8-sig").replace("\r\n", "\n") for path, raw in files.items()}
    return [
        (f"library/{path}", there.get(path, ""), f"{folder}/{path}", here.get(path, ""))
        for path in sorted(there.keys() | here.keys())
    ]


def _say_plan(plan: dict[str, Any], as_json: bool) -> None:
    if as_json:
        say_json(plan)
        return
    for step in plan["steps"]:
        say((f"{step['action']:<12}", _COLOURS.get(step["action"], "")), step["sentence"])
    if not plan["steps"]:
        say("There is nothing to bring in.")
    elif plan["dryRun"]:
        say(("Nothing was done: this is what would be.", "dim"))


def _say_changes(verdicts: Iterable[tuple[str, str]], as_json: bool) -> None:
    told = list(verdicts)
    if as_json:
        say_json([{"file": path, "change": verdict} for path, verdict in told])
        return
    for path, verdict in told:
        say((f"{verdict:<10}", {"new": "green", "updated": "yellow", "kept": "red"}.get(verdict, "dim")), path)
    if any(verdict == "kept" for _, verdict in told):
        say("Files that are kept have edits of yours: push them, or pull with --force.")
