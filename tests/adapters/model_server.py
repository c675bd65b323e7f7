"""A server on loopback that answers as it is told to: well, badly, slowly, or not at all."""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Answer = bytes | Behaviour


@dataclass
class ModelServer:
    answers: list[Answer]
    port: int = 0
    heads: list[str] = field(default_factory=list[str])
    bodies: list[bytes] = field(default_factory=list[bytes])
    connections: int = 0
    _serving: "set[asyncio.Task[None]]" = field(default_factory=set[asyncio.Task[None]])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def hang_up(self) -> None:
        tasks = list(self._serving)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while not await self._answer(reader, writer):
                    pass
        finally:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request. True if it was the last of its connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next((line for line in head.lower().splitlines() if line.startswith("content-length:")), ":0")
        self.heads.append(head)
        self.bodies.append(await reader.readexactly(int(length.partition(":")[2])))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if not isinstance(answer, bytes):
            await answer(reader, writer)
            return True
        writer.write(answer)
        await writer.drain()
        return not answer or b"connection: close" in answer.lower()


@asynccontextmanager
async def serving(*answers: Answer, tls: ssl.SSLContext | None = None) -> AsyncGenerator[ModelServer]:
    made = ModelServer(list(answers))
    server = await asyncio.start_server(made.accept, "127.0.0.1", 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        await made.hang_up()
        await server.wait_closed()


def http(status: int, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    """A whole answer, after which the connection can be used again."""
    lines = [f"HTTP/1.1 {status} Some Words", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def refusal(status: int, *headers: str, **error: Any) -> bytes:
    return http(status, json.dumps({"error": {"message": "no", **error}}).encode(), *headers)


def until_close(body: bytes) -> bytes:
    """A stream whose end is the end of the connection: where it is cut, nothing but its content can tell."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + body


def chunked(pieces: Iterable[bytes]) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


async def silence(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    """Never answers. Ends when the other side hangs up."""
    await reader.read()


def then_silence(start: bytes) -> Behaviour:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        await reader.read()

    return answer


def then_hang_up(start: bytes) -> Behaviour:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(start)

    return answer


async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Always something, and never an answer."""
    writer.write(until_close(b""))
    while not writer.is_closing():
        writer.write(b": still here\n\n")
        await writer.drain()
        await asyncio.sleep(0)
