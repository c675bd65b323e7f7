"""The decision tables, to be read and tried."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from preceptor.domain.decision import Number, Table, markdown, outputs
from preceptor.domain.errors import Invalid, NotFound, phrased
from preceptor.domain.reasoning.routing import BINDING, DEFAULT_POLICY, RoutingPolicy, Thresholds
from preceptor.domain.reasoning.verdict import GATE
from preceptor.domain.reasoning.visibility import OUTPUTS
from preceptor.domain.value import Json, Text, Value


class ShownInput(Value):
    name: str
    values: tuple[str, ...] | None
    """What it can be; null for a number."""


class ShownRow(Value):
    row: str
    when: dict[str, str]
    then: dict[str, str]


class ShownTable(Value):
    table_id: str
    title: str
    hit_policy: str
    version: str
    """A hash of everything that it decides by."""
    inputs: tuple[ShownInput, ...]
    rows: tuple[ShownRow, ...]
    markdown: str


class Tables(Value):
    items: tuple[ShownTable, ...]


class TableTest(Value):
    """A case to decide: the value of each input. A number that is left out is unknown."""

    facts: dict[Text, Json]
    agent_id: str | None = None
    thresholds: Thresholds | None = None


class Decided(Value):
    table_id: str
    version: str
    row: str
    then: dict[str, str]
    matching: tuple[str, ...]
    """Every row that would match, whichever comes first."""


def tables(policy: RoutingPolicy = DEFAULT_POLICY) -> dict[str, Table[Any, Any]]:
    found: tuple[Table[Any, Any], ...] = (GATE, policy.routing, BINDING, OUTPUTS, policy.patience)
    return {table.name: table for table in found}


def table_named(name: str, policy: RoutingPolicy = DEFAULT_POLICY) -> Table[Any, Any]:
    known = tables(policy)
    if name not in known:
        raise NotFound("decision table", name)
    return known[name]


def shown(table: Table[Any, Any]) -> ShownTable:
    return ShownTable(
        table_id=table.name,
        title=table.title,
        hit_policy=table.policy.value,
        version=table.version,
        inputs=tuple(
            ShownInput(name=name, values=None if isinstance(given, Number) else tuple(map(_word, given)))
            for name, given in table.inputs.items()
        ),
        rows=tuple(
            ShownRow(
                row=row.name,
                when={name: str(condition) for name, condition in row.when.items()},
                then=outputs(row.then),
            )
            for row in table.rows
        ),
        markdown=markdown(table),
    )


def decide(table: Table[Any, Any], facts: Mapping[str, Any]) -> Decided:
    if unknown := sorted(set(facts) - set(table.inputs)):
        raise Invalid(f"{table.name} has no input {unknown[0]!r}. Its inputs are {', '.join(table.inputs)}.")
    case = {name: _value(table, name, facts.get(name)) for name in table.inputs}
    rows = table.matching(case)
    return Decided(
        table_id=table.name,
        version=table.version,
        row=rows[0].name,
        then=outputs(rows[0].then),
        matching=tuple(row.name for row in rows),
    )


def _value(table: Table[Any, Any], name: str, given: Any) -> object:
    known = table.inputs[name]
    if isinstance(known, Number):
        if given is None or (isinstance(given, int | float) and not isinstance(given, bool)):
            return given
        raise Invalid(phrased("%(name)s must be a number, or null where it is not known.", name=name))
    for value in known:
        if _word(value) == given:
            return value
    raise Invalid(phrased("%(name)s must be one of: %(known)s.", name=name, known=", ".join(map(_word, known))))


def _word(value: object) -> str:
    return str(value.value) if isinstance(value, Enum) else str(value)
