"""What assignments say, each cut once into parts that a prompt is put together from.

Neither a version nor a step of an assignment ever changes, so neither do its parts. A prompt that is made from parts is
the one that `merge` and `render` make; they also say where each line comes from, which takes far longer.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from preceptor.domain.ids import AssignmentId, FamilyId, InstructionId
from preceptor.domain.instructions.assigned import Assigned
from preceptor.domain.instructions.documents import MARK
from preceptor.domain.instructions.effective import Assignment, Customizations, disabling
from preceptor.domain.instructions.family import Candidate
from preceptor.domain.instructions.folding import line_key
from preceptor.domain.instructions.instruction import InstructionType, InstructionVersion
from preceptor.domain.instructions.lifecycle import IN_FORCE, Status
from preceptor.domain.instructions.merge import SEPARATOR, TURN
from preceptor.domain.instructions.render import HEADINGS, example_text, item_text, step_text
from preceptor.domain.instructions.version import Latest

Lines = tuple[tuple[Any, str], ...]
"""What makes a line the same as another, and how it is written."""
STYLE = ("tone", "language", "formality")
LISTS = ("/guidelines", "/suggestions", "/doList", "/dontList")


class Hard(msgspec.Struct, rename="camel"):
    text: str
    id: str | None = None
    locked: bool | None = None


class Shown(msgspec.Struct, rename="camel"):
    input: str
    expected_output: str
    explanation: str | None = None


class Stage(msgspec.Struct, rename="camel"):
    order: int
    name: str
    description: str = ""
    optional: bool = False


class Words(msgspec.Struct, rename="camel"):
    """The content of a version, as far as it is told."""

    system_prompt: str | None = None
    guidelines: tuple[str, ...] = ()
    constraints: tuple[str | Hard, ...] = ()
    suggestions: tuple[str, ...] = ()
    tone: str | None = None
    language: str | None = None
    formality: str | None = None
    do_list: tuple[str, ...] = ()
    dont_list: tuple[str, ...] = ()
    examples: tuple[Shown, ...] = ()
    steps: tuple[Stage, ...] = ()


class Wording(msgspec.Struct, rename="camel"):
    """What of a version is needed to tell it to an agent."""

    family_id: FamilyId
    instruction_id: InstructionId
    version: str
    type: InstructionType
    content: Words


_TURN = attrgetter("turn")
_DECODER = msgspec.json.Decoder(Wording)


class Kept:
    """A version as it was read from where it is kept. The value that others work with is made when they ask for it."""

    __slots__ = ("_made", "_make", "wording")

    def __init__(self, wording: Wording, make: Callable[[], InstructionVersion]) -> None:
        self.wording = wording
        self._make = make
        self._made: InstructionVersion | None = None

    @classmethod
    def read(cls, body: str, make: Callable[[], InstructionVersion]) -> "Kept":
        return cls(_DECODER.decode(body), make)

    @classmethod
    def of(cls, version: InstructionVersion) -> "Kept":
        return cls(_wording(version), lambda: version)

    @property
    def version(self) -> InstructionVersion:
        if self._made is None:
            self._made = self._make()
        return self._made

    def in_status(self, status: Status) -> InstructionVersion:
        """What a version says never changes; its status does."""
        version = self.version
        return version if version.status is status else version.model_copy(update={"status": status})


def _wording(version: InstructionVersion) -> Wording:
    content = msgspec.convert(version.content, Words, from_attributes=True)
    return Wording(version.family_id, version.instruction_id, str(version.version), version.type, content)


class Given(NamedTuple):
    """An assignment, and the version that it means."""

    row: Assigned
    meant: Candidate | None
    key: str
    """As long as it is the same, the assignment says the same."""
    is_settled: bool = True
    """Whether its pin needs no look at other versions: it follows the latest, and above an active head are drafts."""

    @classmethod
    def of(cls, row: Assigned, meant: Candidate | None) -> "Given":
        said = "nothing" if meant is None else f"{meant.instruction_id} {meant.status}"
        return cls(row, meant, f"{row.assignment_id} {row.revision} {said}")

    @classmethod
    def with_head(cls, row: Assigned, head: Candidate | None) -> "Given":
        """An assignment and the head of its family, which is what most of them mean."""
        is_settled = head is not None and head.status is Status.ACTIVE and isinstance(row.pin, Latest)
        return cls.of(row, head)._replace(is_settled=is_settled)


class Part(msgspec.Struct, eq=False):
    """What one assignment says."""

    assignment_id: AssignmentId
    wording: Wording
    turn: tuple[Any, ...]
    is_active: bool
    speaks: bool
    whole: Callable[[], Assignment]
    prompt: str | None = None
    is_rich: bool = False
    """Whether it says anything but a system prompt."""
    mentions: bool = False
    """Whether a document may be mentioned in it."""
    style: tuple[str | None, ...] = ()
    lists: tuple[Lines, ...] = ()
    steps: tuple[Stage, ...] = ()
    examples: Lines = ()
    free: Lines = ()
    locked: Lines = ()


def part_of(row: Assigned, kept: Kept, status: Status) -> Part:
    """What a version in some status says by an assignment."""
    return _part(row, kept, status, lambda: as_assignment(row, kept.in_status(status)))


def part_from(assignment: Assignment) -> Part:
    return _part(assignment, Kept.of(assignment.version), assignment.version.status, lambda: assignment)


def as_assignment(row: Assigned, version: InstructionVersion) -> Assignment:
    return Assignment.model_construct(
        assignment_id=row.assignment_id,
        version=version,
        priority=row.priority,
        applied_at=row.applied_at,
        seq=row.seq,
        is_active=row.is_active,
        customizations=row.customizations,
        override=row.override,
    )


def _part(by: Assigned | Assignment, kept: Kept, status: Status, whole: Callable[[], Assignment]) -> Part:
    wording, more = kept.wording, by.customizations
    said = wording.content
    part = Part(
        by.assignment_id,
        wording,
        (TURN[wording.type], by.priority, by.applied_at, by.seq, by.assignment_id),
        by.is_active,
        wording.type is not InstructionType.TEMPLATE and (status is Status.ACTIVE or status in IN_FORCE),
        whole,
        said.system_prompt,
        mentions=said.system_prompt is not None and MARK in said.system_prompt,
    )
    if part.speaks and (more.additional_guidelines or said != Words(said.system_prompt)):
        _enrich(part, said, more)
        if said.constraints:
            _constrain(part, by, kept)
    return part


def _enrich(part: Part, said: Words, more: Customizations) -> None:
    part.is_rich = True
    part.style = (said.tone, said.language, said.formality)
    guidelines = (*said.guidelines, *more.additional_guidelines)
    part.lists = tuple(map(_lines, (guidelines, said.suggestions, said.do_list, said.dont_list)))
    part.steps = tuple(sorted(said.steps, key=attrgetter("order")))
    part.examples = tuple(
        (
            (line_key(one.input), line_key(one.expected_output)),
            example_text(one.input, one.expected_output, one.explanation),
        )
        for one in said.examples
    )
    part.mentions = part.mentions or any(MARK in text for text in _texts(said, guidelines))


def _constrain(part: Part, by: Assigned | Assignment, kept: Kept) -> None:
    leave = by.override.constraints if by.override else ()
    off = disabling(kept.version.content, by.customizations, leave).disabled if _disables(by) else frozenset[int]()
    free: list[str] = []
    locked: list[str] = []
    for index, constraint in enumerate(part.wording.content.constraints):
        if index not in off:
            text, is_safe = (constraint, False) if isinstance(constraint, str) else (constraint.text, constraint.locked)
            (locked if is_safe else free).append(text)
    part.free, part.locked = _lines(free), _lines(locked)


def _disables(by: Assigned | Assignment) -> bool:
    return bool(by.customizations.disabled_constraints)


def _lines(texts: Iterable[str]) -> Lines:
    return tuple((line_key(text), item_text("- ", text)) for text in texts)


def _texts(said: Words, guidelines: Iterable[str]) -> Iterable[str]:
    yield from guidelines
    yield from (*said.suggestions, *said.do_list, *said.dont_list)
    yield from (one if isinstance(one, str) else one.text for one in said.constraints)
    for stage in said.steps:
        yield from (stage.name, stage.description)
    for shown in said.examples:
        yield from (shown.input, shown.expected_output, shown.explanation or "")


def in_turn(parts: Iterable[Part | None]) -> tuple[Part, ...]:
    """The active ones, in the order in which they speak."""
    return tuple(sorted([part for part in parts if part and part.is_active], key=_TURN))


def prompt_of(speakers: Sequence[Part]) -> str:
    """The prompt that these make, in the order in which they are given. No document is told in it."""
    prompts = [part.prompt for part in speakers if part.prompt is not None]
    rich = [part for part in speakers if part.is_rich]
    first = SEPARATOR.join(prompts)
    return "\n\n".join([*([first] if prompts else []), *_sections(rich)]) if rich else first


def _sections(speakers: Sequence[Part]) -> Iterable[str]:
    written = {"/tone": _style(speakers)}
    for place, path in enumerate(LISTS):
        written[path] = _once(part.lists[place] for part in speakers)
    stages = [stage for part in speakers for stage in part.steps]
    written["/steps"] = [
        step_text(number, stage.name, stage.description, stage.optional) for number, stage in enumerate(stages, 1)
    ]
    written["/examples"] = _once(part.examples for part in speakers)
    written["/constraints"] = _constraints(speakers)
    return ("\n".join([HEADINGS[path], *blocks]) for path, blocks in written.items() if blocks)


def _style(speakers: Sequence[Part]) -> list[str]:
    told: list[str] = []
    for place, name in enumerate(STYLE):
        saying = [part for part in speakers if part.style[place] is not None]
        if saying and (value := min(saying, key=_authority).style[place]):
            told.append(f"- {name.title()}: {value}")
    return told


def _authority(part: Part) -> tuple[Any, ...]:
    kind, *rest = part.turn
    return -kind, *rest


def _once(said: Iterable[Lines]) -> list[str]:
    """Of several that say the same, the first."""
    first: dict[Any, str] = {}
    for lines in said:
        for key, text in lines:
            first.setdefault(key, text)
    return list(first.values())


def _constraints(speakers: Sequence[Part]) -> list[str]:
    """Locked ones come last, whoever spoke first."""
    safe = {key for part in speakers for key, _ in part.locked}
    free = (tuple(line for line in part.free if line[0] not in safe) for part in speakers)
    return [*_once(free), *_once(part.locked for part in speakers)]
