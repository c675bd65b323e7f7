"""How commands speak: results on standard output, everything else on standard error."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import IO, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, for scripts.")]

WIDE = 10_000
"""Columns where no one looks: a line in a file or a pipe is never broken."""


def out() -> Console:
    return _console(sys.stdout)


def err() -> Console:
    return _console(sys.stderr)


def say(*parts: str | tuple[str, str]) -> None:
    """Print a line. A part is text, or text with a style; nothing in it is read as markup."""
    out().print(Text.assemble(*parts), soft_wrap=True)


def warn(sentence: str) -> None:
    err().print(Text.assemble(("warning: ", "bold yellow"), sentence), soft_wrap=True)


def complain(sentence: str) -> None:
    err().print(Text.assemble(("error: ", "bold red"), " ".join(sentence.split())), soft_wrap=True)


def say_json(document: Any) -> None:
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def say_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """Nothing of it is cut off in a narrow terminal. What a row is called by stays in one piece if that is possible."""
    from rich import box
    from rich.table import Table

    console = out()
    cells = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    longest = max((row[0].cell_len for row in cells), default=0)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for place, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=place == 0 and longest <= console.width // 2)
    for row in cells:
        table.add_row(*row)
    console.print(table)


def say_diff(before: str, after: str, old: str, new: str) -> bool:
    """Show what differs between two texts, line by line; False if nothing does."""
    from difflib import unified_diff

    shown = list(unified_diff(before.splitlines(), after.splitlines(), old, new, lineterm=""))
    for line in shown:
        say((line, _COLOURS.get(line[:1], "") if line[:3] not in {"---", "+++"} else "bold"))
    return bool(shown)


_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def _console(file: IO[str]) -> Console:
    return Console(file=file, highlight=False, width=None if file.isatty() else WIDE)
