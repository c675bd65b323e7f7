"""The real clock, real identifiers and real secrets."""

import secrets
import string
import time
from datetime import UTC, datetime

from preceptor.adapters.randomness import random_bytes

_HANDLE = string.ascii_lowercase + string.digits


class RealWorld:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def new_id(self) -> str:
        """A version 7 UUID: it sorts by time, so an index on it stays compact."""
        milliseconds = time.time_ns() // 1_000_000
        value = milliseconds << 80 | int.from_bytes(random_bytes(10))
        value = value & ~(0xF000 << 64) | 0x7000 << 64
        value = value & ~(0xC000 << 48) | 0x8000 << 48
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def new_secret(self) -> str:
        """256 random bits, 43 characters that are safe in an address."""
        return secrets.token_urlsafe(32)

    def new_handle(self) -> str:
        """12 characters that name something in public."""
        return "".join(secrets.choice(_HANDLE) for _ in range(12))
