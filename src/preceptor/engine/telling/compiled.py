"""What agents are told, worked out once and kept until something changes."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from preceptor.domain.ids import AgentId, AssignmentId, FamilyId, InstructionId, OrgId
from preceptor.domain.instructions.effective import Assignment, Effective, Notice
from preceptor.domain.instructions.merge import merge_in_turn
from preceptor.domain.instructions.parts import Kept, Part, in_turn, part_from, prompt_of
from preceptor.domain.instructions.references import mentions
from preceptor.domain.instructions.render import Rendered, hash_of, render
from preceptor.domain.instructions.report import EffectiveInstructions, report
from preceptor.domain.log import Head

if TYPE_CHECKING:
    from preceptor.domain.experiments.experiment import Experiment

Key = TypeVar("Key")
MOST_AGENTS = 1_000
MOST_VERSIONS = 5_000


class Spoken(NamedTuple):
    """A version that speaks, and by which assignment."""

    family_id: FamilyId
    instruction_id: InstructionId
    version: str
    assignment_id: AssignmentId


class Told(msgspec.Struct, dict=True, eq=False):
    """What an agent is told. All that can be known about it beside the prompt is worked out when it is asked for."""

    agent_id: AgentId
    parts: tuple[Part, ...]
    """Of the active assignments, in the order in which they speak."""
    notices: tuple[Notice, ...]
    """About assignments that have no version to speak with."""
    speaking: list[Part]
    prompt: str
    quoted: Effective | None = None
    """The same with the documents that it mentions."""

    @classmethod
    def of(cls, agent_id: AgentId, parts: Iterable[Part | None], notices: Iterable[Notice] = ()) -> "Told":
        active = in_turn(parts)
        speaking = [part for part in active if part.speaks]
        return cls(agent_id, active, tuple(notices), speaking, prompt_of(speaking))

    @classmethod
    def by(cls, agent_id: AgentId, given: Iterable[Assignment], notices: Iterable[Notice] = ()) -> "Told":
        """What these assignments tell. `notices` are about those that have no version to speak with."""
        once = {one.assignment_id: one for one in given}
        return cls.of(agent_id, map(part_from, once.values()), notices)

    def quoting(self, quoted: Effective) -> "Told":
        """Together with documents."""
        told = msgspec.structs.replace(self, quoted=quoted)
        told.prompt = told.rendered.prompt
        return told

    @cached_property
    def hash(self) -> str:
        return hash_of(self.prompt)

    @cached_property
    def vector(self) -> tuple[Spoken, ...]:
        said = ((part.wording, part.assignment_id) for part in self.speaking)
        return tuple(Spoken(one.family_id, one.instruction_id, one.version, by) for one, by in said)

    @cached_property
    def speakers(self) -> tuple[Assignment, ...]:
        """The assignments behind it, in the order in which they speak."""
        return tuple(part.whole() for part in self.speaking)

    @cached_property
    def effective(self) -> Effective:
        if self.quoted is not None:
            return self.quoted
        merged = merge_in_turn([part.whole() for part in self.parts])
        return merged.model_copy(update={"warnings": (*merged.warnings, *self.notices)}) if self.notices else merged

    @cached_property
    def rendered(self) -> Rendered:
        return render(self.effective)

    @cached_property
    def shown(self) -> EffectiveInstructions:
        return report(self.agent_id, self.effective, self.rendered)

    @property
    def mentions(self) -> bool:
        """Whether it mentions documents."""
        return True in [part.mentions for part in self.speaking] and mentions(self.effective)


class Compiled(msgspec.Struct, frozen=True, eq=False):
    """What an agent is told, as it was when its organisation's audit trail stood at `counter`."""

    told: Told
    inputs: Mapping[str, Part | None] = msgspec.field(default_factory=dict[str, Part | None])
    """What it was made from: the keys of all that was given, and what each says."""
    head: Head = Head()
    newest: str = ""
    """No version among the inputs has a greater id."""

    @property
    def counter(self) -> int:
        return self.head.seq


class Compilations(msgspec.Struct, frozen=True):
    """Compiled results by organisation and agent, and versions that were read once: those never change.

    A result is used only where the audit trail still ends in the very event that it ended in then, and every change of
    the library appends to that trail in its own transaction. So nothing here is ever out of date, in whichever process
    the change was made. Transactions that change the library must not read through this: they may be undone.
    """

    results: dict[tuple[OrgId, AgentId], Compiled] = {}
    versions: dict[tuple[OrgId, InstructionId], Kept] = {}
    experiments: "dict[tuple[OrgId, AgentId], tuple[bytes, tuple[Experiment, ...]]]" = {}
    """Those that run with an agent, as the trail stood when it ended in this hash."""
    arms: dict[tuple[OrgId, AgentId, str], tuple[bytes, Compiled]] = {}
    """What an agent is told in the arms of experiments."""

    def keep(self, org: OrgId, compiled: Compiled) -> None:
        key = org, compiled.told.agent_id
        self.results.pop(key, None)
        self.results[key] = compiled
        _forget_oldest(self.results, MOST_AGENTS)

    def keep_version(self, org: OrgId, version: Kept) -> None:
        self.versions[org, version.wording.instruction_id] = version
        _forget_oldest(self.versions, MOST_VERSIONS)

    def keep_experiments(self, key: tuple[OrgId, AgentId], running: "tuple[bytes, tuple[Experiment, ...]]") -> None:
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
