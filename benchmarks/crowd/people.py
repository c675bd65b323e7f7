"""People who talk: each says something, listens to the whole answer, and says the next thing.

Run in a process of its own: `python -m benchmarks.crowd.people`, groups of people on standard input, what they heard on
standard output. Whoever is refused comes again later, and remembers how long that took and whether the refusal was one
that a program can act upon.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import uvloop

DELTA, COMPLETED = b"event: message.delta", b"event: turn.completed"
ENDINGS = (COMPLETED, b"event: turn.failed", b"event: turn.blocked", b"event: turn.cancelled", b"event: turn.clarify")
LENGTH = 10
"""Turns of a conversation, before someone begins another."""
PATIENCE = 120.0
"""Seconds in which an answer must have ended."""


@dataclass(frozen=True)
class Group:
    """People of one organisation."""

    name: str
    ports: tuple[int, ...]
    key: str
    people: int
    seconds: float
    """So long they begin new turns; what has begun is heard to its end."""
    pause: float = 0.0
    """Seconds between an answer and the next thing said."""
    most: int = 1_000_000
    """Turns that each asks for at most."""
    ramp: float = 2.0
    """Seconds over which they come, one after the other."""
    asking: bool = False
    """They only ask which agents there are, and never start a turn."""
    conversation: str | None = None
    """Where they talk, if not each in a conversation of their own."""
    patience: float | None = None
    """Seconds before someone refused comes again, if not as many as they were told."""


@dataclass
class Heard:
    """What a group heard. Times are in seconds."""

    turns: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Completed: each its conversation and itself."""
    answered: int = 0
    added: list[float] = field(default_factory=list[float])
    """Until the first token, but for what the model itself took."""
    whole: list[float] = field(default_factory=list[float])
    refusals: dict[str, int] = field(default_factory=dict[str, int])
    refused_in: list[float] = field(default_factory=list[float])
    refused_of: list[str] = field(default_factory=list[str])
    """The conversations in which a turn was refused."""
    errors: list[str] = field(default_factory=list[str])
    seconds: float = 0.0

    def percentile(self, which: str, share: float) -> float:
        found = sorted(getattr(self, which))
        return found[min(len(found) - 1, int(len(found) * share))] if found else 0.0


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes = b""


