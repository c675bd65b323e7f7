"""How commands speak: results on standard output, everything else on standard error."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import IO, Annotated, Any

import typer
from rich.cells import cell_len
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


def say_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], none: str = "There are none.") -> None:
    """A table where a screen has room for its words, else row by row: nothing is cut off, and no word broken in two.

    What a row is called by stays on one line where that is possible, so that it can be copied.
    """
    console = out()
    cells = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    if not cells:
        say(none)
    elif widths := _widths(console, columns, cells):
        _say_columns(console, columns, cells, widths)
    else:
        for row in cells:
            _say_row(console, columns, row)


def when(moment: str) -> str:
    """A moment as people compare it, in UTC: `--json` has the rest of the second."""
    return f"{moment[:19]}Z" if moment else ""


EDGES, BETWEEN = 2, 3
"""Columns that a table takes besides what is in it: at its sides, and between two of its columns."""
JOINT, INDENT = " · ", 2
"""What stands between two things about a row, and before the first, where there is no room for a table."""


def _widths(console: Console, columns: Sequence[str], cells: Sequence[Sequence[Text]]) -> list[int]:
    """As wide as each column likes; if that is too much, the widest give way. Nothing if words would be broken."""
    read = [[Text(column), *(row[place] for row in cells)] for place, column in enumerate(columns)]
    longest = [[max(map(cell_len, one.plain.splitlines() or [""])) for one in column] for column in read]
    widths = [max(column) for column in longest]
    least = [max(cell_len(word) for one in column for word in one.plain.split() or [""]) for column in read]
    room = console.width - EDGES - BETWEEN * (len(columns) - 1)
    least[0] = widths[0] if widths[0] <= console.width // 2 else least[0]
    if sum(least) > room:
        return []
    while sum(widths) > room:
        widest = max((place for place, width in enumerate(widths) if width > least[place]), key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def _say_columns(
    console: Console, columns: Sequence[str], cells: Sequence[Sequence[Text]], widths: Sequence[int]
) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column, width in zip(columns, widths, strict=True):
        table.add_column(column, width=width)
    for row in cells:
        table.add_row(*row)
    console.print(table)


def _say_row(console: Console, columns: Sequence[str], row: Sequence[Text]) -> None:
    """What the row is called by; below it, each of the rest with its name, as many to a line as there is room for."""
    from rich.padding import Padding

    named = [
        Text.assemble(f"{name}: " * bool(name), cell) for name, cell in zip(columns, row, strict=True) if cell.plain
    ]
    lines = [row[0].copy()]
    lines[0].stylize("bold")
    for one in named[bool(row[0].plain) :]:
        if len(lines) > 1 and lines[-1].cell_len + len(JOINT) + one.cell_len <= console.width - INDENT:
            lines[-1] += Text(JOINT) + one
        else:
            lines.append(one)
    console.print(lines[0], soft_wrap=True)
    for line in lines[1:]:
        console.print(Padding(line, (0, 0, 0, INDENT), expand=False))


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
