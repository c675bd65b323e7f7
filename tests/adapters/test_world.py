from uuid import UUID

import pytest

from preceptor.adapters.world import RealWorld
from tests.requirements import covers


@covers("R13")
def test_ids_are_version_7_uuids_and_sort_in_the_order_in_which_they_were_made():
    world = RealWorld()
    made = [world.new_id() for _ in range(5_000)]
    assert made == sorted(set(made))
    assert {(UUID(one).version, UUID(one).variant, str(UUID(one)) == one) for one in made} == {
        (7, "specified in RFC 4122", True)
    }


def test_ids_go_on_when_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch):
    world = RealWorld()
    before = world.new_id()
    monkeypatch.setattr("time.time_ns", lambda: 1_000_000_000)
    assert [before] < [world.new_id()] < [world.new_id()]
