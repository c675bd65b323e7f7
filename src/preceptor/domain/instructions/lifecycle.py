"""The life of an instruction version."""

from enum import StrEnum
from typing import ClassVar

from preceptor.domain.errors import Conflict


class Status(StrEnum):
    DRAFT = "draft"
    ACTIVE = "active"
    DEPRECATED = "deprecated"
    ARCHIVED = "archived"


MOVES: dict[Status, frozenset[Status]] = {
    Status.DRAFT: frozenset({Status.ACTIVE}),
    Status.ACTIVE: frozenset({Status.DEPRECATED}),
    Status.DEPRECATED: frozenset({Status.ARCHIVED}),
    Status.ARCHIVED: frozenset({Status.DRAFT}),
}
IN_FORCE = frozenset({Status.ACTIVE, Status.DEPRECATED})
"""What agents are told. A deprecated version still speaks, with a warning."""


class CannotMove(Conflict):
    code: ClassVar[str] = "conflict"
    before: Status = Status.DRAFT
    after: Status = Status.DRAFT

    def __str__(self) -> str:
        allowed = ", ".join(sorted(MOVES[self.before]))
        return f"A version that is {self.before} cannot become {self.after}. From here it can become: {allowed}."


def may_move(before: Status, after: Status) -> bool:
    return after in MOVES[before]


def require_move(before: Status, after: Status) -> None:
    if not may_move(before, after):
        raise CannotMove(before=before, after=after)
