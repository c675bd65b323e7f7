"""The audit trail: who changed what, in the organisation's own stream of the log."""

from typing import Any

import orjson

from preceptor.domain.log import ORG_STREAM, NewEvent
from preceptor.domain.ownership import Caller
from preceptor.engine.ports import Work


async def note(work: Work, caller: Caller, kind: str, **facts: Any) -> None:
    """Write down a change beside the change itself, in the same transaction."""
    told = {"by": caller.owner.user_id, "credential": caller.credential, **facts}
    await work.log.append(ORG_STREAM, [NewEvent(kind, orjson.dumps(told).decode())])
