"""A model's server that speaks just enough HTTP, to as many at once as ask it; in a process of its own."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import cast

WORDS = re.findall(
    r"\w+", "the order you asked about left our house this morning and will be there before the week ends"
)


def piece(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    told = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(told).encode() + b"\n\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


PIECES = [*(piece({"content": f"{word} "}) for word in WORDS), piece({}, "stop"), b"data: [DONE]\n\n"]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
STREAM = HEAD + b"".join(map(chunk, PIECES)) + b"0\r\n\r\n"
LISTED = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()
MODELS = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(LISTED), LISTED)


class Upstream(asyncio.Protocol):
    """Lists its models, and answers whatever else it is asked at once."""

    def __init__(self) -> None:
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (head := self.buffer.find(b"\r\n\r\n")) >= 0:
            lines = self.buffer[:head].lower().split(b"\r\n")
            length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")), 0)
            if len(self.buffer) < head + 4 + length:
                return
            listed, self.buffer = self.buffer.startswith(b"GET"), self.buffer[head + 4 + length :]
            if listed:
                self.transport.write(MODELS)
            else:
                self.answer()

    def answer(self) -> None:
        self.transport.write(STREAM)


async def serve(protocol: Callable[[], Upstream], port: int = 0) -> None:
    """Its port goes out by stdout."""
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", port, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def elsewhere(module: str, *arguments: str) -> Generator[str]:
    """The address of the server that a module runs, for as long as the block lasts."""
    with subprocess.Popen([sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()
