"""Real processes that cost little: one parent imports everything once a test run, then forks a child for each call.

Run as `python -m tests.durability.forks SOCKET`. Whoever connects says `package.module:function` and then its calls,
a line each, and is told their exit codes; the parent ends when its standard input does.
"""

import ctypes
import gc
import os
import select
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Self

import orjson

from preceptor.adapters.tokens import counter
from preceptor.domain.models import Vocabulary
from preceptor.domain.value import Value
from tests.warm import parent_in

PR_SET_PDEATHSIG = 1
ROOT = Path(__file__).parents[2]
MODULES = ("announcing", "executing", "migrating", "queued", "turning", "worker")
"""Of this folder: those with something to call."""


class Forks:
    """Calls a function in a fresh process each time, which may die of it."""

    def __init__(self, target: str) -> None:
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(parent_in("tests.durability.forks"))
        self._told = self._line.makefile("rb")
        self._line.sendall(target.encode() + b"\n")

    def call(self, **arguments: str | int) -> int:
        """Return 0, the exit code of a failure, or minus the signal that ended the process."""
        self.start(**arguments)
        return self.wait()

    def start(self, **arguments: str | int) -> None:
        self._line.sendall(orjson.dumps(arguments) + b"\n")

    def wait(self) -> int:
        return orjson.loads(self._told.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._told.close()
        self._line.close()


def listen(address: str) -> None:
    for name in MODULES:
        import_module(f"tests.durability.{name}")
    make_ready()
    gc.collect()
    gc.freeze()  # what everyone shares is not looked through, and so not copied, by anyone
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while sys.stdin not in select.select([sys.stdin, listening], [], [])[0]:
            line, _ = listening.accept()
            if os.fork() == 0:
                die_with_parent()
                listening.close()
                with line, line.makefile("rb") as heard:
                    serve(line, heard)
                os._exit(0)
            line.close()
            bury()


def make_ready() -> None:
    """What is made when it is first needed is made once, instead of in each child."""
    for kind in below(Value):
        kind.model_rebuild()
    counter(Vocabulary.O200K).count("Unforeseeably long words are taken apart, which a vocabulary has to be ready for.")


def below(kind: type[Value]) -> Iterator[type[Value]]:
    for one in kind.__subclasses__():
        yield one
        yield from below(one)


def die_with_parent() -> None:
    """Nothing that was started outlives the test run, also when a test fails in the middle of it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def bury() -> None:
    """Let those go that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def serve(line: socket.socket, heard: IO[bytes]) -> None:
    module, _, name = heard.readline().decode().strip().partition(":")
    function = getattr(import_module(module), name)
    for told in heard:
        child = os.fork()
        if child == 0:
            die_with_parent()
            line.close()
            function(**orjson.loads(told))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        line.sendall(orjson.dumps(os.waitstatus_to_exitcode(status)) + b"\n")


if __name__ == "__main__":
    listen(sys.argv[1])
