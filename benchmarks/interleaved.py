"""Compare contenders fairly on a noisy machine.

Each contender lives in a process of its own. Slices of work are handed out in turn, in rotating order, so that only one
works at a time and noise falls on all alike. What counts is the median, over rounds, of a contender's figure divided by
the baseline's figure of the same round.
"""

import json
import multiprocessing
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol


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


class Pipe(Protocol):
    """The way to a contender: numbers of operations go out, what they cost comes back, and None is the end."""

    def send(self, obj: int | None, /) -> None: ...

    def recv(self) -> Sequence[float]: ...


class Elsewhere:
    """A contender under another Python, as `benchmarks.peers` runs it."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        told = self.recv()
        self.missing: str | None = told.get("missing") if isinstance(told, dict) else "it does not start"

    def send(self, count: int | None, /) -> None:
        assert self.process.stdin
        if count is None:
            self.process.stdin.close()
            self.process.wait(20)
            return
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()

    def recv(self) -> Any:
        """The last line: what the peers' own code prints comes before it."""
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith(("{", "[")):
                return json.loads(line)
        return None


def compare(
    makers: Mapping[str, Maker], *, rounds: int, count: int, elsewhere: Mapping[str, Elsewhere] | None = None
) -> dict[str, Figures]:
    context = multiprocessing.get_context("spawn")
    folder = Path(tempfile.mkdtemp(prefix="preceptor-bench-"))
    pipes: dict[str, Pipe] = {**(elsewhere or {})}
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
    names = list(pipes)
    figures = {name: Figures() for name in names}
    try:
        for name in names:
            _slice(pipes[name], max(1, count // 10))
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


def _slice(pipe: Pipe, count: int) -> Slice:
    pipe.send(count)
    wall, cpu, written = pipe.recv()
    return Slice(wall / count, cpu / count, written / count)


def _work(maker: Maker, folder: Path, pipe: Connection) -> None:
    contender = maker(folder)
    while (count := pipe.recv()) is not None:
        pipe.send(measured(contender, count))
    contender.close()


def measured(contender: Contender, count: int) -> tuple[float, float, float]:
    """Wall clock, CPU and bytes written by so many operations."""
    prepare: Callable[[int], None] | None = getattr(contender, "prepare", None)
    if prepare is not None:
        prepare(count)
    before, cpu, wall = _written(), time.process_time(), time.perf_counter()
    contender.run(count)
    return time.perf_counter() - wall, time.process_time() - cpu, _written() - before


def _written() -> int:
    """Bytes this process has given to write(2)."""
    lines = Path(f"/proc/{os.getpid()}/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("wchar")).split()[1])
