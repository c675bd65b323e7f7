"""Where the audit trails of organisations end, remembered by a process that is the only one to write."""

import threading

from preceptor.domain.ids import OrgId
from preceptor.domain.log import Head

Ends = dict[OrgId, Head]
MOST_TRAILS = 10_000


class Trails:
    """What the database would answer if it were asked, or nothing.

    The thread that made this is the one in which transactions are written and most of them read. Between two of its
    batches the writer's view is what is committed, so a reader in that thread may go by it, and add what it looked up.
    From a batch's first step until its commit is settled no one knows what a reader would see, and what other threads
    see may change while they look; they ask the database. After a batch that was undone that is so until the next one.
    """

    __slots__ = ("_ends", "_moving", "_thread")

    def __init__(self) -> None:
        self._ends: Ends = {}
        self._moving = False
        self._thread = threading.get_ident()

    def for_reading(self) -> Ends:
        return {} if self._moving or threading.get_ident() != self._thread else self._ends

    def for_writing(self) -> Ends:
        """From now on only the writer knows."""
        self._moving = True
        return self._ends

    def settle(self) -> None:
        """What was written is committed."""
        self._moving = False
        if len(self._ends) > MOST_TRAILS:
            self._ends.clear()

    def forget(self) -> None:
        """What was written, or a part of it, is undone."""
        self._ends.clear()
