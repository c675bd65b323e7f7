"""What a change would do to what agents are told, before it is made."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Self

from pydantic import ConfigDict, JsonValue, model_validator

from preceptor.domain.ids import AgentId, FamilyId
from preceptor.domain.instructions.assignment import NewAssignment
from preceptor.domain.instructions.content import ContentPatch
from preceptor.domain.instructions.effective import Notice
from preceptor.domain.instructions.render import Rendered
from preceptor.domain.instructions.version import Version
from preceptor.domain.value import AnyId, Value, left_out

AROUND = 3
"""Lines that did not change, shown on either side of those that did."""
MOST_COMPARED = 2_000
"""Above so many lines that differ on either side they are shown as replaced: finding what they share takes too long."""

Opcode = tuple[str, int, int, int, int]


_EITHER: dict[str, JsonValue] = {"oneOf": [{"required": ["content"]}, {"required": ["version"]}]}


class InstructionQuestion(Value):
    """What if? Other content as in a revision, or the content of a version, became the newest; or a label moved there.

    With `label` it is the label that moves: to the version, or to the content once it is one.
    """

    model_config = ConfigDict(json_schema_extra=_EITHER)

    content: ContentPatch = left_out()
    version: AnyId = left_out()
    label: AnyId = left_out()

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        if len(self.model_fields_set & {"content", "version"}) != 1:
            raise ValueError("say either content or version")
        return self


class AssignmentQuestion(NewAssignment):
    """What if it were assigned so, or, where it is assigned already, changed so, or removed?"""

    remove: bool = False


class PromptChange(Value):
    """The prompt of one agent, before and after."""

    before_hash: str
    after_hash: str
    diff: str
    """Unified; empty if not a byte changes."""
    tokens_before: int
    tokens_after: int
    token_difference: int


class AgentImpact(Value):
    """What would change for one agent. `diff` is empty if nothing would."""

    agent_id: AgentId
    family_id: FamilyId
    version_before: Version | None
    version_after: Version | None
    prompt: PromptChange
    warnings: tuple[Notice, ...] = ()
    """Those that there would be and are not now."""
    open_conversations: int


class Impact(Value):
    """Which agents a change would reach. `agents` are those, on this page, that would be told something else."""

    family_id: FamilyId
    agents_using: int
    agents: tuple[AgentImpact, ...]
    open_conversations: int
    experiments: tuple[str, ...] = ()
    """Those that run with this instruction: the arms of these stay as they are, whatever changes."""
    next_cursor: str | None = None


def prompt_change(before: Rendered, after: Rendered, count: Callable[[str], int]) -> PromptChange:
    earlier, later = count(before.prompt), count(after.prompt)
    return PromptChange(
        before_hash=before.hash,
        after_hash=after.hash,
        diff=unified(before.prompt, after.prompt),
        tokens_before=earlier,
        tokens_after=later,
        token_difference=later - earlier,
    )


def unified(before: str, after: str) -> str:
    """A unified diff by lines, which turns `before` into `after` and back."""
    if before == after:
        return ""
    old, new = before.split("\n"), after.split("\n")
    lines = ["--- before", "+++ after"]
    for hunk in _hunks(_opcodes(old, new)):
        lines += _shown(hunk, old, new)
    return "\n".join(lines)


def _opcodes(old: list[str], new: list[str]) -> list[Opcode]:
    """What they have in common at both ends is set aside first, which is nearly all there is in most changes."""
    head = _shared(zip(old, new, strict=False))
    tail = _shared(zip(reversed(old[head:]), reversed(new[head:]), strict=False))
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(left), len(right)) > MOST_COMPARED:
        middle: Sequence[Opcode] = [("replace", 0, len(left), 0, len(right))]
    else:
        middle = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    moved = [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in middle]
    end = ("equal", len(old) - tail, len(old), len(new) - tail, len(new))
    return [("equal", 0, head, 0, head), *moved, end]


def _shared(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _hunks(opcodes: Sequence[Opcode]) -> Iterator[list[Opcode]]:
    """Changes that stand close together, with the lines around them."""
    hunk: list[Opcode] = []
    for tag, a, b, c, d in opcodes:
        if tag != "equal":
            hunk.append((tag, a, b, c, d))
        elif not hunk:
            keep = min(AROUND, b - a)
            hunk = [("equal", b - keep, b, d - keep, d)]
        elif b - a <= 2 * AROUND:
            hunk.append((tag, a, b, c, d))
        else:
            hunk.append((tag, a, a + AROUND, c, c + AROUND))
            yield from _if_it_changes(hunk)
            hunk = [("equal", b - AROUND, b, d - AROUND, d)]
    yield from _if_it_changes(_trimmed(hunk))


def _trimmed(hunk: list[Opcode]) -> list[Opcode]:
    *rest, (tag, a, b, c, d) = hunk
    return [*rest, (tag, a, min(b, a + AROUND), c, min(d, c + AROUND))] if tag == "equal" else hunk


def _if_it_changes(hunk: list[Opcode]) -> Iterator[list[Opcode]]:
    if any(tag != "equal" for tag, *_ in hunk):
        yield hunk


def _shown(hunk: list[Opcode], old: list[str], new: list[str]) -> Iterator[str]:
    first, last = hunk[0], hunk[-1]
    yield f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@"
    for tag, a, b, c, d in hunk:
        if tag == "equal":
            yield from (f" {line}" for line in old[a:b])
        else:
            yield from (f"-{line}" for line in old[a:b])
            yield from (f"+{line}" for line in new[c:d])


def _span(start: int, end: int) -> str:
    length = end - start
    return str(start + 1) if length == 1 else f"{start + 1 if length else start},{length}"
