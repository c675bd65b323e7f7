"""A proxy in front of PostgreSQL that loses, holds back and cuts what goes through it, over real sockets."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

END = b""
WRITES = b"INSERT"
"""What is asked on the first few occasions by those who change something; later by a name that it has then."""
Treat = Callable[[bytes], Awaitable[bytes]]
"""What becomes of some bytes; the connection is cut if nothing does."""


class Proxy:
    """At first it hands on everything. What it does to bytes can be changed at any time."""

    def __init__(self, port: int) -> None:
        self.cuts = 0
        self._port = port
        self._writers: set[asyncio.StreamWriter] = set()
        self._questions, self._answers = asyncio.Event(), asyncio.Event()
        self.behave()

    @property
    def open(self) -> bool:
        return bool(self._writers)

    def behave(self) -> None:
        self._questions.set()
        self._answers.set()
        self._lost: bytes | None = None
        self._unanswered: bytes | None = None

    def hold_questions(self) -> None:
        self._questions.clear()

    def hold_answers(self) -> None:
        self._answers.clear()

    def lose(self, word: bytes) -> None:
        """Every question with this word, of those who write, never arrives, and its connection is cut."""
        self._lost = word

    def leave_unanswered(self, word: bytes) -> None:
        """Every such question arrives; its answer does not, and its connection is cut."""
        self._unanswered = word

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, there = await asyncio.open_connection("127.0.0.1", self._port)
        mine, writes, unanswered = {writer, there}, asyncio.Event(), asyncio.Event()
        self._writers |= mine

        async def ask(asked: bytes) -> bytes:
            await self._questions.wait()
            if WRITES in asked:
                writes.set()
            if writes.is_set() and self._unanswered and self._unanswered in asked:
                unanswered.set()
            return END if writes.is_set() and self._lost and self._lost in asked else asked

        async def answer(said: bytes) -> bytes:
            await self._answers.wait()
            return END if unanswered.is_set() else said

        pumps = [asyncio.create_task(one) for one in (pump(reader, there, ask), pump(answers, writer, answer))]
        try:
            await asyncio.wait(pumps, return_when="FIRST_COMPLETED")
        finally:
            for one in mine:
                one.transport.abort()
            for one in pumps:
                one.cancel()
            await asyncio.wait(pumps)
            self.cuts += 1
            self._writers -= mine


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, treat: Treat) -> None:
    with suppress(ConnectionError):
        while (read := await reader.read(65_536)) and (kept := await treat(read)):
            writer.write(kept)
            await writer.drain()


@asynccontextmanager
async def proxy(port: int) -> AsyncGenerator[tuple[Proxy, int]]:
    """In front of a port of this machine: the proxy, and its own port."""
    made = Proxy(port)
    server = await asyncio.start_server(made.carry, "127.0.0.1", 0)
    try:
        yield made, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        made.behave()
        while made.open:
            made.cut()
            await asyncio.sleep(0.01)
