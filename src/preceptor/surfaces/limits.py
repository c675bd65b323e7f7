"""Rate limits: a bucket of tokens per key and per organisation, in this process."""

import math
import time
from collections.abc import Callable

import msgspec

from preceptor.domain.errors import Busy
from preceptor.domain.ownership import Caller

BURST = 4
"""A bucket holds this many seconds' worth."""
MOST_BUCKETS = 50_000


class Buckets(msgspec.Struct):
    """Refilled by the monotonic clock: changing the time of day neither fills nor empties them."""

    rate: float
    clock: Callable[[], float] = time.monotonic
    levels: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> float:
        """Take a token; return 0, or how many seconds until there is one."""
        now = self.clock()
        most = max(1.0, self.rate * BURST)
        level, then = self.levels.get(name, (most, now))
        level = min(most, level + (now - then) * self.rate)
        if level < 1:
            return (1 - level) / self.rate
        if len(self.levels) >= MOST_BUCKETS and name not in self.levels:
            self._forget_full(now)
        self.levels[name] = (level - 1, now)
        return 0.0

    def _forget_full(self, now: float) -> None:
        """A bucket that has filled up again is the same as none."""
        self.levels = {name: seen for name, seen in self.levels.items() if now - seen[1] < BURST}


class Limits(msgspec.Struct, frozen=True):
    per_key: Buckets
    per_org: Buckets

    def check(self, caller: Caller) -> None:
        org = caller.owner.org_id
        wait = self.per_key.take(f"{org}/{caller.credential}/{caller.owner.user_id}") or self.per_org.take(org)
        if wait:
            raise Busy(retry_after=max(1, math.ceil(wait)))
