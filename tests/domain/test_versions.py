from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from preceptor.domain.errors import Invalid
from preceptor.domain.ids import InstructionId
from preceptor.domain.instructions.lifecycle import MOVES, CannotMove, Status, may_move, require_move
from preceptor.domain.instructions.version import (
    BadPin,
    BadVersion,
    Exact,
    Labelled,
    Latest,
    Part,
    SemVer,
    WrittenPin,
    head,
    is_label,
    parse_pin,
    resolve,
)

NUMBERS = st.integers(0, 999_999_999)
VERSIONS = st.builds(SemVer, NUMBERS, NUMBERS, NUMBERS)


@dataclass(frozen=True)
class One:
    version: SemVer
    status: Status = Status.ACTIVE

    @property
    def instruction_id(self) -> InstructionId:
        return InstructionId(f"v{self.version}")


FAMILY = [
    One(SemVer(1, 0, 0)),
    One(SemVer(1, 2, 0)),
    One(SemVer(1, 10, 0)),
    One(SemVer(2, 0, 0), Status.DEPRECATED),
    One(SemVer(3, 0, 0), Status.DRAFT),
]


@given(VERSIONS)
def test_a_version_reads_back_as_it_was_written(version: SemVer):
    assert SemVer.parse(str(version)) == version


@given(VERSIONS, st.sampled_from(Part))
def test_a_bump_is_always_a_step_up(version: SemVer, part: Part):
    assert version.bump(part) > version


def test_versions_are_ordered_by_number_and_not_by_letter():
    assert SemVer.parse("1.10.0") > SemVer.parse("1.9.9") > SemVer.parse("1.9.0")
    assert [str(SemVer(1, 2, 3).bump(part)) for part in Part] == ["2.0.0", "1.3.0", "1.2.4"]


@pytest.mark.parametrize(
    "text",
    ["", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.-3", "v1.2.3", " 1.2.3", "1.2.3\n", "1.2.3-rc", "1.2.٣", "9" * 5000],
)
def test_what_is_not_a_version_is_invalid_and_says_how_to_write_one(text: str):
    with pytest.raises(BadVersion, match=r"such as 1\.2\.0") as caught:
        SemVer.parse(text)
    assert isinstance(caught.value, Invalid)
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize("text", ["latest", "exact", "^1", "^1.2", "^1.2.3", "^0.0.1", "label:production"])
def test_a_pin_reads_back_as_it_was_written(text: str):
    adapter = TypeAdapter[object](WrittenPin)
    assert str(parse_pin(text)) == text
    assert adapter.dump_python(adapter.validate_python(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", "Latest", "1.2.0", "^", "^1.x", "^01", "^1.2.3.4", "~1.2", "label:", "label:1.2.0", "label:latest", "x:y"],
)
def test_what_is_not_a_pin_is_invalid_and_says_what_is(text: str):
    with pytest.raises(BadPin, match="label:NAME"):
        parse_pin(text)
    with pytest.raises(ValidationError, match="label:NAME"):
        TypeAdapter[object](WrittenPin).validate_python(text)


@given(st.text(max_size=30))
def test_any_text_is_a_pin_or_is_refused(text: str):
    try:
        assert str(parse_pin(text)) == text
    except BadPin:
        return


def test_latest_is_the_newest_active_version():
    assert resolve(Latest(), FAMILY) == One(SemVer(1, 10, 0))


def test_a_family_that_is_only_deprecated_still_has_a_latest():
    assert resolve(Latest(), FAMILY[3:]) == FAMILY[3]
    assert resolve(Latest(), FAMILY[4:]) is None


RANGES = {
    "^1": ("1.0.0", "2.0.0"),
    "^1.2": ("1.2.0", "2.0.0"),
    "^1.2.3": ("1.2.3", "2.0.0"),
    "^0": ("0.0.0", "1.0.0"),
    "^0.2": ("0.2.0", "0.3.0"),
    "^0.0": ("0.0.0", "0.1.0"),
    "^0.0.3": ("0.0.3", "0.0.4"),
}


@pytest.mark.parametrize(("text", "bounds"), RANGES.items(), ids=RANGES)
def test_a_range_ends_where_a_promise_may_be_broken(text: str, bounds: tuple[str, str]):
    pin, (lowest, beyond) = parse_pin(text), map(SemVer.parse, bounds)
    assert resolve(pin, [One(lowest), One(beyond)]) == One(lowest)


def test_a_range_follows_the_newest_active_version_in_it():
    assert resolve(parse_pin("^1.1"), FAMILY) == FAMILY[2]
    assert resolve(parse_pin("^4"), FAMILY) is None


def test_an_exact_pin_and_a_label_give_what_they_point_at():
    assert resolve(Exact(), FAMILY, named=InstructionId("v1.2.0")) == FAMILY[1]
    assert resolve(Labelled("production"), FAMILY, labels={"production": InstructionId("v3.0.0")}) == FAMILY[4]
    assert resolve(Labelled("staging"), FAMILY, labels={"production": InstructionId("v3.0.0")}) is None
    assert resolve(Exact(), FAMILY) is None


@given(st.permutations(FAMILY), st.sampled_from(["latest", "^1", "^1.2", "^2"]))
def test_a_pin_means_the_same_whatever_order_versions_come_in(family: list[One], text: str):
    assert resolve(parse_pin(text), family) == resolve(parse_pin(text), FAMILY)


def test_the_head_is_the_highest_version_that_is_not_a_draft():
    assert head(FAMILY) == FAMILY[3]
    assert head(FAMILY[4:]) is None


def test_a_label_cannot_be_taken_for_a_version():
    assert is_label("production")
    assert not any(map(is_label, ["1", "1.0.0", "latest", "exact", "", "Prod", "a b", "a\n"]))


def test_a_version_lives_from_draft_to_archive_and_comes_back_as_a_draft():
    life = [Status.DRAFT, Status.ACTIVE, Status.DEPRECATED, Status.ARCHIVED, Status.DRAFT]
    allowed = set(pairwise(life))
    assert {(before, after) for before in Status for after in Status if may_move(before, after)} == allowed
    assert set(MOVES) == set(Status)


def test_a_move_that_is_not_allowed_says_which_are():
    require_move(Status.DRAFT, Status.ACTIVE)
    with pytest.raises(CannotMove, match=r"archived cannot become active\. From here it can become: draft"):
        require_move(Status.ARCHIVED, Status.ACTIVE)
