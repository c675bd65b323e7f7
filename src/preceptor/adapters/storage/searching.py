"""How text is kept for searching: the databases would each fold case in their own way, so we do."""

from collections.abc import Iterable

from sqlalchemy import ColumnElement, Text, bindparam, cast, or_

from preceptor.domain.instructions.folding import folded

_EDGE = "\n"


def any_or(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    """The column is what `:name` says; any will do when it says nothing."""
    return or_(cast(bindparam(name), Text).is_(None), column == bindparam(name))


def any_or_like(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    return or_(cast(bindparam(name), Text).is_(None), column.like(bindparam(name), escape="\\"))


def before(column: ColumnElement[str], name: str = "after") -> ColumnElement[bool]:
    """Newest first: what comes after a position has a smaller id."""
    return or_(cast(bindparam(name), Text).is_(None), column < bindparam(name))


def words_kept(*texts: str) -> str:
    return _EDGE.join(map(folded, texts))


def words_wanted(words: str | None) -> str | None:
    return None if words is None else f"%{_escaped(folded(words))}%"


def tags_kept(tags: Iterable[str]) -> str:
    """Sorted, each between line breaks: one pattern can ask for several."""
    return "".join(f"{_EDGE}{tag}{_EDGE}" for tag in sorted(set(map(folded, tags))))


def tags_wanted(tags: Iterable[str]) -> str | None:
    wanted = sorted(set(map(folded, tags)))
    return "%" + "%".join(f"{_EDGE}{_escaped(tag)}{_EDGE}" for tag in wanted) + "%" if wanted else None


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
