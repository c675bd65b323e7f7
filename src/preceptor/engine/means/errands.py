"""Errands: what is to go on by itself, in whichever process has room for it. The log stays the truth of what it is."""

from typing import Protocol

import msgspec

from preceptor.domain.ids import OrgId, UserId

TURN = "turn"
NOBODY = ""
"""The worker of what waits to be taken up."""


class Errand(msgspec.Struct, frozen=True):
    """Something that waits to be taken up, as its stream stands now."""

    kind: str
    """A turn, or the kind of a task."""
    id: str
    org_id: OrgId
    user_id: UserId
    epoch: int
    """Of its stream. Whoever takes it up moves the epoch on, so whoever comes later finds that they are late."""

    @property
    def name(self) -> str:
        return f"{self.id}:{self.epoch}"


class Errands(Protocol):
    async def send(self, errand: Errand, *, again: bool = False) -> None:
        """Have it taken up once, wherever there is room; with `again`, although it was sent before and came to nothing.

        It never fails: what cannot be sent now is found by the watch, and sent then.
        """
        ...

    def neglected(self) -> tuple[str, ...] | None:
        """Queues into which this process has not looked lately; None where others take errands out of them."""
        ...