class Line:
    """One connection to a server, opened again if it was closed."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self.key = port, key
        self.reader: asyncio.StreamReader | None = None

    async def send(self, method: str, path: str, body: dict[str, Any] | None = None, accept: str = "*/*") -> Answer:
        raw = b"" if body is None else json.dumps(body).encode()
        kind = "Content-Type: application/json\r\n" if raw else ""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.key}\r\nAccept: {accept}\r\n"
        )
        if self.reader is None or self.reader.at_eof():
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writer.write(f"{head}{kind}Content-Length: {len(raw)}\r\n\r\n".encode() + raw)
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = (line.partition(":") for line in lines[1:] if line)
        return Answer(int(lines[0].split()[1]), {name.lower(): value.strip() for name, _, value in pairs})

    async def whole(self, method: str, path: str, body: dict[str, Any] | None = None) -> Answer:
        answer = await self.send(method, path, body)
        answer.body = b"".join([piece async for piece in self.pieces(answer)])
        return answer

    async def pieces(self, answer: Answer):
        assert self.reader is not None
        if "content-length" in answer.headers:
            yield await self.reader.readexactly(int(answer.headers["content-length"]))
            return
        while size := int(await self.reader.readline(), 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readline()

    def close(self) -> None:
        if self.reader is not None:
            self.writer.close()


class Person:
    def __init__(self, group: Group, number: int, heard: Heard) -> None:
        self.group, self.heard = group, heard
        self.line = Line(group.ports[number % len(group.ports)], group.key)
        self.wait = group.ramp * number / max(1, group.people)
        self.conversation, self.said = group.conversation, 0

    async def talk(self, until: float) -> None:
        await asyncio.sleep(self.wait)
        left = self.group.most
        while left and time.perf_counter() < until:
            try:
                async with asyncio.timeout(PATIENCE):
                    refused = await (self._ask() if self.group.asking else self._say())
            except (OSError, EOFError, TimeoutError, ValueError, KeyError) as error:
                self.heard.errors.append(repr(error)[:200])
                refused = 1.0
                self.line.close()
                self.line = Line(self.line.port, self.line.key)
            left -= refused is None
            await asyncio.sleep(self.group.pause if refused is None else refused)
        self.line.close()

    async def _ask(self) -> float | None:
        began = time.perf_counter()
        answer = await self.line.whole("GET", "/api/agents")
        return self._refused(answer, began) if answer.status != 200 else self._heard(began)

    def _heard(self, began: float) -> None:
        self.heard.answered += 1
        self.heard.whole.append(time.perf_counter() - began)

    async def _say(self) -> float | None:
        began = time.perf_counter()
        if self.conversation is None:
            made = await self.line.whole("POST", "/api/conversations", {"agentId": "assistant"})
            if made.status != 201:
                return self._refused(made, began)
            self.conversation = json.loads(made.body)["conversationId"]
        path, said = f"/api/conversations/{self.conversation}/messages", {"content": "Where is my order?"}
        began = time.perf_counter()
        answer = await self.line.send("POST", path, said, "text/event-stream")
        if answer.status != 200:
            answer.body = b"".join([piece async for piece in self.line.pieces(answer)])
            self.heard.refused_of.append(self.conversation)
            return self._refused(answer, began)
        await self._listen(answer, began)
        self.said += 1
        if self.said % LENGTH == 0:
            self.conversation = self.group.conversation
        return None

    async def _listen(self, answer: Answer, began: float) -> None:
        ending, first = b"", 0.0
        async for piece in self.line.pieces(answer):
            if not first and DELTA in piece:
                first = time.perf_counter() - began
                self.heard.added.append(first - _own(piece))
            if any(mark in piece for mark in ENDINGS):
                ending = piece
        self.heard.whole.append(time.perf_counter() - began)
        if COMPLETED not in ending:
            self.heard.errors.append(f"ended so: {ending[-300:]!r}")
            return
        told = json.loads(ending[ending.index(b"data: ", ending.index(COMPLETED)) + 6 :].split(b"\n")[0])
        self.heard.turns.append((told["conversationId"], told["turnId"]))

    def _refused(self, answer: Answer, began: float) -> float:
        """How long to wait before the next try. A refusal that is none of ours is an error."""
        told: dict[str, Any] = json.loads(answer.body or b"{}")
        waits = answer.headers.get("retry-after", "")
        if answer.status not in {429, 503} or not waits.isdecimal() or "code" not in told:
            self.heard.errors.append(f"{answer.status} {waits} {answer.body[:200]!r}")
            return 1.0
        kind = f"{answer.status} {told['code']}"
        self.heard.refusals[kind] = self.heard.refusals.get(kind, 0) + 1
        self.heard.refused_in.append(time.perf_counter() - began)
        return float(waits) if self.group.patience is None else self.group.patience


def _own(piece: bytes) -> float:
    """The seconds that the model says it took itself."""
    data = piece[piece.index(b"data: ", piece.index(DELTA)) + 6 :].split(b"\n")[0]
    return float(str(json.loads(data)["text"]).split()[0])


async def gather(groups: Sequence[Group]) -> dict[str, Heard]:
    found = {group.name: Heard() for group in groups}
    await asyncio.gather(*(_meet(group, found[group.name]) for group in groups))
    return found


async def _meet(group: Group, heard: Heard) -> None:
    began = time.perf_counter()
    people = [Person(group, number, heard) for number in range(group.people)]
    await asyncio.gather(*(person.talk(began + group.seconds) for person in people))
    heard.seconds = time.perf_counter() - began


def meet(*groups: Group) -> dict[str, Heard]:
    """Let them talk, in a process of its own. What they heard comes by a file: a pipe has been seen to lose the end."""
    command = [sys.executable, "-m", "benchmarks.crowd.people"]
    with tempfile.TemporaryFile() as heard:
        subprocess.run(command, input=msgspec.json.encode(groups), stdout=heard, check=True)
        heard.seek(0)
        return msgspec.json.decode(heard.read(), type=dict[str, Heard])


def main() -> None:
    groups = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Group])
    sys.stdout.buffer.write(msgspec.json.encode(uvloop.run(gather(groups))))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
