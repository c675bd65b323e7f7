"""Reading files beside everything else: a long PDF takes seconds, and others are waiting."""

import asyncio

from preceptor.wire.documents import UnreadableFile, kind_of, text_in

PATIENCE = 30.0


class InThread:
    async def read(self, declared: str, data: bytes) -> tuple[str, str | None]:
        """A file's media type, and its text unless it is a picture."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await asyncio.to_thread(_read, declared, data)
        except TimeoutError:
            raise UnreadableFile(f"This file takes longer than {PATIENCE:.0f} s to read. Send its text.") from None


def _read(declared: str, data: bytes) -> tuple[str, str | None]:
    kind = kind_of(declared, data)
    return kind, text_in(kind, data)
