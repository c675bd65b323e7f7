"""Lists come in pages; a cursor says where the next one starts."""

import re
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from preceptor.domain.errors import Malformed
from preceptor.domain.value import Value

Item = TypeVar("Item")
LARGEST_PAGE = 200
CURSOR = re.compile(r"1(?:[2-6][0-9a-f]|7[0-9a-e]){1,200}")
"""The number of this form, then the position in hexadecimal. A position is an id, which is printable ASCII."""
PLACE_CURSOR = re.compile(r"1(?:3[0-9]){1,15}")
"""Where a list is counted rather than named, the position is a number."""


class BadCursor(Malformed):
    code = "bad_cursor"

    def __str__(self) -> str:
        return "This cursor was not made by this server. Start again without one."


class Page(Value, Generic[Item]):
    """Part of a list. `nextCursor` is null on the last page."""

    items: tuple[Item, ...]
    next_cursor: str | None = None


def page_of(found: Sequence[Item], limit: int, position: Callable[[Item], str]) -> Page[Item]:
    """Make a page of at most `limit` from up to `limit + 1` found items: the extra one shows there is more."""
    shown = tuple(found[:limit])
    more = len(found) > limit
    return Page(items=shown, next_cursor=cursor_at(position(shown[-1])) if more else None)


def part_of(
    whole: Sequence[Item], cursor: str | None, limit: int | None, position: Callable[[Item], str]
) -> Page[Item]:
    """Make a page of a list that is known whole. Without a limit it is all that comes after the cursor."""
    after = position_of(cursor)
    if after is not None:
        seen = [place for place, item in enumerate(whole) if position(item) == after]
        whole = whole[seen[0] + 1 :] if seen else ()
    return Page(items=tuple(whole)) if limit is None else page_of(whole, limit, position)


def cursor_at(position: str) -> str:
    return f"1{position.encode().hex()}"


def position_of(cursor: str | None) -> str | None:
    """Read a cursor back. None is the beginning."""
    return None if cursor is None else _read(cursor, CURSOR)


def place_of(cursor: str | None) -> int | None:
    """Read a cursor of a list that is counted."""
    return None if cursor is None else int(_read(cursor, PLACE_CURSOR))


def _read(cursor: str, form: re.Pattern[str]) -> str:
    if not form.fullmatch(cursor):
        raise BadCursor
    return bytes.fromhex(cursor[1:]).decode()
