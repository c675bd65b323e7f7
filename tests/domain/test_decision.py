import math
from dataclasses import dataclass
from typing import Any

import pytest
from inline_snapshot import snapshot

from preceptor.domain.decision import (
    NUMBER,
    AtLeast,
    BadTable,
    Below,
    HitPolicy,
    Is,
    Row,
    Table,
    Unknown,
    markdown,
)
from tests.requirements import covers


@dataclass(frozen=True)
class Weather:
    sky: str
    wind: float | None = 0.0


SKY = ("clear", "cloudy")


def table(*rows: Row[str], policy: HitPolicy = HitPolicy.FIRST) -> Table[Weather, str]:
    return Table("DT-9", "what to wear", {"sky": SKY, "wind": NUMBER}, rows, policy)


SOUND = (
    Row("storm", {"wind": AtLeast(8)}, "stay in"),
    Row("dull", {"sky": Is("cloudy")}, "coat"),
    Row("fine", {}, "hat"),
)


@covers("R179")
def test_the_first_row_that_matches_decides_and_is_named_in_the_answer():
    wear = table(*SOUND)
    hit = wear.decide(Weather("cloudy", 9))
    assert (hit.outcome, hit.table, hit.version, hit.row) == ("stay in", "DT-9", wear.version, "storm")
    assert [wear.decide(Weather(sky, wind)).row for sky in SKY for wind in (7.9, 8.0)] == [
        "fine",
        "storm",
        "dull",
        "storm",
    ]


@covers("R179")
def test_a_table_is_its_own_documentation():
    assert (
        markdown(table(*SOUND))
        == str(table(*SOUND))
        == snapshot(
            """\
### DT-9: what to wear

Hit policy: first.

| row | sky | wind | → then |
| --- | --- | --- | --- |
| storm | any | >= 8 | stay in |
| dull | cloudy | any | coat |
| fine | any | any | hat |\
"""
        )
    )


def test_a_version_follows_what_a_table_says_and_nothing_else():
    again = table(*SOUND)
    louder = table(Row("storm", {"wind": AtLeast(8.000000001)}, "stay in"), *SOUND[1:])
    other = table(SOUND[0], Row("dull", {"sky": Is("cloudy")}, "scarf"), SOUND[2])
    assert again.version == table(*SOUND).version
    assert len({again.version, louder.version, other.version}) == 3


UNSOUND: dict[str, tuple[tuple[Row[str], ...], HitPolicy, str]] = {
    "a gap": ((Row("dull", {"sky": Is("cloudy")}, "coat"),), HitPolicy.FIRST, "no row matches sky clear"),
    "a gap between numbers": (
        (Row("calm", {"wind": Below(8)}, "hat"), Row("storm", {"wind": AtLeast(8.5)}, "stay in")),
        HitPolicy.FIRST,
        "no row matches",
    ),
    "a row behind another": (
        (Row("fine", {}, "hat"), Row("dull", {"sky": Is("cloudy")}, "coat")),
        HitPolicy.FIRST,
        "never reached: dull",
    ),
    "two rows for one case": (
        (Row("fine", {}, "hat"), Row("dull", {"sky": Is("cloudy")}, "coat")),
        HitPolicy.UNIQUE,
        "fine and dull both match sky cloudy",
    ),
    "an input that is not there": ((Row("wet", {"rain": Is(1)}, "boots"),), HitPolicy.FIRST, "no input is called rain"),
    "a name twice": (
        (Row("x", {"wind": AtLeast(8)}, "a"), Row("x", {"wind": Below(8)}, "b")),
        HitPolicy.UNIQUE,
        "two rows have one name",
    ),
    "nothing at all": ((), HitPolicy.FIRST, "no row matches"),
}


@pytest.mark.parametrize(("rows", "policy", "problem"), UNSOUND.values(), ids=UNSOUND)
def test_a_table_that_is_not_sound_cannot_be_loaded(rows: tuple[Row[str], ...], policy: HitPolicy, problem: str):
    with pytest.raises(BadTable, match=problem):
        table(*rows, policy=policy)


@covers("B4")
def test_the_cases_of_a_number_lie_around_every_bound_and_beyond_all_numbers():
    tried: list[Any] = [case["wind"] for case in table(*SOUND).cases() if case["sky"] == "clear"]
    assert None in tried
    assert any(value is not None and math.isnan(value) for value in tried)
    assert {math.inf, -math.inf, 0.0, 1.0, 8, math.nextafter(8, 0), math.nextafter(8, 9)} <= {*tried}


VALUES: list[float | None] = [0.0, math.nextafter(0.6, 0), 0.6, 1.0, math.inf, -math.inf, math.nan, None]


@covers("B4")
@pytest.mark.parametrize("value", VALUES)
def test_at_least_and_below_leave_no_value_out_and_share_none(value: float | None):
    assert AtLeast(0.6).holds(value) is not Below(0.6).holds(value)


@covers("B4")
def test_what_is_no_number_is_unknown_and_never_enough():
    for value in VALUES:
        unknown = value is None or math.isnan(value)
        assert Unknown().holds(value) is unknown
        assert not (unknown and AtLeast(-math.inf).holds(value))
