"""A load generator for streams: N connections on 127.0.0.1, each asking again as soon as an answer has ended.

Run in a process of its own: `python -m benchmarks.streaming_load PORT CONNECTIONS COUNT`, the raw request on standard
input. Tells the rate, and the median time to the first piece of content.
"""

import asyncio
import json
import statistics
import sys
import time
from typing import cast

import uvloop

END = b"0\r\n\r\n"
CONTENT = (b'"content":"', b'"content": "')


class Connection(asyncio.Protocol):
    def __init__(self, load: "Load") -> None:
        self.load = load

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.next()

    def next(self) -> None:
        if self.load.left <= 0:
            self.transport.close()
            return
        self.load.left -= 1
        self.buffer, self.first, self.sent = b"", 0.0, time.perf_counter()
        self.transport.write(self.load.request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.first and any(_speaks(self.buffer, mark) for mark in CONTENT):
            self.first = time.perf_counter() - self.sent
        if self.buffer.endswith(END):
            self.load.count(self.buffer[9:12], self.first, time.perf_counter() - self.sent)
            self.next()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.load.closed()


def _speaks(buffer: bytes, mark: bytes) -> bool:
    """Whether a piece of content that is not empty has come."""
    place = buffer.find(mark)
    while place >= 0:
        after = buffer[place + len(mark) : place + len(mark) + 1]
        if after and after != b'"':
            return True
        place = buffer.find(mark, place + 1)
    return False


class Load:
    def __init__(self, request: bytes, count: int, connections: int) -> None:
        self.request, self.left, self.open = request, count, connections
        self.statuses: dict[str, int] = {}
        self.firsts: list[float] = []
        self.times: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def count(self, status: bytes, first: float, seconds: float) -> None:
        self.statuses[status.decode()] = self.statuses.get(status.decode(), 0) + 1
        self.firsts.append(first)
        self.times.append(seconds)

    def closed(self) -> None:
        self.open -= 1
        if not self.open and not self.done.done():
            self.done.set_result(None)


async def main(port: int, connections: int, count: int) -> None:
    load = Load(sys.stdin.buffer.read(), count, connections)
    began = time.perf_counter()
    for _ in range(connections):
        await asyncio.get_running_loop().create_connection(lambda: Connection(load), "127.0.0.1", port)
    await asyncio.wait_for(load.done, 300)
    seconds = time.perf_counter() - began
    told = {
        "rate": len(load.times) / seconds,
        "first": statistics.median(load.firsts),
        "whole": statistics.median(load.times),
        "statuses": load.statuses,
        "count": len(load.times),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
