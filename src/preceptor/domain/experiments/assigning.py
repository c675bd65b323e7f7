"""Who is in which arm: a keyed hash of the experiment and the unit. The same for ever, and no one can choose it."""

import hmac
from enum import StrEnum

PURPOSE = "experiment assignment"
"""What the key is derived for."""
_BITS = 64


class Arm(StrEnum):
    CONTROL = "control"
    VARIANT = "variant"

    @property
    def other(self) -> "Arm":
        return Arm.VARIANT if self is Arm.CONTROL else Arm.CONTROL


def place(key: bytes, experiment_id: str, unit: str) -> float:
    """A place from 0 up to 1, evenly spread over units."""
    digest = hmac.digest(key, f"{experiment_id}\n{unit}".encode(errors="surrogatepass"), "sha256")
    return int.from_bytes(digest[: _BITS // 8]) / 2**_BITS


def arm_of(key: bytes, experiment_id: str, unit: str, split: float) -> Arm:
    """`split` is the share of the variant."""
    return Arm.VARIANT if place(key, experiment_id, unit) < split else Arm.CONTROL
