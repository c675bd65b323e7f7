"""Places: how many turns a process takes at once, and how organisations share them."""

import msgspec

from preceptor.domain.errors import Busy
from preceptor.domain.ids import OrgId, TurnId

MOST = 256
SHARE = 4
"""An organisation may have so many times what is free: alone four fifths, and whoever comes next finds room."""
SOON = 1
"""Seconds after which it is worth trying again."""


class TooManyTurns(Busy):
    retry_after: int = SOON

    def __str__(self) -> str:
        return (
            "This server is taking as many turns at once as it may for you. Nothing was kept of this one; try again in "
            f"{self.retry_after} s, or raise PRECEPTOR_MAX_TURNS_AT_ONCE."
        )


class Places(msgspec.Struct):
    most: int = MOST
    turns: dict[TurnId, OrgId] = {}
    held: dict[OrgId, int] = {}

    def take(self, turn_id: TurnId, org: OrgId) -> None:
        """A place for a turn that is about to be accepted, if there is one."""
        free = self.most - len(self.turns)
        if free <= 0 or self.held.get(org, 0) >= SHARE * free:
            raise TooManyTurns
        self.keep(turn_id, org)

    def keep(self, turn_id: TurnId, org: OrgId) -> None:
        """A place for a turn that was accepted before, whether there is one or not."""
        if turn_id not in self.turns:
            self.turns[turn_id] = org
            self.held[org] = self.held.get(org, 0) + 1

    def leave(self, turn_id: TurnId) -> None:
        org = self.turns.pop(turn_id, None)
        if org is None:
            return
        self.held[org] -= 1
        if not self.held[org]:
            del self.held[org]
