"""How text is kept for searching: the databases would each fold case in their own way, so we do."""

from collections.abc import Iterable

from preceptor.domain.instructions.folding import folded

_EDGE = "\n"


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
