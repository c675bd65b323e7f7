"""Webhooks: who is told when something happens, and in which words."""

import hashlib
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import orjson
from pydantic import AwareDatetime, Field, StringConstraints

from preceptor.domain.ids import OrgId, StreamId
from preceptor.domain.providers import Url
from preceptor.domain.value import ANY_TEXT, Json, Revised, Value, left_out

GONE = 410
"""An answer that means: never again."""
LONGEST_PAUSE = 6 * 3600.0
GROWTH = 4
MOST = 100
"""Webhooks of one organisation."""
OUTBOX = StreamId("outbox")
"""Heard of like a stream when there is more to send; it is not in the log."""


class Happening(StrEnum):
    """What a webhook can be told of."""

    VERSION_PUBLISHED = "version.published"
    """A version of an instruction came into force."""
    LABEL_MOVED = "label.moved"
    EXPERIMENT_ENDED = "experiment.ended"
    TURN_BLOCKED = "turn.blocked"


TEST = "webhook.test"
"""What is sent by someone who wants to see whether anything arrives."""

Happenings = Annotated[tuple[Happening, ...], Field(min_length=1, max_length=len(Happening))]
Note = Annotated[str, StringConstraints(max_length=200, pattern=ANY_TEXT)]


class NewWebhook(Value):
    url: Url = Field(description="Where to post. The operator must allow it in PRECEPTOR_EGRESS_ALLOW.")
    events: Happenings = Field(default=tuple(Happening), description="What to be told of. Default: everything.")
    description: Note = ""


class WebhookChange(Value):
    """What to change; what is left out stays. For another address, add another webhook."""

    events: Happenings = left_out()
    description: Note = left_out()
    enabled: bool = left_out()


class Webhook(Revised):
    """A webhook as it may be shown: all but the secret."""

    webhook_id: str
    url: str
    events: tuple[Happening, ...]
    description: str
    enabled: bool
    disabled_because: str | None = Field(default=None, description="Why it was switched off, where we did that.")
    old_secrets_end_at: AwareDatetime | None = Field(
        default=None, description="Until when messages are signed with former secrets too, where it has had any."
    )
    created_at: AwareDatetime
    updated_at: AwareDatetime
    revision: int

    def context(self, org: OrgId) -> bytes:
        """What its secret is sealed for: whoever moves it to another address or another row cannot open it."""
        return f"webhook/{org}/{self.webhook_id}/{self.url}".encode()


class MadeWebhook(Webhook):
    """A webhook with a new secret. `secret` is shown this once."""

    secret: str = Field(description="What our signatures are made with. Keep it where the messages are checked.")


class DeliveryStatus(StrEnum):
    PENDING = "pending"
    """It will be tried, or tried again."""
    DELIVERED = "delivered"
    FAILED = "failed"


class Attempt(Value):
    """What came of posting it once."""

    at: AwareDatetime
    ok: bool
    sentence: str = Field(description="What was answered, or what went wrong.")
    seconds: float


class Delivery(Value):
    """One message to one webhook."""

    delivery_id: str = Field(description="Sent as `webhook-id`, the same each time it is tried.")
    webhook_id: str
    event: str
    status: DeliveryStatus = DeliveryStatus.PENDING
    attempts: int = 0
    last_attempt: Attempt | None = None
    next_attempt_at: AwareDatetime | None = None
    created_at: AwareDatetime
    payload: dict[str, Json]


_SHOWN = {
    Happening.VERSION_PUBLISHED: ("familyId", "instructionId", "version"),
    Happening.LABEL_MOVED: ("familyId", "label", "before", "after"),
    Happening.EXPERIMENT_ENDED: ("experimentId", "name", "status", "agentIds", "decision"),
}
"""What those outside are told of an entry of the audit trail."""


def told_of(kind: str, facts: dict[str, Any]) -> tuple[Happening, dict[str, Any]] | None:
    """What an entry of the audit trail means to those outside; most mean nothing."""
    match kind:
        case "instruction.created" | "instruction.revised" | "instruction.restored" | "instruction.status_moved":
            event = Happening.VERSION_PUBLISHED if facts["status"] == "active" else None
        case "instruction.label_moved":
            event = Happening.LABEL_MOVED
        case "experiment.ended" | "experiment.stopped" | "experiment.promoted":
            event = Happening.EXPERIMENT_ENDED
        case _:
            event = None
    return None if event is None else (event, {name: facts[name] for name in _SHOWN[event]})


def message(event: str, at: datetime, data: dict[str, Any]) -> bytes:
    """The body of a message. It is made once: what is signed and sent again are the same bytes."""
    return orjson.dumps({"type": event, "timestamp": at, "data": data}, option=orjson.OPT_UTC_Z)


def delivery_id(webhook_id: str, at_micros: int, row: bytes) -> str:
    """Made from the row of the log that says what happened, so that it is the same however often that is written.

    Ids grow with time, and the same row has another one for each webhook.
    """
    return f"msg_{at_micros:014x}{hashlib.sha256(webhook_id.encode() + row).hexdigest()[:18]}"


def pause_after(attempts: int, first: float) -> float:
    """Seconds until it is tried again: four times longer each time, and not longer than six hours."""
    return min(first * GROWTH ** (attempts - 1), LONGEST_PAUSE)
