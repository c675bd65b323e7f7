"""The graph of an execution's steps: where each is drawn, and the ways between them.

Steps stand in columns, each to the right of all that it waits for. A way that crosses a column has a place of its own
in it, so that it never runs behind a step.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

WIDTH, HEIGHT, BETWEEN, BELOW, EDGE = 180, 52, 48, 20, 8
SWEEPS = 4
Place = int | tuple[int, int, int]
"""A step by its index, or the place of the way between two steps in a column that it crosses."""
Waits = Mapping[int, Sequence[int]]


class Node(msgspec.Struct, frozen=True):
    index: int
    x: float
    y: float


class Graph(msgspec.Struct, frozen=True):
    width: float
    height: float
    nodes: tuple[Node, ...]
    ways: tuple[str, ...]
    """As paths of an SVG."""


class _Layout(msgspec.Struct):
    column: dict[Place, int]
    before: dict[Place, list[Place]]
    through: dict[tuple[int, int], list[Place]] = {}

    def columns(self) -> dict[int, list[Place]]:
        found: dict[int, list[Place]] = {}
        for place in self.before:
            found.setdefault(self.column[place], []).append(place)
        return found

    def after(self) -> dict[Place, list[Place]]:
        found: dict[Place, list[Place]] = {place: [] for place in self.before}
        for place, earlier in self.before.items():
            for one in earlier:
                found[one].append(place)
        return found


def graph_of(waits: Waits) -> Graph:
    """`waits` says for each step which ones it waits for; none waits for itself, however far around."""
    layout = _layout(waits)
    columns, after = layout.columns(), layout.after()
    row = _ordered(columns, layout.before, after)
    tall = max((len(column) for column in columns.values()), default=1)

    def at(place: Place) -> tuple[float, float]:
        column = layout.column[place]
        down = row[place] + (tall - len(columns[column])) / 2
        return EDGE + column * (WIDTH + BETWEEN), EDGE + down * (HEIGHT + BELOW)

    wide = EDGE * 2 + len(columns) * (WIDTH + BETWEEN) - BETWEEN
    high = EDGE * 2 + tall * (HEIGHT + BELOW) - BELOW
    nodes = tuple(Node(index, *at(index)) for index in waits)
    ways = tuple(_way([at(place) for place in (a, *through, b)]) for (a, b), through in layout.through.items())
    return Graph(wide, high, nodes, ways)


def columns_of(waits: Waits) -> dict[int, int]:
    """For each step how many come before it on the longest way to it."""
    found: dict[int, int] = {}
    left = dict(waits)
    while left:
        ready = [index for index, needs in left.items() if not any(one in left for one in needs)]
        for index in ready:
            found[index] = 1 + max((found[one] for one in left.pop(index)), default=-1)
    return found


def _layout(waits: Waits) -> _Layout:
    columns: dict[Place, int] = {index: column for index, column in columns_of(waits).items()}  # noqa: C416 - widened
    layout = _Layout(columns, {index: [] for index in waits})
    for index, needs in waits.items():
        for one in dict.fromkeys(needs):
            last: Place = one
            crossed: list[Place] = []
            for column in range(columns[one] + 1, columns[index]):
                place = (one, index, column)
                layout.column[place], layout.before[place] = column, [last]
                crossed.append(place)
                last = place
            layout.before[index].append(last)
            layout.through[one, index] = crossed
    return layout


def _ordered(
    columns: dict[int, list[Place]], before: Mapping[Place, list[Place]], after: Mapping[Place, list[Place]]
) -> dict[Place, float]:
    """The row of each place: next to what it is joined to, looked at from the left and from the right in turn."""
    row = {place: float(at) for column in columns.values() for at, place in enumerate(column)}
    for sweep in range(SWEEPS):
        near = after if sweep % 2 else before
        for column in sorted(columns, reverse=bool(sweep % 2)):
            middle = {place: _middle(place, near[place], row) for place in columns[column]}
            columns[column].sort(key=middle.__getitem__)
            row.update((place, float(at)) for at, place in enumerate(columns[column]))
    return row


def _middle(place: Place, near: Sequence[Place], row: Mapping[Place, float]) -> float:
    return sum(row[one] for one in near) / len(near) if near else row[place]


def _way(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(_bends(points))


def _bends(points: Sequence[tuple[float, float]]) -> Iterator[str]:
    x, y = points[0][0] + WIDTH, points[0][1] + HEIGHT / 2
    yield f"M{x:.0f} {y:.0f}"
    for at, (left, top) in enumerate(points[1:], 1):
        down, half = top + HEIGHT / 2, (x + left) / 2
        yield f"C{half:.0f} {y:.0f} {half:.0f} {down:.0f} {left:.0f} {down:.0f}"
        if at < len(points) - 1:
            yield f"H{left + WIDTH:.0f}"
        x, y = left + WIDTH, down
