"""Where things stand on drawings: worked out by functions, and so tried without a browser."""

import itertools
from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from preceptor.domain.experiments.results import Bounds
from preceptor.domain.experiments.series import MetricSeries, Point
from preceptor.surfaces.web.views.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, cumulative
from preceptor.surfaces.web.views.graph import HEIGHT as TALL
from preceptor.surfaces.web.views.graph import WIDTH as BROAD
from preceptor.surfaces.web.views.graph import columns_of, graph_of

STEPS = st.integers(1, 25).flatmap(
    lambda many: st.fixed_dictionaries(
        {at: st.lists(st.integers(0, at - 1), unique=True, max_size=3) if at else st.just([]) for at in range(many)}
    )
)


@given(STEPS)
def test_no_step_covers_another_and_each_stands_right_of_what_it_waits_for(waits: dict[int, list[int]]):
    graph = graph_of(waits)
    nodes = {node.index: node for node in graph.nodes}
    assert nodes.keys() == waits.keys()
    assert len(graph.ways) == sum(map(len, waits.values()))
    for one in graph.nodes:
        assert one.x >= 0
        assert one.y >= 0
        assert one.x + BROAD <= graph.width
        assert one.y + TALL <= graph.height
        assert all(nodes[wanted].x < one.x for wanted in waits[one.index])
    places = {(node.x, node.y) for node in graph.nodes}
    assert len(places) == len(graph.nodes)
    for column in set(columns_of(waits).values()):
        heights = sorted(nodes[at].y for at, where in columns_of(waits).items() if where == column)
        assert all(below - above >= TALL for above, below in itertools.pairwise(heights))


def series(*values: tuple[float, float, float] | None) -> MetricSeries:
    start = date(2026, 11, 1)
    points = tuple(
        Point(
            day=start + timedelta(days=at),
            control_units=at,
            variant_units=at,
            difference=one and one[0],
            always_valid=one and Bounds(low=one[1], high=one[2]),
        )
        for at, one in enumerate(values)
    )
    return MetricSeries(metric="rating", role="primary", higher_is_better=True, points=points)


def test_a_course_is_drawn_within_its_frame_with_zero_in_the_middle():
    drawn = cumulative(series(None, (0.5, -90.0, 91.0), (0.2, -0.4, 0.8), (0.3, 0.1, 0.5)))
    assert drawn
    assert [dot.point.difference for dot in drawn.dots] == [0.5, 0.2, 0.3]
    assert drawn.zero == (TOP + HEIGHT - BOTTOM) / 2
    for dot in drawn.dots:
        assert LEFT <= dot.x <= WIDTH - RIGHT
        assert TOP <= dot.high <= dot.y <= dot.low <= HEIGHT - BOTTOM
        assert dot.y < drawn.zero
    assert [dot.x for dot in drawn.dots] == sorted(dot.x for dot in drawn.dots)


def test_where_nothing_is_known_nothing_is_drawn_and_one_day_stands_in_the_middle():
    assert cumulative(series(None, None)) is None
    drawn = cumulative(series((-0.5, -1.0, 0.0)))
    assert drawn
    [dot] = drawn.dots
    assert LEFT < dot.x < WIDTH - RIGHT
    assert dot.y > drawn.zero
