"""A real server in a process of its own, which does what `preceptor serve` does."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from tests.warm import Warm

Process = subprocess.Popen[bytes] | Warm
COMMAND = str(Path(sys.executable).with_name("preceptor"))
PATIENCE = 30.0
"""Seconds a server may take to start, or to answer; stopping one may take 5."""

ADDRESS = re.compile(r"is running on (http\S+)")
LINK = re.compile(r"(http\S+/login\?token=\S+)")
WORKER = re.compile(r"is working as (\S+)\.")
ASKED_AT = re.compile(r"says how it is on (http\S+)/readyz")
LAST_WORD = "Ctrl-C"


@dataclass(frozen=True)
class Served:
    url: str
    admin_key: str
    process: Process
    data_dir: Path
    link: str
    """The sign-in link it printed; it works once."""
    printed: str
    """All that it said on standard output when it started."""
    log: Path
    """What it writes to standard error, for as long as the block lasts."""

    def client(self, key: str | None = None) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {key or self.admin_key}"}
        return httpx2.Client(base_url=self.url, headers=headers, trust_env=False, timeout=PATIENCE)


def serving(data_dir: Path, **environment: str) -> AbstractContextManager[Served]:
    """Run `preceptor serve` on a free port until the block ends. `environment` takes whole names, as the shell does."""
    return _serving(lambda env, files: Warm(["serve"], data_dir, env, (None, *files)), data_dir, environment)


def serving_installed(data_dir: Path, **environment: str) -> AbstractContextManager[Served]:
    """The same with the very script that a person starts, which reads all the code anew."""
    command = [COMMAND, "serve"]
    return _serving(
        lambda env, files: subprocess.Popen(command, stdout=files[0], stderr=files[1], cwd=data_dir, env=env),
        data_dir,
        environment,
    )


@contextmanager
def _serving(
    start: Callable[[dict[str, str], tuple[int, int]], Process], data_dir: Path, environment: dict[str, str]
) -> Generator[Served]:
    data_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="preceptor-serve-") as folder:
        said, logged = Path(folder, "stdout"), Path(folder, "stderr")
        with said.open("wb") as out, logged.open("wb") as err:
            process = start(clean(data_dir, **environment), (out.fileno(), err.fileno()))
        try:
            yield _started(process, said, logged, data_dir, environment)
        finally:
            end(process)


def clean(data_dir: Path, **environment: str) -> dict[str, str]:
    """This process's environment without its own PRECEPTOR_ variables, set for `data_dir` and a free port."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PRECEPTOR_")}
    return kept | {"PRECEPTOR_DATA_DIR": str(data_dir), "PRECEPTOR_PORT": "0"} | environment


def end(process: Process) -> None:
    """Stop a server that still runs, the hard way if it will not go."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def _started(process: Process, said: Path, logged: Path, data_dir: Path, environment: dict[str, str]) -> Served:
    deadline = time.monotonic() + PATIENCE
    while LAST_WORD not in (printed := said.read_text(encoding="utf-8")) or not _ready(printed):
        if process.poll() is not None or time.monotonic() > deadline:
            log = logged.read_text(encoding="utf-8")
            raise AssertionError(f"The server did not start (exit code {process.poll()}).\n{printed}\n{log}")
        time.sleep(0.02)
    address, link = ADDRESS.search(printed), LINK.search(printed)
    assert address, printed
    assert link, printed
    given = environment.get("PRECEPTOR_ADMIN_KEY")
    key = given or (data_dir / "admin.key").read_text(encoding="utf-8").strip()
    return Served(address[1], key, process, data_dir, link[1], printed, logged)


def _ready(printed: str) -> bool:
    address = ADDRESS.search(printed)
    if not address:
        return False
    try:
        return httpx2.get(f"{address[1]}/readyz", trust_env=False).status_code == 200
    except httpx2.TransportError:
        return False


@dataclass(frozen=True)
class Working:
    name: str
    process: Process
    url: str | None
    """Where it says how it is, if it has a port."""

    def client(self) -> httpx2.Client:
        assert self.url
        return httpx2.Client(base_url=self.url, trust_env=False)


@contextmanager
def working(data_dir: Path, **environment: str) -> Generator[Working]:
    """Run `preceptor worker` until the block ends."""
    data_dir.mkdir(parents=True, exist_ok=True)
    reading, writing = os.pipe()
    process = Warm(["worker"], data_dir, clean(data_dir, **environment), (None, writing, 2))
    os.close(writing)
    with os.fdopen(reading, "rb") as heard:
        try:
            said = heard.readline().decode()
            named = WORKER.search(said)
            assert named, f"The worker did not start: {said}"
            asked = ASKED_AT.search(heard.readline().decode()) if "PRECEPTOR_WORKER_PORT" in environment else None
            yield Working(named[1], process, asked and asked[1])
        finally:
            end(process)
