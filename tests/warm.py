"""`preceptor` in processes that cost little: a parent imports everything once, then forks for every command.

What runs is what the installed script runs, with the arguments, the environment, the folder and the three files that
it is given. Only the second and a half in which Python reads the code is not spent again.

Run as `python -m tests.warm SOCKET`; it ends when its standard input does. With more arguments it is the command that
they say, carried out by whoever listens there: so a shell script can use it, too.
"""

import array
import atexit
import gc
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
USED = (
    "alembic.command",
    "alembic.runtime.migration",
    "preceptor.adapters.models.openai_compatible",
    "preceptor.adapters.storage.migrations.fence",
    "preceptor.adapters.storage.postgres",
    "preceptor.app",
    "preceptor.surfaces.cli.main",
    "preceptor.surfaces.http",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite",
    "uvicorn",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
)
"""What commands import when they come to it."""
Files = tuple[int | None, int, int]
"""Standard input, if there is any, standard output and standard error."""
_code: list[int] = []
"""What the command ends with, once that is known."""


class Warm:
    """A command that was started. It is asked and told what a `subprocess.Popen` is."""

    def __init__(self, arguments: list[str], cwd: Path, env: dict[str, str], files: Files, address: str = "") -> None:
        self.returncode: int | None = None
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(address or parent())
        told = json.dumps({"arguments": arguments, "cwd": str(cwd), "env": env}).encode()
        with Path(os.devnull).open("rb") as nothing:
            given = array.array("i", [nothing.fileno() if file is None else file for file in files])
            self._line.sendmsg([len(told).to_bytes(4, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, given)])
        self._line.sendall(told)
        self._said = self._line.makefile("rb")
        self.pid = int(self._said.readline())

    def poll(self) -> int | None:
        return (
            self._code() if self.returncode is None and select.select([self._line], [], [], 0)[0] else self.returncode
        )

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._line], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("preceptor", timeout or 0.0)
            self._code()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # gone, and its parent has not said so yet
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _code(self) -> int:
        self.returncode = int(self._said.readline())
        self._said.close()
        self._line.close()
        return self.returncode


def run(arguments: list[str], cwd: Path, env: dict[str, str], timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Carry out a command to its end, as `subprocess.run` would."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = Warm(arguments, cwd, env, (None, out.fileno(), err.fileno())).wait(timeout)
        said = [os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode() for file in (out, err)]
    return subprocess.CompletedProcess(arguments, code, *said)


def parent() -> str:
    """Where the one that forks commands listens."""
    return parent_in("tests.warm")


@cache
def parent_in(module: str) -> str:
    """Where the one parent of this test run listens that is run as this module. It ends with the run."""
    folder = tempfile.TemporaryDirectory(prefix="preceptor-parent-")
    address = str(Path(folder.name, "socket"))
    command = [sys.executable, "-m", module, address]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    atexit.register(_end, process, folder)
    return address


def _end(process: "subprocess.Popen[bytes]", folder: "tempfile.TemporaryDirectory[str]") -> None:
    for pipe in (process.stdin, process.stdout):
        assert pipe
        pipe.close()
    process.wait(timeout=10)
    folder.cleanup()


def serve(address: str) -> None:
    atexit.register(leave)  # before anything else is, so it is what a command does last
    for name in USED:
        import_module(name)
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while sys.stdin not in (ready := select.select([sys.stdin, listening], [], [])[0]):
            assert ready
            line, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                look_after(line)
                return
            line.close()
            bury()


def bury() -> None:
    """Let those go that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def look_after(line: socket.socket) -> None:
    """Fork once more, for the command itself, and tell how it ends."""
    size, ancillary, _, _ = line.recvmsg(4, socket.CMSG_SPACE(3 * 4))
    files = array.array("i", ancillary[0][2])
    with line.makefile("rb") as heard:
        told = json.loads(heard.read(int.from_bytes(size, "big")))
    child = os.fork()
    if child == 0:
        line.close()
        become(told, files)
        carry_out()
        return
    line.sendall(b"%d\n" % child)
    _, status = os.waitpid(child, 0)
    with suppress(ConnectionError):
        line.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def become(told: dict[str, Any], files: "array.array[int]") -> None:
    for standard, given in enumerate(files):
        os.dup2(given, standard)
        os.close(given)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8")
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.BufferedWriter(io.FileIO(file, "w", closefd=False)), encoding="utf-8", line_buffering=lines)
        for file, lines in ((1, os.isatty(1)), (2, True))
    )
    os.chdir(told["cwd"])
    os.environ.clear()
    os.environ.update(told["env"])
    sys.argv = ["preceptor", *told["arguments"]]


def carry_out() -> None:
    try:
        import_module("preceptor.surfaces.cli.main").run()
    except SystemExit as ended:
        _code.append(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
        raise


def leave() -> None:
    """End as Python does, but do not clear away what the parent has read: each page of it would be copied first."""
    if _code:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_code[0])


if __name__ == "__main__":
    if sys.argv[2:]:
        sys.exit(Warm(sys.argv[2:], Path.cwd(), {**os.environ}, (0, 1, 2), sys.argv[1]).wait())
    serve(sys.argv[1])
