"""Compacting: read, choose, let a model write if it is to, and then, if no one was quicker, show less."""

from collections.abc import Sequence

import msgspec

from preceptor.domain.conversations.compaction import (
    Compaction,
    Dropping,
    Squashing,
    Strategy,
    SummaryFailed,
    concatenated,
    kind_of,
    selected,
    text_of,
)
from preceptor.domain.conversations.looks import ShownView, look_at
from preceptor.domain.conversations.view import Change, Run, places, without
from preceptor.domain.errors import Conflict, PreconditionFailed
from preceptor.domain.ids import ConversationId, MessageId, StreamId
from preceptor.domain.log import NewEvent
from preceptor.domain.messages.message import Message, Role, Text, encode
from preceptor.domain.prompts.placed import Placed, as_shown
from preceptor.domain.reasoning.policy import GuardPolicy
from preceptor.domain.reasoning.synthesis import WITHHELD
from preceptor.domain.reasoning.verdict import Gate
from preceptor.engine.connecting import connected
from preceptor.engine.history.counting import tokens_of
from preceptor.engine.history.reaching import said_in
from preceptor.engine.means.guarding import GuardClient
from preceptor.engine.ports import Models, TokenCounter
from preceptor.engine.preconditions import IfMatch
from preceptor.engine.repositories.conversations import MessagePlace
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.turn.policing import guard_of
from preceptor.engine.turn.stages.brought import stopped
from preceptor.engine.turn.stages.moderate import heard
from preceptor.engine.viewing.branching import switch
from preceptor.engine.viewing.looking import Look, at_rest, next_view
from preceptor.engine.viewing.squashing import Squash, Squashed


class ViewChangedMeanwhile(Conflict):
    sentence: str = "The conversation's view was changed meanwhile, so nothing was done. Read it again, then repeat."


class Read(msgspec.Struct, frozen=True):
    """What is to be compacted, as it was read."""

    look: Look
    agents_model: str | None
    sources: tuple[Placed, ...]
    sums: dict[int, int]
    guard: GuardClient
    models: Models


