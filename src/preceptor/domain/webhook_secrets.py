"""The secrets of a webhook: how they sign, and how a new one takes the place of an old one.

Signatures follow the Standard Webhooks convention, which allows several: for a while both secrets sign.
"""

import base64
import hashlib
import hmac
from datetime import datetime

import msgspec

from preceptor.domain.errors import Conflict
from preceptor.domain.times import from_micros, to_micros

SECRET_PREFIX = "whsec_"  # noqa: S105 - it says what the rest is
OVERLAP_HOURS = 24
LONGEST_OVERLAP_HOURS = 168
MOST_FORMER = 4
"""Secrets that still sign beside the newest."""
TOO_MANY = "{} former secrets still sign. Wait until one ends, or rotate without an overlap: that ends them all."


def secret_of(random: str) -> str:
    """256 bits in the form that libraries for the convention take."""
    return SECRET_PREFIX + base64.b64encode(hashlib.sha256(random.encode()).digest()).decode()


class Former(msgspec.Struct, frozen=True):
    secret: str
    until: datetime


class Keyring(msgspec.Struct, frozen=True):
    """The secrets that messages to one webhook are signed with."""

    newest: str
    former: tuple[Former, ...] = ()

    @classmethod
    def read(cls, plain: bytes) -> "Keyring":
        newest, *lines = plain.decode().split("\n")
        former = (line.split(" ") for line in lines)
        return cls(newest, tuple(Former(secret, from_micros(int(until))) for secret, until in former))

    def written(self) -> bytes:
        """As it is sealed: the newest, and on a line of its own each former one with when it ends."""
        return "\n".join([self.newest, *(f"{one.secret} {to_micros(one.until)}" for one in self.former)]).encode()

    def rotated(self, secret: str, now: datetime, until: datetime) -> "Keyring":
        """With a new secret. Those that signed until now end then, or sooner if they were to."""
        signing = [Former(self.newest, until), *(Former(one.secret, min(one.until, until)) for one in self.former)]
        former = tuple(one for one in signing if one.until > now)
        if len(former) > MOST_FORMER:
            raise Conflict(TOO_MANY.format(MOST_FORMER))
        return Keyring(secret, former)

    def at(self, now: datetime) -> tuple[str, ...]:
        """Those that sign at this moment, the newest first."""
        return self.newest, *(one.secret for one in self.former if one.until > now)


def signed(secrets: tuple[str, ...], id_: str, at: datetime, body: bytes) -> dict[str, str]:
    """The headers by which a receiver knows that it was we who sent exactly this, and when."""
    stamp = str(int(at.timestamp()))
    said = f"{id_}.{stamp}.".encode() + body
    return {
        "Content-Type": "application/json",
        "webhook-id": id_,
        "webhook-timestamp": stamp,
        "webhook-signature": " ".join(_signature(secret, said) for secret in secrets),
    }


def _signature(secret: str, said: bytes) -> str:
    mac = hmac.digest(base64.b64decode(secret.removeprefix(SECRET_PREFIX)), said, "sha256")
    return f"v1,{base64.b64encode(mac).decode()}"
