"""Erasing: what was said in a conversation is taken out of the log for good. That something was, and its hash, stay."""

from datetime import timedelta

import msgspec
from pydantic import AwareDatetime

from preceptor.domain.conversations.conversation import Conversation, Status, erased, fold
from preceptor.domain.errors import NotFound
from preceptor.domain.ids import ConversationId, OrgId, StreamId
from preceptor.domain.ownership import SYSTEM, Caller, Permission
from preceptor.domain.prompts.source import FromSpecialist
from preceptor.domain.value import Value
from preceptor.engine.audit import note
from preceptor.engine.means.queues import TurnInProgress
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import Session
from preceptor.engine.telling.voice import read_system

BATCH = 1000
AT_ONCE = 100
"""Conversations that one sweep looks for at a time."""


class Erased(Value):
    """What was erased."""

    conversation_id: str
    events: int
    attachments: int
    erased_at: AwareDatetime


class _Refers(msgspec.Struct, rename="camel"):
    """Of a call: the texts that it refers to by hash."""

    system: str


_CALL = msgspec.json.Decoder(_Refers)


class Erasing(msgspec.Struct, frozen=True):
    session: Session

    async def erase(self, conversation_id: ConversationId) -> Erased:
        """Erase everything that was said in a conversation, its title, metadata and files. There is no way back."""
        self.session.caller.require(Permission.CONVERSATION_ERASE)

        async def program(work: Work) -> Erased:
            conversation = await found(work, self.session.caller, conversation_id, archived=True)
            return await _erase(work, self.session.caller, conversation)

        done = await self.session.write(program)
        self.session.means.memory.forget(self.session.caller.owner.org_id, conversation_id)
        return done

    async def expire(self, age: timedelta) -> int:
        """Erase the conversations of all organisations in which nothing happened for so long."""
        done = 0
        while quiet := await self.session.read(lambda work: work.conversations.quiet_since(work.now - age, AT_ONCE)):
            results = [await self._expired(org, conversation) for org, conversation in quiet]
            done += sum(results)
            if not any(results):
                break
        return done

    async def _expired(self, org: OrgId, conversation_id: ConversationId) -> bool:
        owner = SYSTEM.owner.model_copy(update={"org_id": org})
        acting = Caller(owner, SYSTEM.permissions, "retention")

        async def program(work: Work) -> Erased:
            return await _erase(work, acting, await found(work, acting, conversation_id, archived=True))

        try:
            await self.session.store.write(owner, program)
        except (TurnInProgress, NotFound):
            return False
        self.session.means.memory.forget(org, conversation_id)
        return True


async def _erase(work: Work, caller: Caller, conversation: Conversation) -> Erased:
    conversation_id = conversation.conversation_id
    if conversation.status is Status.ERASED:
        return Erased(conversation_id=conversation_id, events=0, attachments=0, erased_at=conversation.updated_at)
    if open_turn := await work.turns.open_in(conversation_id):
        raise TurnInProgress(turn_id=open_turn.turn_id)
    stream = StreamId(conversation_id)
    for sha256 in await _own_texts(work, stream):
        await work.blobs.remove(sha256)
    events = await work.log.erase(stream)
    executions = await work.tasks.using(conversation_id)
    files_in_it = await work.attachments.said_in(conversation_id)
    for one in (conversation_id, *executions, *await work.replays.using(conversation_id), *files_in_it):
        await work.idempotency.erase(one)
    await work.replays.erase(conversation_id)
    for task in executions:
        await work.log.erase(StreamId(task))
    files = await work.attachments.erase(conversation_id)
    after = fold(await work.log.append(stream, [erased(conversation)]), conversation)
    assert after is not None
    await work.conversations.replace(after)
    await note(work, caller, "conversation.erased", conversationId=conversation_id, events=events)
    return Erased(conversation_id=conversation_id, events=events, attachments=files, erased_at=after.updated_at)


async def _own_texts(work: Work, stream: StreamId) -> set[str]:
    """The hashes of texts that only this conversation refers to: specialists' prompts.

    An agent's own prompt and its tools are no one's words, and are shared by all conversations with it.
    """
    systems: set[str] = set()
    own: set[str] = set()
    seq = 0
    while batch := await work.log.after(stream, seq, BATCH):
        for event in batch:
            if event.kind == "call.started" and event.payload is not None:
                systems.add(_CALL.decode(event.payload).system)
        seq = batch[-1].seq
    for sha256 in systems:
        body = await work.blobs.get(sha256)
        if body is not None and any(isinstance(one.source, FromSpecialist) for one in read_system(body)):
            own.add(sha256)
    return own
