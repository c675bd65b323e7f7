"""A load generator: keeps N connections busy on 127.0.0.1 for a number of requests, then says what came back.

Run in a process of its own: `python -m benchmarks.load PORT CONNECTIONS COUNT` with the raw request on standard input.
"""

import asyncio
import json
import sys
import time
from typing import cast

import uvloop


class Connection(asyncio.Protocol):
    """Sends the next request as soon as the last answer is whole."""

    def __init__(self, load: "Load") -> None:
        self.load = load
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.next()

    def next(self) -> None:
        if self.load.left <= 0:
            self.transport.close()
            return
        self.load.left -= 1
        self.sent = time.perf_counter()
        self.transport.write(self.load.request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        lower = self.buffer[:head].lower()
        start = lower.index(b"content-length:") + 15
        length = int(lower[start : (lower + b"\r\n").index(b"\r\n", start)])
        if len(self.buffer) < head + 4 + length:
            return
        self.load.count(self.buffer[9:12], time.perf_counter() - self.sent)
        self.buffer = b""
        self.next()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.load.closed()


class Load:
    def __init__(self, request: bytes, count: int, connections: int) -> None:
        self.request, self.left, self.open = request, count, connections
        self.statuses: dict[str, int] = {}
        self.times: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def count(self, status: bytes, seconds: float) -> None:
        self.statuses[status.decode()] = self.statuses.get(status.decode(), 0) + 1
        self.times.append(seconds)

    def closed(self) -> None:
        self.open -= 1
        if not self.open:
            self.done.set_result(None)


async def main(port: int, connections: int, count: int) -> None:
    load = Load(sys.stdin.buffer.read(), count, connections)
    began = time.perf_counter()
    for _ in range(connections):
        await asyncio.get_running_loop().create_connection(lambda: Connection(load), "127.0.0.1", port)
    await asyncio.wait_for(load.done, 120)
    seconds = time.perf_counter() - began
    times = sorted(load.times)
    print(
        json.dumps(
            {
                "rate": len(times) / seconds,
                "p50": times[len(times) // 2],
                "p99": times[int(len(times) * 0.99)],
                "statuses": load.statuses,
            }
        )
    )


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
