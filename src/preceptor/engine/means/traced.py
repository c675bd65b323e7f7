"""What a turn's spans are made of, and who is handed it."""

from typing import Protocol

import msgspec

from preceptor.domain.ids import ConversationId, TurnId
from preceptor.domain.log import Event
from preceptor.domain.prompts.prompt import Prompt


class TracedTurn(msgspec.Struct, frozen=True):
    """A turn that has ended: its events and, where contents are wanted, what each of its calls was shown."""

    turn_id: TurnId
    conversation_id: ConversationId
    events: tuple[Event, ...]
    prompts: dict[str, Prompt] | None


class TurnTracer(Protocol):
    @property
    def content(self) -> bool:
        """Whether it wants to know what was said."""
        ...

    def turn(self, traced: TracedTurn) -> None: ...
