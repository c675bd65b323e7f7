"""Random bytes for ids and salts."""

import os
from collections import deque

_POOL: deque[bytes] = deque()
_PIECE, _PIECES = 16, 256
os.register_at_fork(after_in_child=_POOL.clear)  # or parent and child would draw the same


def random_bytes(count: int) -> bytes:
    """Up to 16 random bytes, from a pool: asking the kernel each time gives up the interpreter each time."""
    while True:
        try:
            return _POOL.popleft()[:count]
        except IndexError:
            fresh = os.urandom(_PIECE * _PIECES)
            _POOL.extend(fresh[start : start + _PIECE] for start in range(0, len(fresh), _PIECE))
