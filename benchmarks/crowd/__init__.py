"""Many people talking at once to real servers, over real sockets, with a model that takes its time."""

from collections.abc import Iterator


def main() -> Iterator[str]:
    """Every scenario, in a size for every day."""
    from benchmarks.crowd.scenarios import SCENARIOS, Size

    for run in SCENARIOS.values():
        yield str(run.__doc__)
        yield from run(Size(seconds=15, rounds=2, rows=100_000))
