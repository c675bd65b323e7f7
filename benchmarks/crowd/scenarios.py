"""L1 to L7 (without L5): what a crowd does to servers, and servers to a crowd."""

import asyncio
import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

from benchmarks.crowd.people import Group, Heard, meet
from benchmarks.crowd.seeding import seeded
from benchmarks.crowd.stage import Stage, stage
from benchmarks.crowd.upstream import speaking
from benchmarks.crowd.watching import EVERY, Sample, watched
from tests.postgres import cluster

WINDOW = '{"openai-compatible:m": {"context_window": 2000000}}'
BRIEF = 2.0
"""Seconds that the first turns of a server are given: they load what a server at rest has not."""


@dataclass(frozen=True)
class Size:
    people: int = 50
    seconds: float = 30.0
    rounds: int = 3
    rows: int = 200_000


class Theatre(ExitStack):
    """What is opened for a scenario, and closed behind it."""

    def __enter__(self) -> Self:
        super().__enter__()
        self.folder = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="preceptor-crowd-")))
        self.model = self.enter_context(speaking())
        return self

    def open(self, name: str, servers: int = 1, database: str | None = None, **environment: str) -> Stage:
        made = self.enter_context(stage(self.folder / name, self.model, servers, database, **environment))
        meet(Group("first", made.ports, made.key, 2 * servers, BRIEF, ramp=0.0))
        return made


def sqlite(size: Size) -> Iterator[str]:
    """L1 and L3: one server on SQLite."""
    with Theatre() as theatre:
        yield from _crowd(theatre.open("sqlite"), size)


def postgres(size: Size) -> Iterator[str]:
    """L2: PostgreSQL with 16 connections; then two servers with a capped number of places against one."""
    with Theatre() as theatre:
        database = theatre.enter_context(cluster())
        yield from _crowd(theatre.open("postgres", database=database.new_database()), size)
        places = {"PRECEPTOR_MAX_TURNS_AT_ONCE": "10"}
        fleets = {count: theatre.open(f"fleet-{count}", count, database.new_database(), **places) for count in (1, 2)}
        rates: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(size.rounds):
            for count, fleet in fleets.items():
                people = Group("all", fleet.ports, fleet.key, 32, size.seconds / 2, ramp=1.0, patience=0.25)
                heard = meet(people)["all"]
                assert heard.errors == [], heard.errors[:3]
                rates[count].append(len(heard.turns) / heard.seconds)
        ratios = [two / one for one, two in zip(rates[1], rates[2], strict=True)]
        yield (
            f"two servers with 8 places each against one: {statistics.median(ratios):.2f}x "
            f"({min(ratios):.2f} to {max(ratios):.2f}), {statistics.median(rates[1]):.1f} and "
            f"{statistics.median(rates[2]):.1f} turns/s (goal >= 1.5x)"
        )


def overload(size: Size) -> Iterator[str]:
    """L6: as many people as there are places, then twice as many."""
    with Theatre() as theatre:
        most = size.people * 5 // 4
        place = theatre.open("overload", PRECEPTOR_MAX_TURNS_AT_ONCE=str(most))
        people = Group("all", place.ports, place.key, size.people, size.seconds)
        for crowd in (people, replace(people, people=2 * size.people)):
            heard = meet(crowd)["all"]
            yield f"{crowd.people} people, {size.people} places for them: {told(heard)}"
            yield f"  {refusals(heard)}"


