"""The command line: every command with its arguments, its options and its examples."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from preceptor.surfaces.cli.main import app
from tools.reference.markdown import page, table

INTRODUCTION = """# Command line

Every command of `preceptor`. `--help` after any of them says the same. While a server runs, commands speak to it;
without one they open the data themselves. `--json` prints one JSON document, for scripts. Exit codes: 0 fine, 1
refused or failed, 2 wrong usage."""


def commands_page() -> str:
    whole: Any = typer.main.get_command(app)
    return page(INTRODUCTION, *_told(whole, ()))


def _told(group: Any, path: tuple[str, ...]) -> Iterator[str]:
    for name, command in group.commands.items():
        if getattr(command, "hidden", False):
            continue
        here = (*path, name)
        yield from _command(command, here)
        if hasattr(command, "commands"):
            yield from _told(command, here)


def _command(command: Any, path: tuple[str, ...]) -> Iterator[str]:
    yield f"{'#' * (len(path) + 1)} preceptor {' '.join(path)}"
    said, _, examples = re.sub(r"\[/?bold\]", "", command.help or "").partition("\n\nExample")
    yield re.sub(r"(?<!\n)\n(?!\n)", " ", said)
    given = [one for one in command.params if "--help" not in one.opts]
    rows = [(_names(one), _type(one), _meaning(one)) for one in given]
    if rows:
        yield table(("argument or option", "takes", "meaning"), rows)
    if shown := examples.partition("\n")[2].rstrip():
        yield f"```text\n{_dedented(shown)}\n```"


def _dedented(text: str) -> str:
    return "\n".join(line.removeprefix("  ") for line in text.split("\n"))


def _names(one: Any) -> str:
    if one.param_type_name == "argument":
        name = (one.metavar or one.name).upper()
        return f"`{name}`" if one.required else f"`[{name}]`"
    return ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))


def _type(one: Any) -> str:
    if getattr(one, "is_flag", False):
        return ""
    told = one.metavar or getattr(one.type_descriptor.annotation, "__name__", "text")
    return {"str": "text", "int": "number", "float": "number", "Path": "file"}.get(told, told)


def _meaning(one: Any) -> str:
    default = one.default
    shown = default is not None and default is not False and not callable(default) and default not in ([], ())
    must = " Required." if one.required and one.param_type_name == "option" else ""
    return f"{one.help or ''}{must}" + (f" Default: `{default}`." if shown else "")
