"""What bringing in a bundle would do. Nothing is overwritten: what differs is a new version, or left for a person."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
from pydantic import Field

from preceptor.domain.ids import FamilyId
from preceptor.domain.instructions.bundle import Bundle, BundledInstruction, BundledVersion
from preceptor.domain.instructions.documents import handle_of
from preceptor.domain.instructions.instruction import InstructionType, InstructionVersion, authored
from preceptor.domain.instructions.lifecycle import may_move
from preceptor.domain.instructions.references import mentioned_in
from preceptor.domain.instructions.revision import bump_for
from preceptor.domain.instructions.version import FIRST, SemVer, Version
from preceptor.domain.value import Value


class Action(StrEnum):
    CREATE = "create"
    ADD = "add_version"
    REVISE = "revise"
    STATUS = "status"
    LABEL = "label"
    ASSIGN = "assign"
    CONFLICT = "conflict"
    SKIP = "skip"
    UNCHANGED = "unchanged"


class Step(Value):
    """One thing that bringing in a bundle does, or does not do and why."""

    action: Action
    name: str
    family_id: FamilyId | None = None
    version: Version | None = Field(default=None, description="The version that it makes, moves or points at.")
    sentence: str


class Plan(Value):
    dry_run: bool
    steps: tuple[Step, ...]


class Stored(msgspec.Struct, frozen=True):
    """An instruction of ours, as far as a plan has to know it."""

    family_id: FamilyId
    versions: Sequence[InstructionVersion]
    labels: Mapping[str, SemVer]

    @property
    def newest(self) -> InstructionVersion:
        return max(self.versions, key=lambda one: one.version)

    @property
    def key(self) -> tuple[str, InstructionType]:
        return handle_of(self.newest.name) or self.newest.name, self.newest.type

    def numbered(self, number: SemVer | None) -> InstructionVersion | None:
        return next((one for one in self.versions if one.version == number), None)


class Task(NamedTuple):
    """A step together with what it takes to carry it out."""

    step: Step
    bundled: BundledInstruction
    version: BundledVersion | None = None
    label: str | None = None


def plan(bundle: Bundle, current: Iterable[Stored], *, force: bool = False) -> list[Task]:
    """What to do, in an order in which it can be done: what is mentioned by others comes before those.

    `force` makes a new version of what would otherwise be a conflict.
    """
    match = _matching(current)
    pairs = [(one, match(one)) for one in _in_order(bundle.instructions)]
    tasks = [(task, ours) for one, ours in pairs for task in _tasks(one, ours)]
    return [_forced(task, ours) if force and ours else task for task, ours in tasks]


def _forced(task: Task, ours: Stored) -> Task:
    if task.step.action is not Action.CONFLICT or task.version is None:
        return task
    return _revision(task.bundled, task.version, ours) or task


def _matching(current: Iterable[Stored]) -> Callable[[BundledInstruction], Stored | None]:
    """Which of ours a bundled instruction is: by id, else the only one of its name and type."""
    by_id: dict[str, Stored] = {}
    by_key: dict[tuple[str, InstructionType], list[Stored]] = {}
    for one in current:
        by_id[one.family_id] = one
        by_key.setdefault(one.key, []).append(one)

    def match(bundled: BundledInstruction) -> Stored | None:
        alike = by_key.get(bundled.key, [])
        return by_id.get(bundled.family_id or "") or (alike[0] if len(alike) == 1 else None)

    return match


def _tasks(bundled: BundledInstruction, ours: Stored | None) -> list[Task]:
    if ours is None:
        return _creation(bundled)
    made = [task for version in bundled.versions if (task := _version_task(bundled, version, ours))]
    labels = [
        task for name, number in bundled.labels.items() if (task := _label_task(bundled, name, number, ours, made))
    ]
    return made + labels or [_task(bundled, ours, Action.UNCHANGED, ours.newest.version, "says the same already.")]


def _creation(bundled: BundledInstruction) -> list[Task]:
    tasks = [
        _task(
            bundled, None, Action.ADD if place else Action.CREATE, version.version or FIRST, "is new.", version=version
        )
        for place, version in enumerate(bundled.versions)
    ]
    numbers = {task.step.version for task in tasks}
    for name, number in bundled.labels.items():
        action, why = (
            (Action.LABEL, f"is labelled {name}.")
            if number in numbers
            else (Action.SKIP, f"has no version {number} for the label {name}.")
        )
        tasks.append(_task(bundled, None, action, number, why, label=name))
    return tasks


def _version_task(bundled: BundledInstruction, version: BundledVersion, ours: Stored) -> Task | None:
    """What becomes of one version of a bundle; None if it is here already."""
    newest, same = ours.newest, ours.numbered(version.version)
    is_last = version is bundled.newest
    if version.version is None or (same is not None and authored(same) != authored(version) and same is newest):
        return _revision(bundled, version, ours) if is_last else None
    if same is None and version.version > newest.version:
        return _task(bundled, ours, Action.ADD, version.version, "is added.", version=version)
    if same is None:
        sentence = f"is missing here, but {newest.version} is newer. History is not rewritten."
        return _task(bundled, ours, Action.SKIP, version.version, sentence)
    if authored(same) == authored(version):
        return _status_task(bundled, version, same, ours)
    if is_last and authored(newest) != authored(version):
        sentence = f"says something else here, and {newest.version} has come since. Look at both, or force it."
        return _task(bundled, ours, Action.CONFLICT, version.version, sentence, version=version)
    return None


def _revision(bundled: BundledInstruction, version: BundledVersion, ours: Stored) -> Task | None:
    bump = bump_for(ours.newest, version)
    if bump is None:
        return None
    number = ours.newest.version.bump(bump.part)
    sentence = f"replaces {ours.newest.version}: {bump.reason}."
    return _task(bundled, ours, Action.REVISE, number, sentence, version=version)


def _status_task(
    bundled: BundledInstruction, version: BundledVersion, same: InstructionVersion, ours: Stored
) -> Task | None:
    if version.status is same.status:
        return None
    if may_move(same.status, version.status):
        sentence = f"becomes {version.status}; it is {same.status}."
        return _task(bundled, ours, Action.STATUS, same.version, sentence, version=version)
    sentence = f"stays {same.status}: it cannot become {version.status} from there."
    return _task(bundled, ours, Action.SKIP, same.version, sentence)


def _label_task(
    bundled: BundledInstruction, name: str, number: SemVer, ours: Stored, made: Sequence[Task]
) -> Task | None:
    if ours.labels.get(name) == number:
        return None
    if ours.numbered(number) is None and not any(_makes(task, number) for task in made):
        return _task(bundled, ours, Action.SKIP, number, f"has no version {number} for the label {name}.")
    return _task(bundled, ours, Action.LABEL, number, f"is labelled {name}.", label=name)


def _makes(task: Task, number: SemVer) -> bool:
    return task.step.action in {Action.ADD, Action.REVISE} and task.step.version == number


def _task(
    bundled: BundledInstruction, ours: Stored | None, action: Action, number: SemVer, sentence: str, **rest: Any
) -> Task:
    name = bundled.newest.name
    step = Step(
        action=action,
        name=name,
        family_id=ours.family_id if ours else None,
        version=number,
        sentence=f"{name!r} {number} {sentence}",
    )
    return Task(step, bundled, **rest)


def _in_order(instructions: Sequence[BundledInstruction]) -> list[BundledInstruction]:
    """As they stand, except that a document comes before whoever mentions it."""
    named = {name: one for one in instructions for name in (one.family_id, handle_of(one.newest.name)) if name}
    placed: dict[int, BundledInstruction] = {}
    seen: set[int] = set()
    waiting = list(reversed(instructions))
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            placed.setdefault(id(one), one)
            continue
        seen.add(id(one))
        waiting.append(one)
        waiting += [needed for needed in _mentioned(one, named) if id(needed) not in seen]
    return list(placed.values())


def _mentioned(one: BundledInstruction, named: Mapping[str, BundledInstruction]) -> Iterator[BundledInstruction]:
    for version in one.versions:
        for name in mentioned_in(version.content):
            if needed := named.get(name) or named.get(handle_of(name)):
                yield needed
