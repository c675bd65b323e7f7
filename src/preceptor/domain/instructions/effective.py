"""What an agent is told in the end, and where every line of it comes from."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from pydantic import AwareDatetime, ConfigDict, Field

from preceptor.domain.ids import AssignmentId, InstructionId, UserId
from preceptor.domain.instructions.content import (
    Content,
    Example,
    Line,
    Lines,
    Step,
    ValidationRules,
    id_of,
    is_locked,
    text_of,
)
from preceptor.domain.instructions.documents import Quoted
from preceptor.domain.instructions.instruction import InstructionVersion
from preceptor.domain.value import Value


class Customizations(Value):
    """How one agent departs from an instruction. It touches that instruction's constraints and no other's."""

    additional_guidelines: Lines = ()
    disabled_constraints: Lines = Field(default=(), description="By exact text, or by the constraint's id.")
    reason: Line | None = Field(
        default=None, description="Why a locked constraint, or another organisation's, is disabled. It needs leave."
    )


class Override(Value):
    """Leave to disable constraints that are locked or another organisation's: these very texts and no others.

    A constraint that is locked, reworded or added later is not covered until someone with leave writes it down again.
    """

    constraints: Lines
    by: UserId
    reason: str


class Assignment(Value):
    """A version that speaks to an agent. A lower `priority` speaks first."""

    assignment_id: AssignmentId
    version: InstructionVersion
    priority: int = Field(default=100, ge=-(2**31), lt=2**31)
    applied_at: AwareDatetime
    seq: int = 0
    """Orders what was applied in the same moment."""
    is_active: bool = True
    customizations: Customizations = Customizations.as_declared()
    override: Override | None = None

    @property
    def overridden(self) -> tuple[str, ...]:
        return self.override.constraints if self.override else ()


class Disabling(Value):
    """What `disabledConstraints` would do: constraints it takes away, locked ones it cannot, entries about nothing."""

    disabled: frozenset[int] = frozenset()
    locked: frozenset[int] = frozenset()
    unmatched: tuple[str, ...] = ()


_NOTHING = Disabling.as_declared()


def disabling(content: Content, customizations: Customizations, leave: Collection[str] = ()) -> Disabling:
    """Indexes into `content.constraints`. Locked ones whose text is in `leave` go as well."""
    wanted = customizations.disabled_constraints
    if not wanted:
        return _NOTHING
    hit = {
        index
        for index, constraint in enumerate(content.constraints)
        if text_of(constraint) in wanted or id_of(constraint) in wanted
    }
    constraints = content.constraints
    locked = frozenset(
        index for index in hit if is_locked(constraints[index]) and text_of(constraints[index]) not in leave
    )
    known = {text_of(constraint) for constraint in constraints} | {id_of(constraint) for constraint in constraints}
    unmatched = tuple(entry for entry in wanted if entry not in known)
    return Disabling(disabled=frozenset(hit) - locked, locked=locked, unmatched=unmatched)


class Rule(StrEnum):
    """Why a line is there."""

    CONCATENATED = "concatenated"
    LISTED = "listed"
    LOCKED = "locked"
    RENUMBERED = "renumbered"
    CUSTOMIZED = "added_by_customization"
    ONLY = "only_one_to_say"
    BY_TYPE = "behavior_over_task_over_system"
    BY_PRIORITY = "lower_priority_number"
    BY_AGE = "applied_first"
    STRICTEST = "strictest"
    QUOTED = "mentioned_document"


class Reason(StrEnum):
    """Why a line is not there."""

    DUPLICATE = "duplicate"
    DISABLED = "disabled_by_customization"
    LOCK_OVERRIDDEN = "lock_overridden"
    OUTRANKED = "outranked"
    LESS_STRICT = "less_strict"


@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Origin:
    """Where something was said. `field` and `index` are those of the version, or of the assignment's customizations.

    One is made for every line of every merge, so these are plain records, which nothing changes once they are made
    (to freeze them would double what a merge costs); in JSON they look like any other value.
    """

    __pydantic_config__: ClassVar[ConfigDict] = Value.model_config

    path: str
    instruction_id: InstructionId
    version: str
    field: str
    index: int | None = None
    assignment: AssignmentId


@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Source(Origin):
    """Whence the part of the answer at `path`, a JSON pointer."""

    rule: Rule


@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Overridden(Origin):
    """Said, but not told to the agent. `path` is what stands in its place, or the list it would have been in."""

    text: str
    reason: Reason
    by: UserId | None = None
    """Who used their leave to disable it."""
    because: str | None = None


class Notice(Value):
    """Something to know about a merge."""

    code: str
    sentence: str
    path: str | None = None
    instruction_id: InstructionId | None = None
    assignment: AssignmentId | None = None


class Effective(Value):
    prompts: tuple[str, ...] = Field(default=(), exclude=True)
    """The parts of the system prompt, as many as it has sources."""
    system_prompt: str | None = None
    guidelines: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    tone: str | None = None
    language: str | None = None
    formality: str | None = None
    do_list: tuple[str, ...] = ()
    dont_list: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    steps: tuple[Step, ...] = ()
    documents: tuple[Quoted, ...] = ()
    validation_rules: ValidationRules | None = None
    sources: tuple[Source, ...] = ()
    overridden: tuple[Overridden, ...] = ()
    conflicts: tuple[Notice, ...] = ()
    warnings: tuple[Notice, ...] = ()
