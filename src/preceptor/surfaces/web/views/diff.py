"""Two texts side by side: which lines changed, which words in them, and what can be folded away."""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

import msgspec

ALIKE = 0.5
"""Below this share of common words two lines are not one line that changed: marking words would be confetti."""
AROUND = 3
MOST_LINES = 2_000
MOST_PAIRS = 900
MOST_WORDS = 3_000
"""Beyond these, lines are shown as removed and added: to look closer would take too long."""

_TOKENS = re.compile(r"\w+|\s+|[^\w\s]")
_WORDS = re.compile(r"\w+")
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")

Runs = tuple[tuple[bool, str], ...]
"""A line in pieces: whether the piece changed, and its text."""


class Row(msgspec.Struct, frozen=True):
    kind: str
    """same, changed, added or removed"""
    left_no: int | None
    left: Runs
    right_no: int | None
    right: Runs


class Block(msgspec.Struct, frozen=True):
    """Rows that belong together: unchanged, changed (numbered from 1), or folded away."""

    rows: tuple[Row, ...] = ()
    change: int = 0
    folded: int = 0


def compared(
    old: Sequence[str], new: Sequence[str], *, whole: bool = False, first: tuple[int, int] = (1, 1)
) -> list[Block]:
    """The blocks of a comparison by lines. `whole` folds nothing; `first` are the numbers of the first lines."""
    return folded(_blocks(old, new, first), whole=whole)


def changes_in(blocks: Iterable[Block]) -> int:
    return sum(1 for block in blocks if block.change)


def from_unified(diff: str) -> list[Block]:
    """The blocks of a unified diff: what lies between its hunks is not known, and not shown."""
    blocks: list[Block] = []
    for old, new, first in _hunks(diff):
        done = changes_in(blocks)
        blocks += [
            Block(block.rows, block.change and block.change + done) for block in _blocks(old, new, first) if block.rows
        ]
    return blocks


def folded(blocks: Sequence[Block], *, whole: bool = False) -> list[Block]:
    """Of what did not change only the lines next to a change are kept."""
    found: list[Block] = []
    for place, block in enumerate(blocks):
        before = AROUND if place else 0
        after = AROUND if place < len(blocks) - 1 else 0
        spare = len(block.rows) - before - after
        if whole or block.change or spare < 2:
            found.append(block)
            continue
        found += [Block(block.rows[:before])] if before else []
        found.append(Block(folded=spare))
        found += [Block(block.rows[-after:])] if after else []
    return found


def words(old: str, new: str) -> tuple[Runs, Runs]:
    """The marks on a line that changed."""
    ours, theirs = _TOKENS.findall(old), _TOKENS.findall(new)
    opcodes = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    left: list[tuple[bool, str]] = []
    right: list[tuple[bool, str]] = []
    for place, (tag, a, b, c, d) in enumerate(opcodes):
        between = 0 < place < len(opcodes) - 1 and "".join(ours[a:b]).isspace()
        changed = tag != "equal" or between
        left += [(changed, "".join(ours[a:b]))] if b > a else []
        right += [(changed, "".join(theirs[c:d]))] if d > c else []
    return _joined(left), _joined(right)


def similarity(old: str, new: str) -> float:
    """From 0 to 1, by words; by letters where there are none."""
    ours, theirs = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(ours), len(theirs)) > MOST_WORDS:
        return 0.0
    if not ours or not theirs:
        return float(old.strip() == new.strip())
    return SequenceMatcher(None, ours, theirs, autojunk=False).ratio()


def _blocks(old: Sequence[str], new: Sequence[str], first: tuple[int, int]) -> list[Block]:
    left, right = first
    blocks: list[Block] = []
    changes = 0
    for tag, a, b, c, d in _opcodes(old, new):
        if tag == "equal":
            same = zip(range(a, b), range(c, d), strict=True)
            blocks.append(Block(tuple(_same(left + i, right + j, old[i]) for i, j in same)))
        else:
            changes += 1
            pairs = _paired(old[a:b], new[c:d])
            blocks.append(Block(tuple(_changed(pairs, old[a:b], new[c:d], (left + a, right + c))), changes))
    return blocks


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    if max(len(old), len(new)) > MOST_LINES:
        return [("equal" if old == new else "replace", 0, len(old), 0, len(new))]
    return [*SequenceMatcher(None, old, new, autojunk=False).get_opcodes()]


def _paired(old: Sequence[str], new: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Which line became which, in order, so that the pairs have as much in common as they can."""
    if not old or not new or len(old) * len(new) > MOST_PAIRS:
        return [*((i, None) for i in range(len(old))), *((None, j) for j in range(len(new)))]
    alike = [[similarity(one, other) for other in new] for one in old]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            paired = alike[i][j] + best[i + 1][j + 1] if alike[i][j] >= ALIKE else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    return list(_walked(alike, best))


def _walked(alike: list[list[float]], best: list[list[float]]) -> Iterator[tuple[int | None, int | None]]:
    i = j = 0
    while i < len(alike) or j < len(alike[0]):
        if i == len(alike):
            yield None, j
            j += 1
        elif j == len(alike[0]):
            yield i, None
            i += 1
        elif alike[i][j] >= ALIKE and best[i][j] == alike[i][j] + best[i + 1][j + 1]:
            yield i, j
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            yield i, None
            i += 1
        else:
            yield None, j
            j += 1


def _changed(
    pairs: Iterable[tuple[int | None, int | None]], old: Sequence[str], new: Sequence[str], first: tuple[int, int]
) -> Iterator[Row]:
    for i, j in pairs:
        if i is None and j is not None:
            yield Row("added", None, (), first[1] + j, ((True, new[j]),))
        elif j is None and i is not None:
            yield Row("removed", first[0] + i, ((True, old[i]),), None, ())
        elif i is not None and j is not None:
            left, right = words(old[i], new[j])
            yield Row("changed", first[0] + i, left, first[1] + j, right)


def _same(left: int, right: int, text: str) -> Row:
    return Row("same", left, ((False, text),), right, ((False, text),))


def _joined(runs: Iterable[tuple[bool, str]]) -> Runs:
    found: list[tuple[bool, str]] = []
    for changed, text in runs:
        if found and found[-1][0] is changed:
            found[-1] = (changed, found[-1][1] + text)
        else:
            found.append((changed, text))
    return tuple(found)


def _hunks(diff: str) -> Iterator[tuple[list[str], list[str], tuple[int, int]]]:
    old: list[str] = []
    new: list[str] = []
    first = (1, 1)
    for line in diff.split("\n")[2:]:
        if start := _HUNK.fullmatch(line):
            if old or new:
                yield old, new, first
            old, new, first = [], [], (int(start[1]), int(start[2]))
        else:
            old += [line[1:]] if line[:1] in " -" else []
            new += [line[1:]] if line[:1] in " +" else []
    if old or new:
        yield old, new, first
