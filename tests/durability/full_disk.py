"""A process that works until its disk is full, goes on reading, and writes again when there is room.

`python -m tests.durability.full_disk MODE FOLDER` prints what it was told and leaves without closing anything.
"""

import asyncio
import os
import resource
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx2
import orjson

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.storage.driving import SqliteExecutor
from preceptor.adapters.storage.work import SqlWork
from preceptor.domain.ownership import SYSTEM
from preceptor.engine.repositories.work import Work
from tests.conftest import ADMIN_KEY, client_of

AT_ONCE = 8
Limit = Callable[[Preceptor], Awaitable[None]]


@dataclass
class Disk:
    """A way to run out of room, and a way to get it back."""

    fill: Limit
    free: Limit


def file_size(offset: int) -> Disk:
    """No file may grow more than `offset` bytes beyond the largest there is now."""

    async def fill(preceptor: Preceptor) -> None:
        largest = max(path.stat().st_size for path in preceptor.settings.data_dir.iterdir())
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + offset, resource.RLIM_INFINITY))

    async def free(_: Preceptor) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    return Disk(fill, free)


def page_count() -> Disk:
    async def allow(preceptor: Preceptor, more: int) -> None:
        async def program(work: Work) -> None:
            assert isinstance(work, SqlWork)
            assert isinstance(work.executor, SqliteExecutor)
            [pages] = work.executor.cursor.execute("PRAGMA page_count").fetchone()
            work.executor.cursor.execute(f"PRAGMA max_page_count={pages + more}")

        await preceptor.session.store.write(SYSTEM.owner, program)

    return Disk(lambda preceptor: allow(preceptor, 1000), lambda preceptor: allow(preceptor, 100_000))


def small_disk() -> Disk:
    """The folder is on a disk of a few megabytes: another file takes what is left of it."""

    async def fill(preceptor: Preceptor) -> None:
        folder = preceptor.settings.data_dir
        left = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        (folder / "other").write_bytes(bytes(left - 4_000_000))

    async def free(preceptor: Preceptor) -> None:
        (preceptor.settings.data_dir / "other").unlink()

    return Disk(fill, free)


DISKS = {
    "a limit on file size, at once": file_size(1),
    "a limit on file size, in the middle of a page": file_size(4_000_007),
    "a limit on file size, after a checkpoint": file_size(40_000_000),
    "a limit on pages": page_count(),
    "a small disk": small_disk(),
}


@dataclass
class Session:
    http: httpx2.AsyncClient
    history: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    known: list[str] = field(default_factory=list[str])
    statuses: Counter[int] = field(default_factory=Counter[int])
    names: "count[int]" = field(default_factory=count)

    async def write(self) -> int:
        title = f"c{next(self.names)}"
        self.history.append({"did": "invoke", "title": title})
        body = {"title": title, "metadata": {"text": "x" * 100_000}}
        if self.known and len(self.history) % 2:
            answer = await self.http.patch(f"/api/conversations/{self.known[-1]}", json=body)
        else:
            answer = await self.http.post("/api/conversations", json=body | {"agentId": "assistant"})
        self.statuses[answer.status_code] += 1
        if answer.is_success:
            told = answer.json()
            self.history.append({"did": "ok", "title": title, "id": told["conversationId"], "seq": told["revision"]})
            self.known.append(told["conversationId"])
        else:
            assert answer.json()["code"] == "disk_full", answer.text
        return answer.status_code

    async def write_some(self) -> list[int]:
        return await asyncio.gather(*(self.write() for _ in range(AT_ONCE)))

    async def read(self) -> int:
        listed = await self.http.get("/api/conversations")
        read = await self.http.get(f"/api/conversations/{self.known[-1]}")
        return max(listed.status_code, read.status_code)


async def work(disk: Disk, folder: Path) -> dict[str, object]:
    settings = Settings.load(
        data_dir=folder,
        admin_key=ADMIN_KEY,
        secret_key="s" * 32,
        access_log=False,
        rate_limit_per_key=1e6,
        rate_limit_per_org=1e6,
    )
    opened = open_preceptor(settings)
    preceptor = await opened.__aenter__()
    session = Session(client_of(preceptor))
    before = await session.write_some()
    await disk.fill(preceptor)
    while 507 not in await session.write_some():
        assert session.statuses[201] < 1000, "the disk never became full"
    full, reads = await session.write_some(), await session.read()
    await disk.free(preceptor)
    after = await session.write_some()
    return {"before": before, "full": full, "reads": reads, "after": after, "history": session.history}


if __name__ == "__main__":
    report = asyncio.new_event_loop().run_until_complete(work(DISKS[sys.argv[1]], Path(sys.argv[2])))
    sys.stdout.buffer.write(orjson.dumps(report))
    sys.stdout.flush()
    os._exit(0)
