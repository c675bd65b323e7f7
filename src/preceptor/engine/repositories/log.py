"""What the engine needs of the log, and of those who hear what is added to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from preceptor.domain.ids import StreamId
    from preceptor.domain.log import Event, Head, NewEvent, Told


class Log(Protocol):
    async def start(self, stream: StreamId, new: Sequence[NewEvent]) -> list[Event]: ...

    async def append(
        self, stream: StreamId, new: Sequence[NewEvent], *, epoch: int | None = None, take: bool = False
    ) -> list[Event]: ...

    async def take_over(self, stream: StreamId) -> int: ...

    async def hold(self, stream: StreamId) -> Head | None: ...

    async def head(self, stream: StreamId) -> Head | None: ...

    async def after(self, stream: StreamId, seq: int, limit: int) -> list[Event]: ...

    async def erase(self, stream: StreamId) -> int: ...

    async def grown(self, limit: int) -> list[Told]: ...

    async def tell(self, heads: Sequence[Told]) -> Event: ...

    async def mark_told(self, heads: Sequence[Told]) -> None: ...


class Tail(Protocol):
    """A reader of a stream that was read up to some row."""

    def take(self, after: int) -> list[Event]:
        """What has been added after that row, as far as it is known here; nothing where it must be read."""
        ...

    async def wait(self, after: int, patience: float) -> None:
        """Wait until there may be more, or for `patience` seconds."""
        ...

    async def heard(self, patience: float) -> None:
        """The same, for more of this process only."""
        ...
