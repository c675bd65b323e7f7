"""A model's server that speaks at the pace of a model, to as many at once as ask it.

Run in a process of its own: `python -m benchmarks.crowd.upstream TOKENS PER_SECOND`; its port goes out by stdout. The
first word of every answer is how many seconds passed here before it was said: whoever hears it knows what the way cost.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

import uvloop

from benchmarks.streaming_servers import HEAD, MODELS, piece

USAGE = b'data: {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 40}}\n\n'
LAST = [piece({}, "stop"), USAGE, b"data: [DONE]\n\n"]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


WORD = chunk(piece({"content": "word "}))
END = b"".join(map(chunk, LAST)) + b"0\r\n\r\n"


class Speaking(asyncio.Protocol):
    tokens: int
    every: float

    def __init__(self) -> None:
        self.buffer = b""
        self.next: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        lines = self.buffer[:head].lower().split(b"\r\n")
        length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")), 0)
        if len(self.buffer) < head + 4 + length:
            return
        listed, self.buffer = self.buffer.startswith(b"GET"), self.buffer[head + 4 + length :]
        if listed:
            self.transport.write(MODELS)
        else:
            self.began, self.said = time.perf_counter(), 0
            self._later()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if self.next is not None:
            self.next.cancel()

    def _later(self) -> None:
        self.next = asyncio.get_running_loop().call_later(self.every, self._say)

    def _say(self) -> None:
        self.said += 1
        if self.said == 1:
            spent = time.perf_counter() - self.began
            self.transport.write(HEAD + chunk(piece({"content": f"{spent:.6f} "})))
        else:
            self.transport.write(WORD)
        if self.said < self.tokens:
            self._later()
        else:
            self.transport.write(END)


async def serve(tokens: int, rate: float) -> None:
    Speaking.tokens, Speaking.every = tokens, 1 / rate
    server = await asyncio.get_running_loop().create_server(Speaking, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def speaking(tokens: int = 40, rate: float = 20) -> Generator[str]:
    """Its address, for as long as the block lasts."""
    command = [sys.executable, "-m", "benchmarks.crowd.upstream", str(tokens), str(rate)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), float(sys.argv[2])))
