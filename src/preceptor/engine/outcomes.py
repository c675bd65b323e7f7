"""Outcomes: what people say became of a conversation, and what they think of an answer."""

from typing import Any

import msgspec
import orjson

from preceptor.domain.errors import Invalid, NotFound, phrased
from preceptor.domain.experiments.metrics import COMPUTED, RATING, RESOLUTION
from preceptor.domain.experiments.shown import MessageRating, NewMessageRating, NewOutcome, Outcome
from preceptor.domain.ids import ConversationId, MessageId, StreamId
from preceptor.domain.log import NewEvent
from preceptor.domain.messages.message import Role
from preceptor.domain.value import made
from preceptor.engine.repositories.experiments import Signal
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import Session


class Outcomes(msgspec.Struct, frozen=True):
    session: Session

    async def tell(self, conversation_id: ConversationId, given: NewOutcome | None = None, **fields: Any) -> Outcome:
        """Say what became of a conversation. Of each user and metric the last word counts."""
        new = made(NewOutcome, given, fields)
        _require_telling(new)

        async def program(work: Work) -> Outcome:
            conversation = await found(work, self.session.caller, conversation_id, archived=True)
            signal = Signal(conversation_id, new.metric, self.session.caller.owner.user_id, float(new.value))
            await _write_down(work, "outcome.told", signal)
            return Outcome(metric=new.metric, value=new.value, conversation_id=conversation.conversation_id)

        return await self.session.write(program)

    async def rate(self, message_id: MessageId, given: NewMessageRating | None = None, **fields: Any) -> MessageRating:
        """Say what you think of an answer, from 1 to 5. Of each user the last word counts."""
        new = made(NewMessageRating, given, fields)

        async def program(work: Work) -> MessageRating:
            there = await work.messages.find(message_id)
            conversation_id, message = (there[0], there[2]) if there else (ConversationId(""), None)
            if message is None:
                raise NotFound("message", message_id)
            await found(work, self.session.caller, conversation_id, archived=True)
            if message.role is not Role.ASSISTANT:
                raise Invalid(phrased("Only what an assistant said can be rated. Name one of its messages."))
            user = self.session.caller.owner.user_id
            await _write_down(work, "message.rated", Signal(conversation_id, RATING, user, new.score, message_id))
            return MessageRating(score=new.score, message_id=message_id, conversation_id=conversation_id)

        return await self.session.write(program)


def _require_telling(new: NewOutcome) -> None:
    if new.metric in COMPUTED or new.metric == RATING:
        raise Invalid(f"{new.metric} is measured here, and cannot be told. Choose another name.")
    if new.metric == RESOLUTION and not 0 <= float(new.value) <= 1:
        raise Invalid("A conversation is resolved or not: say true or false, or a share from 0 to 1.")


async def _write_down(work: Work, kind: str, signal: Signal) -> None:
    await work.signals.tell(signal)
    told = {"metric": signal.metric, "value": signal.value, "by": signal.user_id, "about": signal.about}
    await work.log.append(StreamId(signal.conversation_id), [NewEvent(kind, orjson.dumps(told).decode())])
