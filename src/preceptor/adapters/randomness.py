"""Random bytes for ids and salts."""

import os
from collections import deque
from struct import Struct

_POOL: deque[tuple[bytes]] = deque()
_PIECE, _PIECES = Struct("16s"), 256
os.register_at_fork(after_in_child=_POOL.clear)  # or parent and child would draw the same


def random_bytes(count: int) -> bytes:
    """Up to 16 random bytes, from a pool: asking the kernel each time gives up the interpreter each time."""
    while True:
        try:
            return _POOL.popleft()[0][:count]
        except IndexError:
            _POOL.extend(_PIECE.iter_unpack(os.urandom(_PIECE.size * _PIECES)))
