"""Sessions that people signed out of. A cookie is signed and needs no table; here we keep those that were given up."""

import hashlib
import time
from collections.abc import Callable

import msgspec

SESSION_SECONDS = 12 * 3600


class Sessions(msgspec.Struct):
    clock: Callable[[], float] = time.monotonic
    _over: dict[bytes, float] = {}

    def end(self, cookie: str) -> None:
        now = self.clock()
        self._over = {known: until for known, until in self._over.items() if until > now}
        self._over[_known_as(cookie)] = now + SESSION_SECONDS

    def is_over(self, cookie: str) -> bool:
        return _known_as(cookie) in self._over


def _known_as(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).digest()
