"""`make bench`: every benchmark, and on which machine."""

import os
import platform
import sys
from datetime import UTC, datetime

from benchmarks import (
    api,
    appends,
    crowd,
    effective,
    first_day,
    history,
    importing,
    kept,
    library,
    plan,
    scale,
    stalls,
    streaming,
    turns,
    verifying,
)

ALL = {
    "Durable appends, 64 producers": appends.main,
    "W1 and W2 whole turns": turns.main,
    "What W1 and W2 keep, by sqlite3 alone": kept.main,
    "W4 effective instructions": effective.main,
    "L5 and S15 the library under load": library.main,
    "W5 HTTP, 16 connections": api.main,
    "W5b OpenAI-compatible streaming": streaming.main,
    "The loop's longest stall, 1,000 messages a prompt": stalls.main,
    "W7 import and first reply": importing.main,
    "The first day: help, ready, idle": first_day.main,
    "W6 A plan, read, routed and shown": plan.main,
    "W3 a history cut to 8,000 tokens": history.main,
    "Two servers and two workers": scale.main,
    "Verifying a log": verifying.main,
    "L1 to L7, a crowd": crowd.main,
}


def main() -> None:
    print(f"{datetime.now(UTC):%Y-%m-%d}  Python {platform.python_version()}  {os.cpu_count()} cores")
    for title, run in ALL.items():
        print(f"\n## {title}")
        print("\n".join(run()))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
