"""`python -m benchmarks.crowd [SCENARIO …] [--people N] [--seconds N] [--rounds N] [--rows N]`"""

import argparse
from collections.abc import Iterator

from benchmarks.crowd.scenarios import SCENARIOS, Size


def main(chosen: list[str], size: Size) -> Iterator[str]:
    for name in chosen or list(SCENARIOS):
        yield f"{name}: {SCENARIOS[name].__doc__}"
        yield from SCENARIOS[name](size)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crowd")
    parser.add_argument("scenario", nargs="*", choices=[*SCENARIOS, []], metavar="SCENARIO", help=", ".join(SCENARIOS))
    parser.add_argument("--people", type=int, default=Size.people)
    parser.add_argument("--seconds", type=float, default=Size.seconds)
    parser.add_argument("--rounds", type=int, default=Size.rounds)
    parser.add_argument("--rows", type=int, default=Size.rows)
    asked = parser.parse_args()
    for line in main(asked.scenario, Size(asked.people, asked.seconds, asked.rounds, asked.rows)):
        print(line, flush=True)
