"""A guard server that misbehaves on request: real HTTP on loopback."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from preceptor.adapters.egress import Egress, door_to
from preceptor.adapters.guardians.mosec import mosec_guardian
from preceptor.adapters.guardians.remote import Patience, RemoteGuardian
from preceptor.adapters.guardians.vllm import vllm_guardian

QUICK = Patience(timeout=0.2, retries=1, overall=1.0)
PATIENT = Patience(timeout=5, retries=1, overall=8)
HANG = object()
SLOW = object()


def as_completion(said: Any, finish: str = "stop") -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": finish}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice]}).encode()


def vllm_says(level: str = "Safe", categories: str = "None") -> bytes:
    return as_completion(f"Safety: {level}\nCategories: {categories}")


def mosec_says(level: str = "Safe", *categories: str) -> bytes:
    return json.dumps({"safety_level": level, "categories": categories, "is_safe": level == "Safe"}).encode()


def response(status: int, body: bytes, kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


Answer = Callable[[dict[str, Any]], bytes | object]


@dataclass
class GuardServer:
    """What it was sent, and what it answers: the function is given the request's JSON."""

    port: int = 0
    answer: Answer = field(default=lambda _: response(200, b"{}"))
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    paths: list[str] = field(default_factory=list[str])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(
                int(line.split(":")[1]) for line in head.splitlines() if line.lower().startswith("content-length")
            )
            body = json.loads(await reader.readexactly(length))
            self.asked.append(body)
            self.paths.append(head.split(" ")[1])
            await self._reply(self.answer(body), reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _reply(self, answer: bytes | object, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if answer is HANG:
            await reader.read()
        elif answer is SLOW:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            await writer.drain()
            await reader.read()
        elif isinstance(answer, bytes):
            writer.write(answer)
            await writer.drain()


@asynccontextmanager
async def guard_server(answer: Answer | bytes) -> AsyncGenerator[GuardServer]:
    guard = GuardServer(answer=answer if callable(answer) else lambda _: answer)
    server = await asyncio.start_server(guard.serve, "127.0.0.1", 0)
    guard.port = server.sockets[0].getsockname()[1]
    try:
        yield guard
    finally:
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def asking(provider: str, url: str, patience: Patience = PATIENT) -> AsyncGenerator[RemoteGuardian]:
    egress = Egress((door_to(url, private=True),))
    if provider == "vllm":
        guardian = vllm_guardian(url, "Qwen/Qwen3Guard-Gen-4B", egress, patience)
    else:
        guardian = mosec_guardian(f"{url}/v1/guard", egress, patience)
    try:
        yield guardian
    finally:
        await guardian.close()
