"""The real clock, real identifiers and real secrets."""

import secrets
import string
import time
from datetime import UTC, datetime

from preceptor.adapters.randomness import random_bytes

_HANDLE = string.ascii_lowercase + string.digits
_VARIANT = {digit: "89ab"[int(digit, 16) % 4] for digit in string.hexdigits}
"""The two bits that every UUID has in its seventeenth digit, beside two of its own."""


class RealWorld:
    _stamp = 0
    """Of the id that was made last, in 4096ths of a millisecond."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def new_id(self) -> str:
        """A version 7 UUID: it sorts by time, and after every id made here before, so a list by id is in order.

        An index on it stays compact. Where the clock stands still or goes back, the ids go on.
        """
        stamp = self._stamp = max(self._stamp + 1, time.time_ns() * 4096 // 1_000_000)
        first, rest = f"{stamp:015x}", random_bytes(8).hex()
        return f"{first[:8]}-{first[8:12]}-7{first[12:]}-{_VARIANT[rest[0]]}{rest[1:4]}-{rest[4:]}"

    def new_secret(self) -> str:
        """256 random bits, 43 characters that are safe in an address."""
        return secrets.token_urlsafe(32)

    def new_handle(self) -> str:
        """12 characters that name something in public."""
        return "".join(secrets.choice(_HANDLE) for _ in range(12))
