"""Trying: one question put to a model with nothing before it. Accounted for like any call, and written nowhere."""

from collections.abc import Callable
from contextlib import aclosing

import msgspec

from preceptor.domain.ids import ConversationId, MessageId, TurnId
from preceptor.domain.messages.message import Kind, Message, Role, Text, texts
from preceptor.domain.prompts.assemble import Passage, assemble
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.prompts.prompt import Ask, Prompt, Request
from preceptor.domain.prompts.reply import Fault, ModelFailure, Reply, Usage
from preceptor.domain.reasoning.verdict import Gate, gate
from preceptor.engine.ports import ChatModel, TokenCounter
from preceptor.engine.session import Session
from preceptor.engine.telling.compiled import Told
from preceptor.engine.telling.voice import system_of
from preceptor.engine.turn.failing import TurnUnguarded

Heard = Callable[[str], None]
"""Is told the answer as it comes."""
NOWHERE = "trial"
WITHHELD = "(The safety check withheld this: nothing was put to the model.)"


class Answered(msgspec.Struct, frozen=True):
    text: str
    usage: Usage


class Tried(msgspec.Struct, frozen=True):
    """What is tried: a compiled set of instructions, and the model that reads it."""

    session: Session
    model: ChatModel
    counter: TokenCounter
    told: Told

    async def answer(self, text: str, heard: Heard | None = None) -> Answered:
        if await self._blocked(text):
            return Answered(WITHHELD, Usage())
        reply = await self._reply(self.model.render(self._prompt(text), Ask(model=self.model.name)), heard)
        return Answered(texts(reply.parts), reply.usage)

    def _prompt(self, text: str) -> Prompt:
        message = Message(
            id=MessageId(NOWHERE),
            conversation_id=ConversationId(NOWHERE),
            turn_id=TurnId(NOWHERE),
            role=Role.USER,
            kind=Kind.MESSAGE,
            parts=(Text(text),),
            instructions=(),
            tokens=self.counter.count(text),
            created_at=self.session.world.now(),
        )
        overhead = self.model.capabilities.message_overhead
        said = Passage([Placed(1, message)])
        return assemble(system_of(self.told, self.counter), said, (), (), overhead=overhead)

    async def _blocked(self, text: str) -> bool:
        means = self.session.means
        if means.guardian is None or not means.guard.enabled:
            return False
        hit = gate(await means.guardian.judge(text), means.guard.mode, means.guard.on_error)
        if hit.outcome is Gate.UNAVAILABLE:
            raise TurnUnguarded(NOWHERE, "The safety check gives no verdict right now.")
        return hit.outcome is Gate.BLOCK

    async def _reply(self, request: Request, heard: Heard | None) -> Reply:
        async with aclosing(self.model.send(request, self.session.means.limits.seconds)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Reply):
                    return piece
                if heard is not None and not piece.thinking:
                    heard(piece.text)
        raise ModelFailure(Fault.BROKEN_STREAM, "The model's answer ended before it was complete.")
