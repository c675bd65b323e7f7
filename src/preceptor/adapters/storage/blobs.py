"""Texts kept by their hash, once: the system prompts and tool schemas that manifests refer to."""

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.blobs import GET, PUT, REMOVE


class SqlBlobs(msgspec.Struct, frozen=True):
    work: Transaction

    async def put(self, sha256: str, body: str) -> None:
        await self.work.put(PUT, sha256=sha256, body=body)

    async def get(self, sha256: str) -> str | None:
        row = await self.work.one(GET, sha256=sha256)
        return row[0] if row else None

    async def remove(self, sha256: str) -> None:
        await self.work.put(REMOVE, sha256=sha256)