class Compacting(msgspec.Struct, frozen=True):
    session: Session
    conversation_id: ConversationId
    wanted: Dropping | Squashing
    if_match: IfMatch
    summary_model: str | None

    async def carry_out(self) -> ShownView | None:
        """None if nothing of what was chosen is shown."""
        await self.session.answered_before()
        read = await self.session.read(self._read)
        if not read.sources:
            return None
        squashed = await self._squashed(read)

        async def program(work: Work) -> ShownView:
            now = await at_rest(work, self.session.caller, self.conversation_id, self.if_match)
            if now.view.step != read.look.view.step:
                raise ViewChangedMeanwhile if self.if_match is None else PreconditionFailed(now.view.etag)
            return await self._show(work, read, now, squashed)

        return await self.session.write(program)

    async def _read(self, work: Work) -> Read:
        look = await at_rest(work, self.session.caller, self.conversation_id, self.if_match)
        said = await said_in(work, self.conversation_id, look.runs)
        chosen = selected(self.wanted, said, await self._aside(work, said))
        sources = tuple(as_shown(each) for each in said if each.place in chosen)
        agent = await work.agents.find(look.conversation.agent_id)
        means = await connected(work, self.session)
        policy = GuardPolicy(enabled=False) if agent is None else guard_of(means, agent)
        guard = GuardClient(means.guardian, policy)
        return Read(look, agent and agent.model, sources, _sums(look.runs, said), guard, means.models)

    async def _aside(self, work: Work, said: Sequence[Placed]) -> dict[str, int]:
        """Where delegations beside each other were opened, by their ids and by those of their messages."""
        named = {*(self.wanted.message_ids or ()), *(self.wanted.spans or ())}
        if not said or named <= {one for each in said for one in (each.message.id, each.message.span_id)}:
            return {}
        places = [each.place for each in said]
        found, here, before = dict[str, int](), 0, min(places) - 1
        for each in await work.messages.since(self.conversation_id, before, max(places) - before):
            here = each.place if each.place > 0 else here
            if each.place < 0:
                found |= {each.message.id: here, each.message.span_id or "": here}
        return found

    async def _squashed(self, read: Read) -> Squashed | None:
        """What is to stand in their place: what a person wrote, everything they say, or what a model makes of it."""
        strategy = self.wanted.strategy
        if self.wanted.text is not None:
            await read.guard.require(self.wanted.text)
            return Squashed(self.wanted.text)
        if strategy is Strategy.DROP:
            return None
        if strategy is Strategy.CONCAT:
            return Squashed(concatenated(each.message for each in read.sources))
        models = read.models
        name = self.summary_model or read.agents_model
        model, counter = models.find(name), models.counter(name)
        sources = await self._readable(read, counter)
        written = await Squash(self.session, self.conversation_id, strategy, model, counter).write(sources)
        if read.guard.should_block(await read.guard.classify(written.text)):
            raise SummaryFailed(strategy.value, "the safety check does not let what was written through")
        return written

    async def _readable(self, read: Read, counter: TokenCounter) -> Sequence[Placed]:
        """What a model may be shown of it: no turn may have judged yet what a client brought along."""

        async def ask(text: str) -> Gate:
            return read.guard.gate(await read.guard.classify(text)).outcome

        brought = [each for each in read.sources if each.message.from_client]
        unfit = await stopped(brought, lambda message: heard(message.parts), ask)
        instead = {each.place: Placed(each.place, each.message, counter.count(WITHHELD)) for each in unfit}
        return [as_shown(instead.get(each.place, each)) for each in read.sources]

    async def _show(self, work: Work, read: Read, now: Look, squashed: Squashed | None) -> ShownView:
        result = None if squashed is None else self._message(read, squashed)
        place = now.last + 1
        added = None if result is None else Run(place, place, now.total, now.total + result.tokens)
        runs = without(now.runs, {each.place for each in read.sources}, read.sums, added)
        left = frozenset(places(runs))
        made = next_view(
            self.session,
            now,
            added=added,
            change=Change.COMPACTED,
            line=now.view.line,
            runs=runs,
            results=tuple(one for one in (*now.view.results, place) if one in left),
            compaction=self._record(read.sources, squashed, result),
        )
        if result is not None:
            await self._say(work, result, MessagePlace(place, 0, made.base))
        await switch(work, made, tuple(each.message.id for each in read.sources))
        return look_at(await work.views.all(self.conversation_id), made, made.since - 1, made.base)

    async def _say(self, work: Work, result: Message, at: MessagePlace) -> None:
        said = NewEvent("message.completed", encode(result).decode())
        [event] = await work.log.append(StreamId(self.conversation_id), [said])
        await work.messages.add(self.conversation_id, [(at._replace(seq=event.seq), result)])

    def _message(self, read: Read, squashed: Squashed) -> Message:
        """Derived, and never an instruction: an assistant's words, with the ids of what they stand for."""
        parts = (Text(text_of(self.wanted.strategy, squashed.text, len(read.sources))),)
        return Message(
            id=MessageId(self.session.world.new_id()),
            conversation_id=self.conversation_id,
            turn_id=read.sources[-1].message.turn_id,
            role=Role.ASSISTANT,
            kind=kind_of(self.wanted.strategy),
            parts=parts,
            instructions=(),
            tokens=tokens_of(parts, read.models.counter(read.agents_model)),
            created_at=self.session.world.now(),
            agent_id=read.look.conversation.agent_id,
            call_id=squashed.call_id,
            sources=tuple(each.message.id for each in read.sources),
        )

    def _record(self, sources: Sequence[Placed], squashed: Squashed | None, result: Message | None) -> Compaction:
        written = squashed or Squashed("")
        return Compaction(
            strategy=self.wanted.strategy,
            origin=self.session.caller.owner.user_id,
            count=len(sources),
            tokens_before=sum(each.message.tokens for each in sources),
            tokens_after=0 if result is None else result.tokens,
            result=None if result is None else result.id,
            edited=self.wanted.text is not None,
            model=written.model,
            prompt_template=written.template,
            call_id=written.call_id,
            call_seq=written.call_seq,
        )


def _sums(runs: Sequence[Run], said: Sequence[Placed]) -> dict[int, int]:
    """The tokens up to and with each message that is shown."""
    tokens = {each.place: each.message.tokens for each in said}
    sums: dict[int, int] = {}
    for run in runs:
        so_far = run.before
        for place in range(run.first, run.last + 1):
            so_far += tokens[place]
            sums[place] = so_far
    return sums
