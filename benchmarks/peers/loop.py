"""What all peers share: an event loop, and which conversation comes next."""

import asyncio
from pathlib import Path

from benchmarks.said import Shape


class InLoop:
    """Turns of conversations in which `history` messages were said, in a folder of its own."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        self.folder, self.shape, self.history, self.kind = folder, shape, shape.history, shape.kind
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
        conversations = [str(self.made + one) for one in range(1, self.shape.conversations(count) + 1)]
        for conversation in conversations:
            self.loop.run_until_complete(self.seed(conversation))
        self.made += len(conversations)
        self.order = self.shape.order(conversations, count)

    def run(self, count: int) -> None:  # noqa: ARG002 - as many as were prepared
        self.loop.run_until_complete(self._turns())

    async def _turns(self) -> None:
        at_once = self.shape.at_once
        for first in range(0, len(self.order), at_once):
            some = [self.turn(one) for one in self.order[first : first + at_once]]
            await (some[0] if at_once == 1 else asyncio.gather(*some))

    def close(self) -> None:
        self.loop.run_until_complete(self.leave())
        self.loop.close()

    async def leave(self) -> None: ...
