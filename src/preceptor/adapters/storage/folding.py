"""Folding SQLite's write-ahead log into its file, in a thread beside the writer, so that no commit has to do it."""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

PAGES = 7_000
"""Of the log, folded together: busy ones are then copied once, not often."""
CHANGES = 2_400
"""Rows whose changes fill so many pages, as long as nobody has seen how many do."""
ROUND = 2**32
"""SQLite counts rows in a number that goes on below zero once it is full."""


class Folding:
    """First what is there is folded, while more is written; then, while the writer waits, what little has come since.

    Only a log that is folded to its end begins anew, so without the second step it would grow for ever.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._thread = ThreadPoolExecutor(1, "preceptor-fold")
        self._connection = self._thread.submit(connect).result()
        self._going: asyncio.Future[int] | None = None
        self._changes = 0
        """How many rows had been changed when the log began."""
        self._enough = CHANGES

    @property
    def goes_on(self) -> bool:
        return self._going is not None

    async def after(self, changes: int) -> None:
        """The writer has changed so many rows in all, and writes no more before this returns."""
        new = (changes - self._changes) % ROUND
        if self._going is None and new >= self._enough:
            self._going = self._begin()
            self._enough = new
        elif self._going is not None and self._going.done():
            self._enough = min(self._enough * PAGES // self._going.result(), 2 * self._enough)
            await self._begin()
            self._going, self._changes = None, changes

    def close(self) -> None:
        self._thread.shutdown()
        self._connection.close()

    def _begin(self) -> asyncio.Future[int]:
        return asyncio.get_running_loop().run_in_executor(self._thread, self._fold)

    def _fold(self) -> int:
        """Answers with the pages that the log had. Where they are not all in the file now, since someone reads them or
        folds them too, they say nothing of the rows: it is tried again after as many.
        """
        with suppress(sqlite3.Error):
            _, pages, folded = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if pages == folded > 0:
                return pages
        return PAGES
