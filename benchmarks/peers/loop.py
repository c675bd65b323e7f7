"""What all peers share: an event loop, and which conversation comes next."""

import asyncio
from pathlib import Path


class InLoop:
    """Turns of conversations in which `history` messages were said, in a folder of its own."""

    def __init__(self, folder: Path, history: int, kind: str) -> None:
        self.folder, self.history, self.kind = folder, history, kind
        self.made = 0
        self.order: list[str] = []
        self.loop = asyncio.new_event_loop()
        self.loop.run_until_complete(self.open())

    async def open(self) -> None: ...

    async def seed(self, conversation: str) -> None:
        raise NotImplementedError

    async def turn(self, conversation: str) -> None:
        raise NotImplementedError

    def prepare(self, count: int) -> None:
        each = max(1, self.history // 20)
        self.order = []
        for _ in range(-(-count // each)):
            self.made += 1
            self.loop.run_until_complete(self.seed(str(self.made)))
            self.order += [str(self.made)] * each
        del self.order[count:]

    def run(self, count: int) -> None:  # noqa: ARG002 - as many as were prepared
        self.loop.run_until_complete(self._turns())

    async def _turns(self) -> None:
        for conversation in self.order:
            await self.turn(conversation)

    def close(self) -> None:
        self.loop.run_until_complete(self.leave())
        self.loop.close()

    async def leave(self) -> None: ...
