"""W5: GET by id and POST with a durable commit over HTTP, 16 connections, beside the bare floor and the usual stack."""

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from benchmarks.slow_disk import FLUSH, slower_disk

CONNECTIONS = 16
SERVERS = ("raw", "raw_group", "sqlalchemy", "preceptor")
ITEM = {"name": "n1", "body": "Instruction body text. " * 20, "priority": 3, "tags": ["a", "b"]}
CONVERSATION = {
    "agentId": "assistant",
    "title": "n1",
    "metadata": {key: ITEM[key] for key in ("body", "priority", "tags")},
}
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Server:
    name: str
    port: int
    process: subprocess.Popen[bytes]
    read: str = "/items/500"
    write: str = "/items"
    item: dict[str, object] | None = None
    key: str = ""

    def request(self, kind: str) -> bytes:
        body = json.dumps(self.item or ITEM).encode() if kind == "POST" else b""
        path = self.write if kind == "POST" else self.read
        lines = [f"{kind} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
        lines += ["Content-Type: application/json"] if body else []
        lines += [f"Authorization: Bearer {self.key}"] if self.key else []
        return "\r\n".join([*lines, "", ""]).encode() + body

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK


@dataclass(frozen=True, slots=True)
class Measured:
    rate: float
    p99: float
    cpu: float


def start(name: str, folder: Path) -> Server:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / name).mkdir()
    command = [sys.executable, "-m", "benchmarks.api_servers", name, str(port), str(folder / name)]
    server = Server(name, port, subprocess.Popen(command))
    _await_port(server)
    if name == "preceptor":
        server.key, server.write, server.item = "benchmark", "/api/conversations", CONVERSATION
        server.read = f"/api/conversations/{_first_conversation(server)}"
    return server


def _await_port(server: Server) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", server.port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"{server.name} did not start")


def _first_conversation(server: Server) -> str:
    headers = {"Authorization": "Bearer benchmark", "Content-Type": "application/json"}
    url = f"http://127.0.0.1:{server.port}{server.write}"
    request = urllib.request.Request(url, json.dumps(CONVERSATION).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["conversationId"]


def measure(server: Server, kind: str, count: int) -> Measured:
    before = server.cpu()
    command = [sys.executable, "-m", "benchmarks.load", str(server.port), str(CONNECTIONS), str(count)]
    done = subprocess.run(command, input=server.request(kind), capture_output=True, check=True)
    found = json.loads(done.stdout)
    assert set(found["statuses"]) == {"200" if kind == "GET" else "201"}, (server.name, found["statuses"])
    return Measured(found["rate"], found["p99"], (server.cpu() - before) / count)


def main() -> list[str]:
    lines = ["On this disk as it is:", *measured(("GET", "POST"), rounds=5, count=2000)]
    with slower_disk() as slow:
        if not slow:
            return lines
        told = f"On a disk whose flush takes {FLUSH / 1000:.0f} ms longer:"
        return [*lines, told, *measured(("POST",), rounds=3, count=1000)]


def measured(kinds: tuple[str, ...], rounds: int, count: int) -> list[str]:
    folder = Path(tempfile.mkdtemp(prefix="preceptor-bench-"))
    servers = [start(name, folder) for name in SERVERS]
    lines: list[str] = []
    try:
        for kind in kinds:
            found: dict[str, list[Measured]] = {server.name: [] for server in servers}
            for server in servers:
                measure(server, kind, count // 4)
            for turn in range(rounds):
                for server in servers[turn % 4 :] + servers[: turn % 4]:
                    found[server.name].append(measure(server, kind, count))
            lines += report(kind, found)
    finally:
        for server in servers:
            server.process.terminate()
            server.process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)
    return lines


def report(kind: str, found: dict[str, list[Measured]]) -> list[str]:
    def ratio(of: str, to: str, what: str) -> float:
        pairs = zip(found[of], found[to], strict=True)
        return statistics.median(getattr(a, what) / getattr(b, what) for a, b in pairs)

    def median(name: str, what: str) -> float:
        return statistics.median(getattr(m, what) for m in found[name])

    lines = [
        f"{kind:<4} {name:<10} {median(name, 'rate'):>7.0f} req/s  p99 {median(name, 'p99') * 1e3:>6.1f} ms"
        f"  {median(name, 'cpu') * 1e6:>6.0f} µs CPU"
        for name in found
    ]
    if kind == "GET":
        lines.append(f"GET:  {ratio('preceptor', 'raw', 'cpu'):.2f}x the CPU of the bare floor (goal <= 4)")
    else:
        lines.append(f"POST: {ratio('preceptor', 'raw', 'rate'):.2f}x the req/s of the bare floor (goal >= 1)")
    lines.append(f"{kind}: {ratio('preceptor', 'sqlalchemy', 'rate'):.2f}x the req/s of the usual stack (goal >= 4)")
    return lines


if __name__ == "__main__":
    print("\n".join(main()))
