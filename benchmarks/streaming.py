"""W5b: the OpenAI-compatible streaming path, beside a pass-through that keeps nothing, and LiteLLM's proxy.

LiteLLM is measured where `PRECEPTOR_BENCH_LITELLM` names its command, from an environment of its own.
"""

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

MESSAGES = [{"role": "system", "content": "s" * 800}, {"role": "user", "content": "Where is my order?"}]
TICK = os.sysconf("SC_CLK_TCK")
LITELLM = os.environ.get("PRECEPTOR_BENCH_LITELLM")
CONFIG = """model_list:
  - model_name: m
    litellm_params: {{model: openai/m, api_base: "{upstream}", api_key: sk-x}}
litellm_settings: {{telemetry: false}}
general_settings: {{disable_spend_logs: true}}
"""


@dataclass(slots=True)
class Server:
    name: str
    port: int
    process: subprocess.Popen[bytes]
    model: str
    key: str = "x"

    @property
    def request(self) -> bytes:
        body = json.dumps({"model": self.model, "stream": True, "messages": MESSAGES}).encode()
        lines = ["POST /v1/chat/completions HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {self.key}"]
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}", "", ""]
        return "\r\n".join(lines).encode() + body

    def cpu(self) -> float:
        return sum(map(_ticks, family(self.process.pid))) / TICK


@dataclass(frozen=True, slots=True)
class Measured:
    rate: float
    first: float
    whole: float
    cpu: float


def family(pid: int) -> list[int]:
    """A process and all that it started."""
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in told for one in family(int(child)))]


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def start(name: str, folder: Path, upstream: str) -> Server:
    port, home = free_port(), folder / name
    home.mkdir()
    if name == "litellm":
        (home / "config.yaml").write_text(CONFIG.format(upstream=upstream))
        command = [str(LITELLM), "--config", str(home / "config.yaml"), "--host", "127.0.0.1", "--port", str(port)]
        quiet = {"LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION"}
        with (home / "log").open("wb") as log:
            told = os.environ | quiet | {"LITELLM_MASTER_KEY": "sk-x"}
            process = subprocess.Popen([*command, "--num_workers", "1"], env=told, stdout=log, stderr=log)
        server = Server(name, port, process, "m", "sk-x")
    else:
        command = [sys.executable, "-m", "benchmarks.streaming_servers", name, str(port), str(home), upstream]
        key = {"preceptor": "benchmark"}.get(name, "x")
        model = {"preceptor": "assistant"}.get(name, "m")
        server = Server(name, port, subprocess.Popen(command), model, key)
    _await_port(server)
    return server


def _await_port(server: Server) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and server.process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", server.port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit(f"{server.name} did not start")


def measure(server: Server, connections: int, count: int) -> Measured:
    before = server.cpu()
    command = [sys.executable, "-m", "benchmarks.streaming_load", str(server.port), str(connections), str(count)]
    done = subprocess.run(command, input=server.request, capture_output=True, check=True)
    found = json.loads(done.stdout)
    assert set(found["statuses"]) == {"200"}, (server.name, found["statuses"])
    return Measured(found["rate"], found["first"], found["whole"], (server.cpu() - before) / count)


def main() -> list[str]:
    folder = Path(tempfile.mkdtemp(prefix="preceptor-bench-"))
    servers = [start("upstream", folder, "-")]
    upstream = f"http://127.0.0.1:{servers[0].port}/v1"
    names = ["passthrough", "preceptor", *(["litellm"] if LITELLM else [])]
    lines: list[str] = []
    try:
        servers.extend(start(name, folder, upstream) for name in names)
        for server in servers[1:]:
            measure(server, 4, 40)
        for connections, rounds in ((1, 5), (16, 5)):
            found: dict[str, list[Measured]] = {server.name: [] for server in servers}
            for turn in range(rounds):
                for server in servers[turn % len(servers) :] + servers[: turn % len(servers)]:
                    slow = server.name == "litellm"
                    count = 40 if slow else 200 if connections == 1 else 600
                    found[server.name].append(measure(server, connections, count))
            lines += report(connections, found)
    finally:
        for server in servers:
            server.process.terminate()
            server.process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)
    return lines


def report(connections: int, found: dict[str, list[Measured]]) -> list[str]:
    def median(name: str, what: str) -> float:
        return statistics.median(getattr(one, what) for one in found[name])

    def paired(of: str, to: str, what: str) -> list[tuple[float, float]]:
        return [(getattr(a, what), getattr(b, what)) for a, b in zip(found[of], found[to], strict=True)]

    def ratio(of: str, to: str, what: str) -> float:
        return statistics.median(a / max(b, 1e-9) for a, b in paired(of, to, what))

    lines = [f"{connections} at once:"]
    lines += [
        f"  {name:<12} {median(name, 'rate'):>7.0f} req/s  first {median(name, 'first') * 1e3:>7.2f} ms"
        f"  whole {median(name, 'whole') * 1e3:>7.2f} ms  {median(name, 'cpu') * 1e3:>7.2f} ms CPU"
        for name in found
    ]
    lines.append(f"  {ratio('preceptor', 'passthrough', 'cpu'):.1f}x the CPU of the pass-through (goal <= 6)")
    if connections == 1:
        added = statistics.median(a - b for a, b in paired("preceptor", "upstream", "first"))
        lines.append(f"  {added * 1e3:.1f} ms added to the first token (goal <= 5)")
    if "litellm" in found:
        lines.append(f"  {ratio('preceptor', 'litellm', 'rate'):.1f}x LiteLLM's req/s (goal >= 15 at 16)")
        lines.append(f"  {ratio('litellm', 'preceptor', 'cpu'):.1f}x less CPU than LiteLLM")
    return lines


if __name__ == "__main__":
    print("\n".join(main()))
