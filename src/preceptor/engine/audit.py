"""The audit trail: who changed what, in the organisation's own stream of the log."""

from typing import Any

import orjson

from preceptor.domain.log import ORG_STREAM, NewEvent
from preceptor.domain.ownership import Caller
from preceptor.domain.webhooks import told_of
from preceptor.engine.announcing import announce
from preceptor.engine.repositories.work import Work


async def note(work: Work, caller: Caller, kind: str, **facts: Any) -> None:
    """Write down a change beside the change itself, in the same transaction, and for those who want to hear of it."""
    told = {"by": caller.owner.user_id, "credential": caller.credential, **facts}
    [event] = await work.log.append(ORG_STREAM, [NewEvent(kind, orjson.dumps(told).decode())])
    if (told_outside := told_of(kind, facts)) is not None:
        happening, data = told_outside
        await announce(work, happening, {"by": caller.owner.user_id, **data}, event.hash)
