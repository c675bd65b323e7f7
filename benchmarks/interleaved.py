"""Compare contenders fairly on a noisy machine.

Each contender lives in a process of its own. Slices of work are handed out in turn, in rotating order, so that only one
works at a time and noise falls on all alike. What counts is the median, over rounds, of a contender's figure divided by
the baseline's figure of the same round.
"""

import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol


class Contender(Protocol):
    """Made in its own process with a folder to write in; `run` does `count` operations.

    What `prepare(count)` does, where a contender has it, is not measured.
    """

    def run(self, count: int) -> None: ...

    def close(self) -> None: ...


Maker = Callable[[Path], Contender]


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice's cost per operation, in seconds."""

    wall: float
    cpu: float
    written: float


@dataclass(slots=True)
class Figures:
    slices: list[Slice] = field(default_factory=list)

    def median(self, what: str) -> float:
        return statistics.median(getattr(s, what) for s in self.slices)

    def ratio(self, baseline: "Figures", what: str) -> float:
        return statistics.median(self.ratios(baseline, what))

    def ratios(self, baseline: "Figures", what: str) -> list[float]:
        """Against the baseline's figure of the same round."""
        pairs = zip(self.slices, baseline.slices, strict=True)
        return [getattr(ours, what) / max(getattr(theirs, what), 1e-12) for ours, theirs in pairs]


def compare(makers: Mapping[str, Maker], *, rounds: int, count: int) -> dict[str, Figures]:
    context = multiprocessing.get_context("spawn")
    folder = Path(tempfile.mkdtemp(prefix="preceptor-bench-"))
    pipes: dict[str, Connection] = {}
    processes = []
    for name, maker in makers.items():
        ours, theirs = context.Pipe()
        home = folder / name
        home.mkdir()
        process = context.Process(target=_work, args=(maker, home, theirs), daemon=True)
        process.start()
        theirs.close()
        pipes[name] = ours
        processes.append(process)
    figures = {name: Figures() for name in makers}
    try:
        for name in makers:
            _slice(pipes[name], max(1, count // 10))
        names = list(makers)
        for turn in range(rounds):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                figures[name].slices.append(_slice(pipes[name], count))
    finally:
        for pipe in pipes.values():
            pipe.send(None)
        for process in processes:
            process.join(20)
        shutil.rmtree(folder, ignore_errors=True)
    return figures


def _slice(pipe: Connection, count: int) -> Slice:
    pipe.send(count)
    wall, cpu, written = pipe.recv()
    return Slice(wall / count, cpu / count, written / count)


def _work(maker: Maker, folder: Path, pipe: Connection) -> None:
    contender = maker(folder)
    prepare: Callable[[int], None] | None = getattr(contender, "prepare", None)
    while (count := pipe.recv()) is not None:
        if prepare is not None:
            prepare(count)
        before, cpu, wall = _written(), time.process_time(), time.perf_counter()
        contender.run(count)
        pipe.send((time.perf_counter() - wall, time.process_time() - cpu, _written() - before))
    contender.close()


def _written() -> int:
    """Bytes this process has given to write(2)."""
    lines = Path(f"/proc/{os.getpid()}/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("wchar")).split()[1])
