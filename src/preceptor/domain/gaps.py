"""Text with gaps: `{{name}}` and nothing else. No logic, no attributes, no formats, nothing that can be run."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from preceptor.domain.errors import Invalid

_GAP = re.compile(r"(?<!\{)\{\{([A-Za-z_][A-Za-z0-9_]{0,63})\}\}")
_SUSPECT = re.compile(r"\{\{|\{%")
_SHOWN = 40


class UndeclaredVariable(Invalid):
    code: ClassVar[str] = "undeclared_variable"
    name: str = ""
    declared: tuple[str, ...] = ()

    def __str__(self) -> str:
        known = ", ".join(self.declared) or "none"
        return f"{self.name[:_SHOWN]!r} is not a declared variable. A placeholder is {{{{name}}}}; declared: {known}."


def gaps(text: str) -> Iterator[str]:
    """The names in a text, in order, each as often as it stands there."""
    return (gap[1] for gap in _GAP.finditer(text))


def pieces(text: str) -> tuple[tuple[str, str | None], ...]:
    """The text in pieces: what stands there, and the name that follows it."""
    parts = _GAP.split(text)
    return tuple(zip(parts[::2], [*parts[1::2], None], strict=True))


def require_known(text: str, declared: Iterable[str]) -> None:
    """Refuse whatever looks like a gap and is not a declared one."""
    names = tuple(declared)
    for name in gaps(text):
        if name not in names:
            raise UndeclaredVariable(name=name, declared=names)
    rest = _GAP.sub("", text)
    if suspect := _SUSPECT.search(rest):
        raise UndeclaredVariable(name=rest[suspect.start() : suspect.start() + _SHOWN], declared=names)


def filled_size(text: str, values: Mapping[str, str]) -> int:
    """How long the filled text will be, known before anything is built."""
    return len(text) + sum(len(values[gap[1]]) - len(gap[0]) for gap in _GAP.finditer(text))


def filled(text: str, values: Mapping[str, str]) -> str:
    """One pass: what is inserted is never read again."""
    return _GAP.sub(lambda gap: values[gap[1]], text)
