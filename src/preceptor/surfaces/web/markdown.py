"""What models and people write, as safe HTML: no raw HTML, no images, no script in a link."""

import re
from functools import cache

from markdown_it import MarkdownIt
from markupsafe import Markup

_LINE = re.compile(r"\r\n?|\n")
_GO_ON = frozenset({"bullet_list_open", "ordered_list_open", "code_block"})
"""Blocks that an empty line does not end."""
GLANCED = 1_000
"""Characters that are looked at for a line of a list."""


@cache
def _parser() -> MarkdownIt:
    # An image is a request that the text decides about: the usual way out for what was smuggled into a prompt.
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    return parser.disable("image")


def markdown(text: str) -> str:
    return _parser().render(text)


@cache
def _outline() -> MarkdownIt:
    """Only what blocks there are: what is said in them is not looked at."""
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(["inline", "text_join"])


def whole_until(text: str) -> int:
    """How far a text that is still written is whole blocks: no line that follows can be part of them."""
    lines = [0, *(end.end() for end in _LINE.finditer(text))]
    blocks = [one for one in _outline().parse(text[: lines[-1]]) if one.level == 0 and one.map and one.nesting >= 0]
    if not blocks or blocks[-1].map is None:
        return 0
    begins, ends = blocks[-1].map
    over = blocks[-1].type not in _GO_ON and ends < len(lines) - 1
    return lines[-1] if over else lines[begins]


def plain(text: str) -> str:
    """How it begins, in one line and without its marks."""
    return Markup(markdown(text[:GLANCED])).striptags()  # noqa: S704 - it is taken apart, and shown as text
