"""A model's server that speaks at the pace of a model, to as many at once as ask it.

Run in a process of its own: `python -m benchmarks.crowd.upstream TOKENS PER_SECOND`; its port goes out by stdout. The
first word of every answer is how many seconds passed here before it was said: whoever hears it knows what the way cost.
"""

import asyncio
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

import uvloop

from benchmarks.upstream import HEAD, Upstream, chunk, elsewhere, piece, serve

USAGE = b'data: {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 40}}\n\n'
LAST = [piece({}, "stop"), USAGE, b"data: [DONE]\n\n"]
WORD = chunk(piece({"content": "word "}))
END = b"".join(map(chunk, LAST)) + b"0\r\n\r\n"


class Speaking(Upstream):
    tokens: int
    every: float
    next: asyncio.TimerHandle | None = None

    def answer(self) -> None:
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


@contextmanager
def speaking(tokens: int = 40, rate: float = 20) -> Generator[str]:
    """Its address, for as long as the block lasts."""
    with elsewhere("benchmarks.crowd.upstream", str(tokens), str(rate)) as url:
        yield url


if __name__ == "__main__":
    Speaking.tokens, Speaking.every = int(sys.argv[1]), 1 / float(sys.argv[2])
    uvloop.run(serve(Speaking))
