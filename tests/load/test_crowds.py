"""Many people at once. How fast they are served is measured (`python -m benchmarks.crowd`), and not tested."""

import os
import time
from pathlib import Path

from benchmarks.crowd.people import Group, Heard, meet
from benchmarks.crowd.stage import Stage, stage
from benchmarks.crowd.upstream import speaking
from benchmarks.crowd.watching import Sample, sample, watched
from tests.load.crowds import MEGABYTES, nothing_is_lost
from tests.postgres import Cluster
from tests.requirements import covers

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
PEOPLE = 200 if NIGHTLY else 50
SECONDS = float(os.environ.get("PRECEPTOR_SOAK_SECONDS", "300"))
"""Of a wave: by night there are six of them, which is half an hour. With 30 it is a few minutes, and says the same."""
CHORES = 70.0
"""Seconds after which a server has done by itself, once, what it does every minute."""
TURNS = 1_000_000 if NIGHTLY else 1
WAVES = 6 if NIGHTLY else 3
TOKENS, PACE = (40, 20) if NIGHTLY else (8, 20)
PLACES = 12
WARM = 6_000
"""Turns until what is known of conversations by heart has filled its room: so long, a server grows by night."""


def crowd(stage: Stage, people: int = PEOPLE, seconds: float = SECONDS) -> Group:
    return Group("all", stage.ports, stage.key, people, seconds, most=TURNS, ramp=0.0)


def rested(pid: int, files: int) -> Sample:
    """The server when it has noticed that they all went away."""
    until = time.monotonic() + 30
    while (seen := sample(pid)).files > files and time.monotonic() < until:
        time.sleep(0.1)
    return seen


def served(heard: Heard, at_least: int) -> Heard:
    assert heard.errors == []
    assert len(heard.turns) >= at_least
    return heard


@covers("L1", "L3")
async def test_fifty_people_stream_at_once_without_an_error_a_loss_or_a_leak(tmp_path: Path):
    with speaking(TOKENS, PACE) as model, stage(tmp_path, model) as place, watched(place.pids, 1.0) as seen:
        waves = [served(meet(crowd(place, 1, max(SECONDS, CHORES)))["all"], 1)]
        before = sample(place.pids[0])
        sizes = list[float]()
        for _ in range(WAVES):
            waves.append(served(meet(crowd(place))["all"], PEOPLE))
            if not NIGHTLY or sum(len(wave.turns) for wave in waves) >= WARM:
                sizes.append(sample(place.pids[0]).megabytes)
        after = rested(place.pids[0], before.files + PEOPLE)
    assert all(wave.refusals == {} for wave in waves)
    assert max(one.megabytes for one in seen[place.pids[0]]) <= MEGABYTES
    assert sizes[-1] <= 1.05 * sizes[0]
    assert after.threads <= before.threads
    assert after.files <= before.files + PEOPLE, "the way to the model is kept open for the next turn, and no other"
    folder = tmp_path / "server-0"
    assert await nothing_is_lost(f"sqlite:///{folder / 'preceptor.db'}", folder, waves) >= WAVES * PEOPLE


@covers("L2")
async def test_two_servers_share_a_postgres_without_an_error_or_a_loss(
    tmp_path: Path, postgres: Cluster, postgres_template: str
):
    url = postgres.new_database(template=postgres_template)
    with speaking(TOKENS, PACE) as model, stage(tmp_path, model, 2, url) as place:
        heard = served(meet(crowd(place))["all"], PEOPLE)
        assert heard.refusals == {}
        assert max(sample(pid).megabytes for pid in place.pids) <= MEGABYTES
    assert await nothing_is_lost(url, tmp_path, [heard]) >= PEOPLE


@covers("L6", "L7")
async def test_what_is_too_much_is_refused_at_once_and_never_at_the_cost_of_another_organisation(tmp_path: Path):
    """Twice as many people as places, and beside them a program that asks ten times as often as it may."""
    limits = {"PRECEPTOR_MAX_TURNS_AT_ONCE": str(PLACES), "PRECEPTOR_RATE_LIMIT_PER_ORG": "20"}
    with speaking(TOKENS, PACE) as model, stage(tmp_path, model, 1, None, **limits) as place:
        ports, noisy, quiet = place.ports, place.org("noisy"), place.org("quiet")
        loud = Group("loud", ports, noisy, 2 * PLACES, SECONDS, most=TURNS, ramp=0.0, patience=0.2)
        asking = Group("asking", ports, noisy, 20, 3.0, pause=0.1, ramp=0.0, asking=True, patience=0.1)
        calm = Group("calm", ports, quiet, 2, SECONDS, most=3, ramp=1.0)
        heard = meet(loud, asking, calm)
        after = rested(place.pids[0], 1_000)
    assert {name: each.errors for name, each in heard.items()} == {"loud": [], "asking": [], "calm": []}
    assert len(heard["calm"].turns) == 6
    assert heard["calm"].refusals == {}
    assert len(heard["loud"].turns) >= 2 * PLACES, "who comes again is served in the end"
    assert set(heard["loud"].refusals) | set(heard["asking"].refusals) == {"429 rate_limited"}
    assert heard["loud"].refused_of != []
    assert after.megabytes <= MEGABYTES
    folder = tmp_path / "server-0"
    url = f"sqlite:///{folder / 'preceptor.db'}"
    assert await nothing_is_lost(url, folder, heard.values(), ("noisy", "quiet")) >= 2 * PLACES + 6
