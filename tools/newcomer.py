"""Play the newcomer: from a clone to the first answer, with every command copied out of the README, and time each.

    python tools/newcomer.py            # with an empty download cache, then again with a full one
    python tools/newcomer.py --warm     # with this machine's own cache only

Exits with 1 when a command fails. The goals are for 2 cores of one's own; the load of the machine is printed with the
times, for whoever wants to judge them. Needs nothing but Python.
"""

import argparse
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
ADDRESS = "127.0.0.1:3003"
GOALS = {"cold": 300.0, "warm": 60.0}
PATIENCE = 1200.0
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "PYTHONDONTWRITEBYTECODE")
"""Variables that would make it another newcomer."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Play the newcomer of the README, and time each step.")
    parser.add_argument("--warm", action="store_true", help="only with the download cache that is there")
    warm_only = parser.parse_args().warm
    began, talked = commands((ROOT / "README.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="newcomer-") as folder:
        cache = {"UV_CACHE_DIR": f"{folder}/uv", "PIP_CACHE_DIR": f"{folder}/pip"}
        runs = {"warm": {}} if warm_only else {"cold": cache, "warm": cache}
        for name, more in runs.items():
            total = play(Path(folder) / name, began, talked, more)
            verdict = "met" if total <= GOALS[name] else "missed"
            load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
            print(f"{name}: {total:.1f} s to the first answer (goal {GOALS[name]:.0f} s: {verdict})")
            print(f"      {os.cpu_count()} cores, load {load}; everything else on this machine ran at the same time\n")
    return 0


def commands(readme: str) -> tuple[list[str], list[str]]:
    """The commands of the section Start: those up to the server, and those of the second terminal."""
    section = readme.partition("\n## Start\n")[2].partition("\n## ")[0]
    first, *rest = map(str, re.findall(r"^```bash\n(.*?)^```", section, re.DOTALL | re.MULTILINE))
    return first.splitlines(), "".join(rest).splitlines()


def play(folder: Path, began: list[str], talked: list[str], cache: dict[str, str]) -> float:
    """Seconds to the first answer. The folder is new, and goes away with everything in it."""
    folder.mkdir()
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if name not in KEYS and "PRECEPTOR" not in name}
    environment |= cache | {"REPOSITORY": str(ROOT), "PRECEPTOR_PORT": str(port), "NO_PROXY": "127.0.0.1"}
    *before, serve = began
    used = cpu()
    total = sum(timed(command, folder, environment) for command in before)
    inside = folder / "preceptor"
    with served(serve, inside, environment, port) as seconds:
        total += told(serve, seconds)
        first: float | None = None
        prelude = ""
        for command in talked:
            here = command.replace(ADDRESS, f"127.0.0.1:{port}")
            if command.startswith("export "):
                prelude += here + "\n"
                continue
            took = timed(prelude + here, inside, environment, shown=command)
            first = took if first is None else first
    shutil.rmtree(folder)
    print(f"          all of it together took {cpu() - used:.0f} s of CPU")
    return total + (first or 0.0)


def timed(command: str, folder: Path, environment: dict[str, str], shown: str | None = None) -> float:
    began = time.monotonic()
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = told(shown or command, time.monotonic() - began)
    answer = done.stdout.strip().splitlines()
    print(f"          {answer[0][:110] if answer else ''}")
    if done.returncode or ("curl" in command and '"choices"' not in done.stdout):
        sys.exit(f"failed with exit code {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return seconds


def cpu() -> float:
    """What every process that has ended has used: what this would take if nobody else wanted the machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def told(command: str, seconds: float) -> float:
    print(f"{seconds:7.1f} s  $ {command[:110]}", flush=True)
    return seconds


@contextmanager
def served(command: str, folder: Path, environment: dict[str, str], port: int) -> Iterator[float]:
    """The server, once it is ready; gives the seconds that took."""
    began = time.monotonic()
    process = subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while not ready(port):
            if process.poll() is not None or time.monotonic() - began > PATIENCE:
                sys.exit(f"`{command}` did not get ready (exit code {process.poll()})")
            time.sleep(0.05)
        yield time.monotonic() - began
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=30)


def ready(port: int) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main())
