"""What agents are told, worked out once and kept until something changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from preceptor.domain.experiments.experiment import Experiment
from preceptor.domain.ids import AgentId, AssignmentId, FamilyId, InstructionId, OrgId
from preceptor.domain.instructions.effective import Assignment, Effective, Notice
from preceptor.domain.instructions.instruction import InstructionVersion
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.merge import in_turn, merge_in_turn, speaks
from preceptor.domain.instructions.render import Rendered, render
from preceptor.domain.instructions.report import EffectiveInstructions, report
from preceptor.domain.log import Head

Key = TypeVar("Key")
MOST_AGENTS = 1_000
MOST_VERSIONS = 5_000


class Spoken(NamedTuple):
    """A version that speaks, and by which assignment."""

    family_id: FamilyId
    instruction_id: InstructionId
    version: str
    assignment_id: AssignmentId


Input = tuple[AssignmentId, int, InstructionId | None, Status | None]
"""An assignment and its revision, the version that its pin means, and that version's status."""


@dataclass(frozen=True)
class Compiled:
    """What an agent is told, as it was when its organisation's audit trail stood at `counter`."""

    agent_id: AgentId
    effective: Effective
    rendered: Rendered
    vector: tuple[Spoken, ...]
    speakers: tuple[Assignment, ...]
    """The assignments behind it, in the order in which they speak."""
    inputs: Mapping[Input, Assignment | None]
    """All that it was made from, as far as it can change, and what each part says."""
    head: Head

    @property
    def counter(self) -> int:
        return self.head.seq

    @cached_property
    def shown(self) -> EffectiveInstructions:
        return report(self.agent_id, self.effective, self.rendered)


@dataclass(frozen=True, slots=True)
class Compilations:
    """Compiled results by organisation and agent, and versions that were read once: those never change.

    A result is used only where the audit trail still ends in the very event that it ended in then, and every change of
    the library appends to that trail in its own transaction. So nothing here is ever out of date, in whichever process
    the change was made. Transactions that change the library must not read through this: they may be undone.
    """

    results: dict[tuple[OrgId, AgentId], Compiled] = field(default_factory=dict[tuple[OrgId, AgentId], Compiled])
    versions: dict[tuple[OrgId, InstructionId], InstructionVersion] = field(
        default_factory=dict[tuple[OrgId, InstructionId], InstructionVersion]
    )

    experiments: dict[tuple[OrgId, AgentId], tuple[bytes, tuple[Experiment, ...]]] = field(
        default_factory=dict[tuple[OrgId, AgentId], tuple[bytes, tuple[Experiment, ...]]]
    )
    """Those that run with an agent, as the trail stood when it ended in this hash."""
    arms: dict[tuple[OrgId, AgentId, str], tuple[bytes, Compiled]] = field(
        default_factory=dict[tuple[OrgId, AgentId, str], tuple[bytes, Compiled]]
    )
    """What an agent is told in the arms of experiments."""

    def keep(self, org: OrgId, compiled: Compiled) -> None:
        self.results.pop((org, compiled.agent_id), None)
        self.results[org, compiled.agent_id] = compiled
        _forget_oldest(self.results, MOST_AGENTS)

    def keep_version(self, org: OrgId, version: InstructionVersion) -> None:
        self.versions[org, version.instruction_id] = version
        _forget_oldest(self.versions, MOST_VERSIONS)

    def keep_experiments(self, key: tuple[OrgId, AgentId], running: tuple[bytes, tuple[Experiment, ...]]) -> None:
        self.experiments[key] = running
        _forget_oldest(self.experiments, MOST_AGENTS)

    def keep_arm(self, key: tuple[OrgId, AgentId, str], told: tuple[bytes, Compiled]) -> None:
        self.arms[key] = told
        _forget_oldest(self.arms, MOST_AGENTS)


def _forget_oldest(kept: dict[Key, Any], most: int) -> None:
    """A tenth at a time. Other threads may be here as well, so what is gone already is no surprise."""
    if len(kept) > most:
        for key in list(kept)[: most // 10]:
            kept.pop(key, None)


def compiled(
    agent_id: AgentId,
    given: Sequence[Assignment],
    notices: Sequence[Notice] = (),
    *,
    inputs: Mapping[Input, Assignment | None] | None = None,
    head: Head | None = None,
) -> Compiled:
    """Merge and render. `notices` are about assignments that have no version to speak with."""
    active = in_turn(given)
    merged = merge_in_turn(active)
    effective = merged.model_copy(update={"warnings": (*merged.warnings, *notices)}) if notices else merged
    speakers = tuple(one for one in active if speaks(one))
    vector = tuple(
        Spoken(one.version.family_id, one.version.instruction_id, str(one.version.version), one.assignment_id)
        for one in speakers
    )
    return Compiled(agent_id, effective, render(effective), vector, speakers, inputs or {}, head or Head())
