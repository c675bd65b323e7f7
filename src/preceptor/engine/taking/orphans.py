"""Orphans: turns and tasks that are open, and that no process carries out any more."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol, TypeVar

from preceptor.domain.ids import OrgId
from preceptor.domain.ownership import SYSTEM
from preceptor.engine.means.errands import NOBODY
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session

SWEPT = 100
"""As many are taken up at once, at most."""


class Held(Protocol):
    """Something that one process carries out until its lease is over."""

    @property
    def worker(self) -> str: ...

    @property
    def lease(self) -> datetime: ...


Row = TypeVar("Row", bound=Held)
Expired = Callable[[datetime, str, int], Awaitable[list[tuple[OrgId, Row]]]]
"""Those whose lease is over by a moment, but for one worker's, and no more than so many."""


async def orphans(session: Session, expired: Callable[[Work], Expired[Row]], *, alone: bool) -> list[tuple[OrgId, Row]]:
    """All that other processes held where we are alone, else what has expired. What waits for a worker may wait."""
    means = session.means

    async def program(work: Work) -> list[tuple[OrgId, Row]]:
        before = work.now + means.lease + means.lease if alone else work.now
        found = await expired(work)(before, means.worker, SWEPT)
        return [one for one in found if one[1].worker != NOBODY or one[1].lease <= work.now]

    return await session.acting_as(SYSTEM).read(program)
