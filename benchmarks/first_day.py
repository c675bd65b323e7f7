"""What a newcomer waits for: the import, the first `--help`, a server that is ready, and what that holds when idle.

Each is a process of its own; they take turns. LiteLLM is measured where `PRECEPTOR_BENCH_LITELLM` names its command,
LangGraph where `PRECEPTOR_BENCH_LANGGRAPH` names a Python that has it: its library brings no command and no server.
"""

import os
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 3
PATIENCE = 120.0
LITELLM = os.environ.get("PRECEPTOR_BENCH_LITELLM")
LANGGRAPH = os.environ.get("PRECEPTOR_BENCH_LANGGRAPH")
COMMAND = str(Path(sys.executable).with_name("preceptor"))
ALONE = os.environ | {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # or it would wait for a network
    "LITELLM_LOG": "ERROR",
    "LITELLM_MASTER_KEY": f"sk-{secrets.token_hex(32)}",
    "PYTHONDONTWRITEBYTECODE": "",
}
CONFIG = """
model_list:
  - model_name: m
    litellm_params: {model: openai/m, api_base: "http://127.0.0.1:9/v1", api_key: x}
"""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cost:
    wall: float
    cpu: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.wall:>6.2f} s {self.cpu:>6.2f} s CPU {self.megabytes:>5.0f} MB"


def commands() -> dict[str, list[str]]:
    """What ends by itself."""
    found = {
        "import preceptor": [sys.executable, "-c", "import preceptor"],
        "import litellm": [str(LITELLM and Path(LITELLM).with_name("python")), "-c", "import litellm"],
        "import langgraph.graph": [str(LANGGRAPH), "-c", "import langgraph.graph"],
        "preceptor --help": [COMMAND, "--help"],
        "litellm --help": [str(LITELLM), "--help"],
    }
    return {name: command for name, command in found.items() if command[0] != "None"}


def servers(folder: Path, port: int) -> dict[str, tuple[list[str], str]]:
    """What stays, and where it says that it is ready."""
    config = folder / "config.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    at = ["--host", "127.0.0.1", "--port", str(port)]
    found = {"preceptor serve": ([COMMAND, "serve", *at, "--data-dir", str(folder)], "/readyz")}
    if LITELLM:
        found["litellm proxy"] = ([LITELLM, "--config", str(config), *at], "/health/liveliness")
    return found


def run(command: list[str]) -> Cost:
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ALONE)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    assert status == 0, command
    return Cost(time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def start(name: str) -> Cost:
    """To the first answer that says ready, in a new folder; its memory is what it holds a second later."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
        probe.close()
        command, path = servers(Path(folder), port)[name]
        began = time.monotonic()
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ALONE, start_new_session=True
        )
        try:
            while not _ready(f"http://127.0.0.1:{port}{path}"):
                assert process.poll() is None, command
                assert time.monotonic() - began < PATIENCE, command
                time.sleep(0.02)
            wall, cpu = time.monotonic() - began, _cpu(process.pid)
            time.sleep(1)
            return Cost(wall, cpu, _megabytes(process.pid))
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=30)


def _ready(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def main() -> list[str]:
    measured: dict[str, list[Cost]] = {}
    with tempfile.TemporaryDirectory() as folder:
        waiting = list(servers(Path(folder), 0))
    for number in range(ROUNDS + 1):
        for name, command in commands().items():
            cost = run(command)
            if number:  # the first round fills caches
                measured.setdefault(name, []).append(cost)
        if number:
            for name in waiting:
                measured.setdefault(name, []).append(start(name))
    return report({name: _median(costs) for name, costs in measured.items()})


def _median(costs: list[Cost]) -> Cost:
    return Cost(
        *(statistics.median(values) for values in zip(*((c.wall, c.cpu, c.megabytes) for c in costs), strict=True))
    )


def report(found: dict[str, Cost]) -> list[str]:
    load = os.getloadavg()[0]
    served = found["preceptor serve"]
    goals = [
        (
            "import preceptor",
            f"{found['import preceptor'].cpu:.2f} s CPU",
            found["import preceptor"].cpu <= 0.3,
            "0.3 s",
        ),
        (
            "preceptor --help",
            f"{found['preceptor --help'].cpu:.2f} s CPU",
            found["preceptor --help"].cpu <= 0.5,
            "0.5 s",
        ),
        ("ready, new folder", f"{served.wall:.2f} s, {served.cpu:.2f} s CPU", served.wall <= 3, "3 s"),
        ("idle memory", f"{served.megabytes:.0f} MB", served.megabytes <= 150, "150 MB"),
    ]
    lines = [f"{name:<24} {cost}" for name, cost in found.items()]
    lines += [f"{what}: {said} (goal <= {goal}: {'met' if met else 'missed'})" for what, said, met, goal in goals]
    return [*lines, f"load of the machine meanwhile: {load:.1f} on {os.cpu_count()} cores"]


if __name__ == "__main__":
    print("\n".join(main()))
