"""How calls that leave the house can fail: before they were sent, or when nobody knows."""

from typing import ClassVar

from preceptor.domain.errors import Invalid, Upstream


class NotSent(Upstream):
    """Nothing has left: it can be tried again, whatever it does."""

    code: ClassVar[str] = "upstream_failed"
    sentence: str = "The address cannot be reached."

    def __str__(self) -> str:
        return f"{self.sentence} Nothing was sent; try again later."


class NoAnswer(Upstream):
    """It may have arrived."""

    code: ClassVar[str] = "upstream_failed"
    sentence: str = "No answer came; it may have arrived all the same."

    def __str__(self) -> str:
        return f"{self.sentence} Look there before you send it again."


class OutcomeUnknown(Upstream):
    """The process that called ended before it could say how that went."""

    code: ClassVar[str] = "outcome_unknown"

    def __str__(self) -> str:
        return (
            "It is not known whether this was sent: the process that did it ended before it could say so. It is not "
            "repeated by itself. Look there; if it did not arrive, retry the execution."
        )


class AnsweredNo(Upstream):
    """The other side answered, and not that all was well."""

    code: ClassVar[str] = "upstream_failed"
    status: int = 0

    def __str__(self) -> str:
        return f"The address answered {self.status}. Look there for the reason."

    @property
    def passes(self) -> bool:
        """Whether it may be otherwise a little later."""
        return self.status in (408, 425, 429) or self.status >= 500


class NoWebhooks(Invalid):
    sentence: str = "Webhooks are not set up here. Ask the operator to name the address in PRECEPTOR_EGRESS_ALLOW."
