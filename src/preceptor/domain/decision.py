"""Decision tables: rows of data, and the row that fired is part of the answer.

A condition is data too, so a table can be printed, hashed, compared and tried on every combination of its inputs. That
is done when it is made: a table with a gap, with a row that never fires or, under `unique`, with two rows for one case
cannot be loaded.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from itertools import product
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from preceptor.domain.errors import Invalid, recorded

Facts = TypeVar("Facts")
Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class Is:
    """It is one of these."""

    values: tuple[object, ...]

    def __init__(self, *values: object) -> None:
        object.__setattr__(self, "values", values)

    def holds(self, value: Any) -> bool:
        return value in self.values

    def __str__(self) -> str:
        return " or ".join(_word(value) for value in self.values)


class AtLeast(msgspec.Struct, frozen=True):
    bound: float

    def holds(self, value: Any) -> bool:
        return value is not None and value >= self.bound

    def __str__(self) -> str:
        return f">= {self.bound!r}"


class Below(msgspec.Struct, frozen=True):
    """Less, or not known: what is not a number is never enough."""

    bound: float

    def holds(self, value: Any) -> bool:
        return value is None or not value >= self.bound

    def __str__(self) -> str:
        return recorded("< %(bound)s or unknown", bound=repr(self.bound))


class Unknown(msgspec.Struct, frozen=True):
    """Missing, or not a number."""

    def holds(self, value: Any) -> bool:
        return value is None or value != value  # noqa: PLR0124 - the one value that differs from itself

    def __str__(self) -> str:
        return "unknown"


Condition = Is | AtLeast | Below | Unknown


class HitPolicy(StrEnum):
    FIRST = "first"
    UNIQUE = "unique"


class Number(StrEnum):
    """What an input is when it is no enumeration."""

    NUMBER = "number"


NUMBER = Number.NUMBER
Input = Sequence[object] | Number


class Row(msgspec.Struct, Generic[Outcome], frozen=True):
    """All conditions hold together; an input without one may be anything."""

    name: str
    when: Mapping[str, Condition]
    then: Outcome


class Hit(msgspec.Struct, Generic[Outcome], frozen=True):
    """A decision with its provenance: what was decided, by which row of which version of which table."""

    outcome: Outcome
    table: str
    version: str
    row: str


class BadTable(Invalid):
    code: ClassVar[str] = "invalid"
    table: str = ""
    problem: str = ""

    def __str__(self) -> str:
        return f"The decision table {self.table} cannot be used: {self.problem}. Correct its rows."


@dataclass(frozen=True)
class Table(Generic[Facts, Outcome]):
    """Decides on the attributes of `Facts` that its inputs name."""

    name: str
    title: str
    inputs: Mapping[str, Input]
    rows: tuple[Row[Outcome], ...]
    policy: HitPolicy = HitPolicy.FIRST
    version: str = field(init=False, compare=False)
    _tests: tuple[tuple[tuple[tuple[str, Callable[[Any], bool]], ...], Hit[Outcome]], ...] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        version = hashlib.sha256(markdown(self).encode()).hexdigest()[:12]
        tests = tuple(
            (
                tuple((name, condition.holds) for name, condition in row.when.items()),
                Hit(row.then, self.name, version, row.name),
            )
            for row in self.rows
        )
        object.__setattr__(self, "version", version)
        object.__setattr__(self, "_tests", tests)
        _require_sound(self)

    def decide(self, facts: Facts) -> Hit[Outcome]:
        for tests, hit in self._tests:
            for name, holds in tests:
                if not holds(getattr(facts, name)):
                    break
            else:
                return hit
        raise BadTable(table=self.name, problem=f"no row matches {facts}")

    def matching(self, facts: Mapping[str, object]) -> list[Row[Outcome]]:
        """Every row whose conditions hold, whichever comes first."""
        return [row for row in self.rows if all(c.holds(facts[name]) for name, c in row.when.items())]

    def cases(self) -> Iterator[dict[str, object]]:
        """Every combination of what the inputs can be; of numbers those around each bound, and what is no number."""
        names = list(self.inputs)
        for values in product(*(self._values(name) for name in names)):
            yield dict(zip(names, values, strict=True))

    def _values(self, name: str) -> list[object]:
        given = self.inputs[name]
        if not isinstance(given, Number):
            return list(given)
        bounds = {0.0, 1.0}
        for row in self.rows:
            condition = row.when.get(name)
            if isinstance(condition, AtLeast | Below):
                bounds.add(condition.bound)
        near = {math.nextafter(bound, side) for bound in bounds for side in (-math.inf, math.inf)}
        return [*sorted(bounds | near), math.inf, -math.inf, math.nan, None]

    def __str__(self) -> str:
        return markdown(self)


def _require_sound(table: Table[Any, Any]) -> None:
    unknown = {name for row in table.rows for name in row.when} - set(table.inputs)
    if unknown:
        raise BadTable(table=table.name, problem=f"no input is called {', '.join(sorted(unknown))}")
    fired: set[str] = set()
    for case in table.cases():
        rows = table.matching(case)
        if not rows:
            raise BadTable(table=table.name, problem=f"no row matches {_told(case)}")
        if len(rows) > 1 and table.policy is HitPolicy.UNIQUE:
            both = " and ".join(row.name for row in rows)
            raise BadTable(table=table.name, problem=f"{both} both match {_told(case)}")
        fired.add(rows[0].name)
    if idle := [row.name for row in table.rows if row.name not in fired]:
        raise BadTable(table=table.name, problem=f"never reached: {', '.join(idle)}")
    if len({row.name for row in table.rows}) < len(table.rows):
        raise BadTable(table=table.name, problem="two rows have one name")


def markdown(table: Table[Any, Any]) -> str:
    """The table as the documentation shows it: it cannot drift from what is decided."""
    names = outputs(table.rows[0].then) if table.rows else {"then": ""}
    head = ["row", *table.inputs, *(f"→ {name}" for name in names)]
    lines = [f"### {table.name}: {table.title}", "", f"Hit policy: {table.policy}.", ""]
    lines += [_line(head), _line(["---"] * len(head))]
    for row in table.rows:
        conditions = [str(row.when[name]) if name in row.when else "any" for name in table.inputs]
        lines.append(_line([row.name, *conditions, *outputs(row.then).values()]))
    return "\n".join(lines)


def outputs(outcome: Any) -> dict[str, str]:
    """An outcome in words, each part by its name."""
    if isinstance(outcome, msgspec.Struct):
        return {name: _word(getattr(outcome, name)) for name in outcome.__struct_fields__}
    return {"then": _word(outcome)}


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _word(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "none"
        case Enum():
            return str(value.value)
        case _:
            return str(value)


def _told(case: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {_word(value)}" for name, value in case.items())
