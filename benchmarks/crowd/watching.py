"""What a server takes of the machine while it works: memory, open files, threads, CPU."""

import os
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
EVERY = 5.0


@dataclass(frozen=True, slots=True)
class Sample:
    seconds: float
    megabytes: float
    """Resident."""
    files: int
    threads: int
    cpu: float
    """Seconds, since the process began."""


def sample(pid: int, began: float = 0.0) -> Sample:
    told = dict(
        line.split(":", 1)
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
        if ":" in line
    )
    spent = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return Sample(
        seconds=time.monotonic() - began,
        megabytes=int(told["VmRSS"].split()[0]) / 1024,
        files=len(list(Path(f"/proc/{pid}/fd").iterdir())),
        threads=int(told["Threads"]),
        cpu=(int(spent[11]) + int(spent[12])) / TICK,
    )


@contextmanager
def watched(pids: Sequence[int], every: float = EVERY) -> Generator[dict[int, list[Sample]]]:
    """A sample of each process at once, at every beat, and at the end."""
    began, over = time.monotonic(), threading.Event()
    found: dict[int, list[Sample]] = {pid: [sample(pid, began)] for pid in pids}

    def look() -> None:
        for pid in pids:
            found[pid].append(sample(pid, began))

    def watch() -> None:
        while not over.wait(every):
            look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield found
    finally:
        over.set()
        watcher.join()
        look()
