"""What models and people write, as safe HTML: no raw HTML, no images, no script in a link."""

from functools import cache

from markdown_it import MarkdownIt
from markupsafe import Markup

GLANCED = 1_000
"""Characters that are looked at for a line of a list."""


@cache
def _parser() -> MarkdownIt:
    # An image is a request that the text decides about: the usual way out for what was smuggled into a prompt.
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    return parser.disable("image")


def markdown(text: str) -> str:
    return _parser().render(text)


def plain(text: str) -> str:
    """How it begins, in one line and without its marks."""
    return Markup(markdown(text[:GLANCED])).striptags()  # noqa: S704 - it is taken apart, and shown as text
