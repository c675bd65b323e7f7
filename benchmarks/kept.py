"""What a turn reads and writes, by nothing but `sqlite3`: the least that keeping all of it can cost.

Where the goal for a whole turn is four times the bare loop, this is how much of that is spent before any of it is ours.

The statements of one real turn are recorded, with their values and commits, and carried out again for other
conversations with ids of their own. No prompt is made, nothing is hashed, no step is decided: what is left is the
database alone.
"""

import re
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.interleaved import compare
from benchmarks.said import Shape
from benchmarks.turns import CASES, Bare, Ours
from preceptor.adapters.storage.sqlite import SqliteStore
from preceptor.adapters.world import RealWorld

Values = Sequence[Any]
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


class Asked(NamedTuple):
    """One statement: what `method` of a cursor was given. Without a method it begins or ends a transaction."""

    method: str
    sql: str
    values: Any = ()


class Recorder:
    """A cursor that remembers what it was asked."""

    def __init__(self, cursor: sqlite3.Cursor, asked: list[Asked]) -> None:
        self.cursor, self.asked = cursor, asked

    def execute(self, sql: str, values: Values) -> sqlite3.Cursor:
        self.asked.append(Asked("execute", sql, tuple(values)))
        return self.cursor.execute(sql, values)

    def executemany(self, sql: str, rows: Sequence[Values]) -> sqlite3.Cursor:
        self.asked.append(Asked("executemany", sql, [tuple(row) for row in rows]))
        return self.cursor.executemany(sql, rows)


class Kept(Ours):
    def __init__(self, folder: Path, shape: Shape) -> None:
        super().__init__(folder, shape)
        store = self.preceptor.session.store
        assert isinstance(store, SqliteStore)
        self.store, self.writing = store, store._writing  # noqa: SLF001 - it is looked into, not used
        self.turns: list[list[Asked]] = []

    def prepare(self, count: int) -> None:
        super().prepare(count + 1)
        example, *others = self.order
        asked = self._recorded(example)
        old = {found for each in asked for found in _ids(each.values) if found > example}
        self.turns = [_for_another(asked, {example: other}, old) for other in others]

    def _recorded(self, conversation: str) -> list[Asked]:
        asked: list[Asked] = []
        executor = self.store._executor  # noqa: SLF001
        cursor = executor.cursor
        executor.cursor = Recorder(cursor, asked)  # pyright: ignore[reportAttributeAccessIssue] - it does what one does
        self.writing.set_trace_callback(lambda sql: asked.append(Asked("", sql)) if _bounds(sql) else None)
        self.loop.run_until_complete(self._say(conversation))
        self.writing.set_trace_callback(None)
        executor.cursor = cursor
        return asked

    def run(self, count: int) -> None:  # noqa: ARG002 - as many as were prepared
        cursor = self.writing.cursor()
        for turn in self.turns:
            for method, sql, values in turn:
                if not method:
                    self.writing.execute(sql)
                elif method == "execute":
                    cursor.execute(sql, values).fetchall()
                else:
                    cursor.executemany(sql, values)


def _bounds(sql: str) -> bool:
    return sql.startswith(("BEGIN", "COMMIT"))


def _ids(values: Any) -> set[str]:
    """Every id anywhere in what a statement was given."""
    if isinstance(values, str):
        return set(_ID.findall(values))
    return set().union(*map(_ids, values)) if isinstance(values, list | tuple) else set()


def _for_another(asked: Sequence[Asked], conversation: dict[str, str], made: set[str]) -> list[Asked]:
    """The same for another conversation, with new ids in the place of those that the turn had made."""
    world = RealWorld()
    instead = {**{old: world.new_id() for old in sorted(made)}, **conversation}
    return [each._replace(values=_with(each.values, instead)) for each in asked]


def _with(values: Any, instead: dict[str, str]) -> Any:
    if isinstance(values, str):
        return _ID.sub(lambda found: instead.get(found[0], found[0]), values)
    if isinstance(values, list | tuple):
        return type(values)(_with(value, instead) for value in values)
    return values


def main() -> Iterator[str]:
    for title, shape, rounds, count in CASES:
        if shape.history != 20 or shape.at_once > 1:
            continue  # what is recorded is one turn by itself; after a longer history it reads and writes the same
        makers = {"bare": Bare, "kept": Kept, "preceptor": Ours}
        found = compare({name: partial(made, shape=shape) for name, made in makers.items()}, rounds=rounds, count=count)
        bare, kept, ours = (found[name] for name in makers)
        yield (
            f"{title}: its rows by `sqlite3` alone {kept.median('cpu') * 1e3:.2f} ms CPU, "
            f"{kept.ratio(bare, 'cpu'):.1f}x the bare loop; the whole turn {ours.ratio(kept, 'cpu'):.1f}x that"
        )


if __name__ == "__main__":
    for line in main():
        print(line)
        sys.stdout.flush()