def neighbour(size: Size) -> Iterator[str]:
    """L7: a quiet organisation alone, and beside one at ten times its limit; in turn."""
    rate = 20
    with Theatre() as theatre:
        place = theatre.open("neighbour", PRECEPTOR_RATE_LIMIT_PER_ORG=str(rate))
        ports, quiet, noisy = place.ports, place.org("quiet"), place.org("noisy")
        calm = Group("calm", ports, quiet, size.people // 5, size.seconds)
        loud = Group("loud", ports, noisy, size.people, size.seconds, patience=0.5)
        asking = Group("asking", ports, noisy, rate, size.seconds, pause=0.1, asking=True, patience=0.1)
        found: dict[str, list[Heard]] = {"alone": [], "beside": []}
        for _ in range(size.rounds):
            found["alone"].append(meet(calm)["calm"])
            both = meet(calm, loud, asking)
            found["beside"].append(both["calm"])
            refused = sum(sum(both[name].refusals.values()) for name in ("loud", "asking"))
            yield f"  beside {refused / size.seconds:.0f} refusals a second and {told(both['loud'])}"
        for name, heard in found.items():
            yield f"  quiet, {name}: " + "; ".join(map(told, heard))
        for share, name in ((0.5, "p50"), (0.99, "p99")):
            pairs = zip(found["alone"], found["beside"], strict=True)
            ratios = [b.percentile("whole", share) / a.percentile("whole", share) for a, b in pairs]
            yield f"{name} of a quiet turn beside the noise: {statistics.median(ratios):.2f}x (goal <= 1.25x at p99)"


def length(size: Size) -> Iterator[str]:
    """L4: a conversation of 10,000 messages that are all shown; a log of many rows against an empty one."""
    with Theatre() as theatre:
        told_of = theatre.folder / "models.json"
        told_of.write_text(WINDOW)
        open_one = partial(theatre.open, PRECEPTOR_MODEL_CAPABILITIES=str(told_of))
        long = asyncio.run(seeded(theatre.folder / "long/server-0", 10_000))
        asyncio.run(seeded(theatre.folder / "full/server-0", 10_000, size.rows // 10_000 - 1))
        place = open_one("long")
        short = Group("short", place.ports, place.key, 1, size.seconds)
        with watched(place.pids) as seen:
            brief, whole = meet(short)["short"], meet(replace(short, conversation=long))["short"]
        before, after = seen[place.pids[0]][0].megabytes, max(one.megabytes for one in seen[place.pids[0]])
        yield f"a short conversation: {told(brief)}"
        yield f"10,000 messages in every prompt: {told(whole)}; {after - before:.0f} MB more (goal <= 50)"
        stages = {"empty": open_one("empty"), "full": open_one("full")}
        times: dict[str, list[float]] = {name: [] for name in stages}
        for _ in range(size.rounds):
            for name, each in stages.items():
                heard = meet(Group("few", each.ports, each.key, 5, size.seconds / 2))["few"]
                times[name].append(heard.percentile("added", 0.5))
        ratios = [full / empty for empty, full in zip(times["empty"], times["full"], strict=True)]
        yield (
            f"with {size.rows:,} rows in the log a turn's first token takes {statistics.median(ratios):.2f}x as much "
            f"of ours as in an empty one ({min(ratios):.2f} to {max(ratios):.2f}; goal <= 1.5x)"
        )


def _crowd(place: Stage, size: Size) -> Iterator[str]:
    with watched(place.pids) as seen:
        heard = meet(Group("all", place.ports, place.key, size.people, size.seconds))["all"]
    yield f"{size.people} people for {size.seconds:.0f} s, load {os.getloadavg()[0]:.0f}: {told(heard)}"
    for samples in seen.values():
        yield from sampled(samples, len(heard.turns))


def sampled(samples: list[Sample], turns: int) -> Iterator[str]:
    first, last = samples[0], samples[-1]
    yield f"  {1e3 * (last.cpu - first.cpu) / max(1, turns):.1f} ms of the server's CPU a turn"
    for name in ("megabytes", "files", "threads"):
        values = [getattr(one, name) for one in samples]
        yield f"  {name}, each {EVERY:.0f} s: " + " ".join(f"{value:.0f}" for value in values)


def told(heard: Heard) -> str:
    added = [1e3 * heard.percentile("added", share) for share in (0.5, 0.99)]
    return (
        f"{len(heard.turns) / heard.seconds:.1f} turns/s, "
        f"{added[0]:.0f} ms added to the first token (p99 {added[1]:.0f}), "
        f"whole turn {heard.percentile('whole', 0.5):.2f} s (p99 {heard.percentile('whole', 0.99):.2f}), "
        f"{len(heard.errors)} errors {heard.errors[:2] or ''}"
    )


def refusals(heard: Heard) -> str:
    within = [1e3 * heard.percentile("refused_in", share) for share in (0.5, 0.99)]
    return f"refused {dict(heard.refusals)} within {within[0]:.0f} ms (p99 {within[1]:.0f}, goal <= 100)"


SCENARIOS = {"sqlite": sqlite, "postgres": postgres, "overload": overload, "neighbour": neighbour, "length": length}
