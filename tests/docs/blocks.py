"""The fenced blocks of the documents, as data."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_MARK = re.compile(r"<!-- not run: (.+?) -->\s*\Z")
_EXAMPLE = re.compile(r"<!-- (examples/\S+\.py) -->\s*\Z")


@dataclass(frozen=True, slots=True)
class Block:
    line: int
    language: str
    code: str
    excuse: str | None
    """Why it is not run, if it is not."""
    example: str | None = None
    """The file that it is word for word; `tests/test_documents.py` runs that."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for fence in _FENCE.finditer(text):
        before = text[: fence.start()]
        mark = _MARK.search(before)
        indent = len(fence[1])
        code = "".join(line[indent:] if line.strip() else line for line in fence[3].splitlines(keepends=True))
        example = _EXAMPLE.search(before)
        yield Block(before.count("\n") + 1, fence[2], code, mark[1] if mark else None, example[1] if example else None)
