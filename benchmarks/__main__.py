"""`make bench`: every benchmark, and on which machine."""

import os
import platform
import sys
from datetime import UTC, datetime

from benchmarks import api, appends, verifying

ALL = {
    "Durable appends, 64 producers": appends.main,
    "W5 HTTP, 16 connections": api.main,
    "Verifying a log": verifying.main,
}


def main() -> None:
    print(f"{datetime.now(UTC):%Y-%m-%d}  Python {platform.python_version()}  {os.cpu_count()} cores")
    for title, run in ALL.items():
        print(f"\n## {title}")
        print("\n".join(run()))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
