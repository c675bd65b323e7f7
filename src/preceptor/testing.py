"""Doubles for users' tests and ours: a world that never surprises."""

from datetime import UTC, datetime, timedelta
from itertools import count

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class SteadyWorld:
    """Ids count up from 1; the clock stands still until it is moved."""

    def __init__(self, now: datetime = EPOCH) -> None:
        self.time = now
        self._numbers = count(1)

    def now(self) -> datetime:
        return self.time

    def move(self, **by: float) -> None:
        """Move the clock, in either direction: `world.move(hours=25)`."""
        self.time += timedelta(**by)

    def new_id(self) -> str:
        return f"{next(self._numbers):036d}"

    def new_secret(self) -> str:
        return f"{next(self._numbers):043d}"

    def new_handle(self) -> str:
        return f"{next(self._numbers):012d}"
