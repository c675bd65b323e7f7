"""What is said, and what becomes of it: kept with its source, or lost with the reason."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from preceptor.domain.instructions.effective import Assignment, Notice, Overridden, Reason, Rule, Source
from preceptor.domain.instructions.folding import line_key


class Said(msgspec.Struct):
    """One thing that one assignment says in one place."""

    by: Assignment
    field: str
    index: int | None
    value: Any
    text: str
    rule: Rule = Rule.LISTED
    key: object = None
    """What makes it the same as another, where that is known already."""

    def kept(self, path: str, rule: Rule | None = None) -> Source:
        version = self.by.version
        return Source(
            path=path,
            instruction_id=version.instruction_id,
            version=str(version.version),
            field=self.field,
            index=self.index,
            assignment=self.by.assignment_id,
            rule=rule or self.rule,
        )

    def lost(self, path: str, reason: Reason) -> Overridden:
        return Overridden(path=path, text=self.text, reason=reason, **self._place())

    def disabled(self, path: str) -> Overridden:
        """Taken away by the assignment's customizations; where that took leave, it says whose and why."""
        leave = self.by.override
        if leave is None or self.text not in leave.constraints:
            return self.lost(path, Reason.DISABLED)
        reason = Reason.LOCK_OVERRIDDEN if self.rule is Rule.LOCKED else Reason.DISABLED
        place = self._place()
        return Overridden(path=path, text=self.text, reason=reason, by=leave.by, because=leave.reason, **place)

    def _place(self) -> dict[str, Any]:
        return {
            "instruction_id": self.by.version.instruction_id,
            "version": str(self.by.version.version),
            "field": self.field,
            "index": self.index,
            "assignment": self.by.assignment_id,
        }


class Merged(NamedTuple):
    """One field of the answer with its history."""

    value: Any
    sources: tuple[Source, ...] = ()
    overridden: tuple[Overridden, ...] = ()
    conflicts: tuple[Notice, ...] = ()


def _line_key(said: Said) -> object:
    return said.key or line_key(said.text)


def listed(path: str, said: Iterable[Said], key: Callable[[Said], object] = _line_key) -> Merged:
    """Joined; of several that say the same, the first stays."""
    places: dict[object, int] = {}
    values: list[Any] = []
    sources: list[Source] = []
    overridden: list[Overridden] = []
    for one in said:
        place = places.setdefault(key(one), len(values))
        if place == len(values):
            values.append(one.value)
            sources.append(one.kept(f"{path}/{place}"))
        else:
            overridden.append(one.lost(f"{path}/{place}", Reason.DUPLICATE))
    return Merged(tuple(values), tuple(sources), tuple(overridden))


class Speech(NamedTuple):
    """The lines that one assignment has for one list."""

    by: Assignment
    field: str
    lines: Sequence[str]
    rule: Rule = Rule.LISTED


def joined(path: str, speeches: Iterable[Speech]) -> Merged:
    """`listed` for plain lines, which are most of what is ever said: nothing is made for a line but its source."""
    places: dict[str, int] = {}
    values: list[str] = []
    sources: list[Source] = []
    overridden: list[Overridden] = []
    for by, field, lines, rule in speeches:
        whose, said_in, number = by.version.instruction_id, by.assignment_id, str(by.version.version)
        for index, line in enumerate(lines):
            place = places.setdefault(line_key(line), len(values))
            if place == len(values):
                values.append(line)
                sources.append(
                    Source(
                        path=f"{path}/{place}",
                        instruction_id=whose,
                        version=number,
                        field=field,
                        index=index,
                        assignment=said_in,
                        rule=rule,
                    )
                )
            else:
                again = Said(by, field, index, line, line, rule)
                overridden.append(again.lost(f"{path}/{place}", Reason.DUPLICATE))
    return Merged(tuple(values), tuple(sources), tuple(overridden))


def strictest(said: Sequence[Said], looseness: Callable[[Any], int]) -> Merged:
    if not said:
        return Merged(None)
    winner = min(said, key=lambda one: looseness(one.value))
    path = f"/{winner.field.replace('.', '/')}"
    lost = [one.lost(path, Reason.LESS_STRICT) for one in said if one is not winner and one.value != winner.value]
    same = [one.lost(path, Reason.DUPLICATE) for one in said if one is not winner and one.value == winner.value]
    return Merged(winner.value, (winner.kept(path),), (*lost, *same))
