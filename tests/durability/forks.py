"""Real processes that cost little: a parent imports everything once, then forks a child for each call.

Run as `python -m tests.durability.forks package.module:function`; calls come in by stdin, exit codes go out by stdout.
"""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Self

import orjson

ROOT = Path(__file__).parents[2]


class Forks:
    """Calls a function in a fresh process each time, which may die of it."""

    def __init__(self, target: str) -> None:
        command = [sys.executable, "-m", "tests.durability.forks", target]
        self._parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)

    def call(self, **arguments: str | int) -> int:
        """Return 0, the exit code of a failure, or minus the signal that ended the process."""
        self.start(**arguments)
        return self.wait()

    def start(self, **arguments: str | int) -> None:
        assert self._parent.stdin
        self._parent.stdin.write(orjson.dumps(arguments) + b"\n")
        self._parent.stdin.flush()

    def wait(self) -> int:
        assert self._parent.stdout
        return orjson.loads(self._parent.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._parent.communicate(timeout=10)


def serve(target: str) -> None:
    module, _, name = target.partition(":")
    function = getattr(import_module(module), name)
    for line in sys.stdin.buffer:
        child = os.fork()
        if child == 0:
            function(**orjson.loads(line))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.buffer.write(orjson.dumps(os.waitstatus_to_exitcode(status)) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
