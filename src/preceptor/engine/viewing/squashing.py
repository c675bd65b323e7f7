"""Squashing: a model writes what messages say in few words. It is asked alone, on the record."""

from collections.abc import Sequence

import msgspec

from preceptor.domain.conversations.compaction import TEMPLATES, Strategy, SummaryFailed
from preceptor.domain.errors import Invalid, phrased
from preceptor.domain.ids import CallId, ConversationId, StreamId
from preceptor.domain.log import NewEvent
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.prompts.prompt import Request
from preceptor.domain.prompts.reply import Fault, ModelFailure, Reply, Usage
from preceptor.domain.turns.calls import Call, CallEnded, CallOutcome
from preceptor.engine.history.summarising import fault_in, summary_call, summary_prompt, written_in
from preceptor.engine.ports import ChatModel, TokenCounter
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.telling.voice import Kept
from preceptor.engine.turn.stages.listen import priced

ROOM = 0.85
"""The share of a model's window that may be filled before it answers."""


class Squashed(msgspec.Struct, frozen=True):
    """What is to stand in the place of messages; if a model wrote it, the call that it wrote it in."""

    text: str
    model: str | None = None
    template: str | None = None
    call_id: CallId | None = None
    call_seq: int | None = None


class Squash(msgspec.Struct, frozen=True):
    """One call of a model, on the record from before it is made until after it has ended."""

    session: Session
    conversation_id: ConversationId
    strategy: Strategy
    model: ChatModel
    counter: TokenCounter

    async def write(self, said: Sequence[Placed]) -> Squashed:
        template, instruction = TEMPLATES[self.strategy]
        prompt = summary_prompt(template, instruction, said, self.model, self.counter)
        room = int(self.model.capabilities.context_window * ROOM)
        if prompt.tokens > room:
            raise Invalid(
                phrased(
                    "These messages are %(tokens)s tokens, and the model %(model)s has room for %(room)s. Choose fewer "
                    "of them, or send the `text` yourself.",
                    tokens=prompt.tokens,
                    model=repr(self.model.name),
                    room=room,
                )
            )
        made = summary_call(CallId(self.session.world.new_id()), prompt, self.model)
        seq = await self._note("call.started", made.call, made.kept)
        text = await self._answer(made.call, made.request)
        return Squashed(text, self.model.name, template, made.call.call_id, seq)

    async def _answer(self, call: Call, request: Request) -> str:
        """What the model says, if it says all of it. However it ends is noted."""
        began = self.session.world.monotonic()
        ended = CallEnded(call_id=call.call_id, outcome=CallOutcome.ORPHANED)
        try:
            reply = await self._reply(request)
            usage = priced(reply.usage, self.model.capabilities)
            ended = msgspec.structs.replace(ended, outcome=CallOutcome.OK, usage=usage, finish=reply.finish)
        except ModelFailure as failure:
            ended = self._failed(ended, failure)
            raise SummaryFailed(self.strategy.value, str(failure)) from failure
        finally:
            took = round((self.session.world.monotonic() - began) * 1000)
            await self.session.means.runner.shielded(
                self._end(msgspec.structs.replace(ended, milliseconds=took)),
            )
        if wrong := fault_in(reply):
            raise SummaryFailed(self.strategy.value, wrong)
        return written_in(reply)

    async def _reply(self, request: Request) -> Reply:
        async for piece in self.model.send(request, self.session.means.limits.seconds):
            if isinstance(piece, Reply):
                return piece
        raise ModelFailure(Fault.BROKEN_STREAM, "The model's answer ended before it was complete.")

    def _failed(self, ended: CallEnded, failure: ModelFailure) -> CallEnded:
        return msgspec.structs.replace(
            ended,
            outcome=CallOutcome.FAILED,
            usage=priced(failure.usage or Usage(), self.model.capabilities),
            fault=failure.fault,
            sentence=str(failure),
            status=failure.status,
            retry_after=failure.retry_after,
        )

    async def _end(self, ended: CallEnded) -> None:
        await self._note("call.ended", ended)

    async def _note(self, kind: str, fact: msgspec.Struct, kept: Kept | None = None) -> int:
        """Write it down beside the conversation's turns, as part of none; answers with its row."""
        new = NewEvent(kind, msgspec.json.encode(fact).decode())

        async def program(work: Work) -> int:
            if kept is not None:
                await work.blobs.put(kept.sha256, kept.body)
            [event] = await work.log.append(StreamId(self.conversation_id), [new])
            return event.seq

        return await self.session.store.write(self.session.caller.owner, program)
