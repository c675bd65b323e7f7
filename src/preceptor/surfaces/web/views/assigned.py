"""An agent's assignments as cards: what stands in each form, and what another order would need."""

from collections.abc import Sequence
from typing import Any

import msgspec

from preceptor.domain.instructions.assignment import AgentAssignment
from preceptor.domain.instructions.content import WrittenConstraint, id_of, is_locked, text_of
from preceptor.domain.instructions.effective import Notice
from preceptor.domain.instructions.impact import PromptChange
from preceptor.surfaces.web.views.diff import Block, from_unified


class Rule(msgspec.Struct, frozen=True):
    """A constraint that can be switched off."""

    value: str
    text: str
    locked: bool
    off: bool
    known: bool = True


class Card(msgspec.Struct, frozen=True):
    assignment: AgentAssignment
    pin: str
    priority: str
    is_active: bool
    guidelines: tuple[str, ...]
    rules: tuple[Rule, ...]
    reason: str


class Effect(msgspec.Struct, frozen=True):
    """What a change that is not made yet would do. `of` is the assignment, `new`, or `order`."""

    of: str
    change: PromptChange | None
    warnings: tuple[Notice, ...] = ()
    removes: bool = False
    problem: str = ""

    @property
    def blocks(self) -> list[Block]:
        return from_unified(self.change.diff) if self.change else []


def card_of(assignment: AgentAssignment, constraints: Sequence[WrittenConstraint]) -> Card:
    departs = assignment.customizations
    return Card(
        assignment,
        str(assignment.pin),
        str(assignment.priority),
        assignment.is_active,
        departs.additional_guidelines,
        _rules(constraints, departs.disabled_constraints),
        departs.reason or "",
    )


def filled_in(card: Card, fields: Sequence[tuple[str, str]]) -> Card:
    """The card with what someone wrote into its form."""
    one = dict(reversed(fields))
    off = {value for name, value in fields if name == "disabledConstraints"}
    return Card(
        card.assignment,
        one.get("pin", card.pin).strip(),
        one.get("priority", card.priority).strip(),
        "isActive" in one,
        tuple(value for name, value in fields if name == "additionalGuidelines" and value.strip()),
        tuple(Rule(each.value, each.text, each.locked, each.value in off, each.known) for each in card.rules),
        one.get("reason", "").strip(),
    )


def change_in(card: Card) -> dict[str, Any]:
    """What the form says other than the assignment does: only that is sent, and only that is changed."""
    was = card.assignment
    departs = {
        "additionalGuidelines": list(card.guidelines),
        "disabledConstraints": [each.value for each in card.rules if each.off],
        **({"reason": card.reason} if card.reason else {}),
    }
    before = was.customizations.model_dump(mode="json", exclude_none=True)
    change: dict[str, Any] = {} if departs == before else {"customizations": departs}
    change |= {} if card.pin == str(was.pin) else {"pin": card.pin}
    change |= {} if card.priority == str(was.priority) else {"priority": _number(card.priority)}
    return change | ({} if card.is_active is was.is_active else {"isActive": card.is_active})


def reordered(assignments: Sequence[AgentAssignment], family_id: str, by: int) -> dict[str, int]:
    """Priorities with which one comes earlier or later by a place: as few others are touched as can be."""
    order = list(assignments)
    at = next((place for place, one in enumerate(order) if one.family_id == family_id), None)
    if at is None or not 0 <= at + by < len(order):
        return {}
    order.insert(at + by, order.pop(at))
    found: dict[str, int] = {}
    last: int | None = None
    for one in order:
        priority = one.priority if last is None or one.priority > last else last + 1
        if priority != one.priority:
            found[one.family_id] = priority
        last = priority
    return found


def _rules(constraints: Sequence[WrittenConstraint], off: Sequence[str]) -> tuple[Rule, ...]:
    found: list[Rule] = []
    for one in constraints:
        name = id_of(one)
        value = name if name and name in off else text_of(one)
        found.append(Rule(value, text_of(one), is_locked(one), value in off))
    known = {rule.value for rule in found}
    return (*found, *(Rule(entry, entry, locked=False, off=True, known=False) for entry in off if entry not in known))


def _number(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text
