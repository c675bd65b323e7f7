"""Keeping to versions: what is told in a conversation that does not follow new ones."""

from preceptor.domain.conversations.conversation import Conversation, VersionPolicy
from preceptor.domain.instructions.lifecycle import Status
from preceptor.engine.repositories.work import Work
from preceptor.engine.telling.compiled import Compiled, Told
from preceptor.engine.telling.effective import effective_at


async def held_to(work: Work, usual: Compiled, conversation: Conversation) -> Compiled | None:
    """What the agent was told at the moment that the conversation is held to; None once that is drained."""
    moment = conversation.pinned_at or conversation.created_at
    told = await effective_at(work, conversation.agent_id, min(moment, work.now))
    if conversation.version_policy is VersionPolicy.DRAIN and await _withdrawn(work, told, usual.told):
        return None
    same = told.hash == usual.told.hash and told.vector == usual.told.vector
    return usual if same else Compiled(told, head=usual.head)


async def _withdrawn(work: Work, told: Told, now: Told) -> bool:
    """Whether one of its instructions was taken from the agent, or the version of it was archived."""
    if {one.family_id for one in told.vector} - {one.family_id for one in now.vector}:
        return True
    spoken = [one.instruction_id for one in told.vector]
    there = await work.instructions.named(spoken) if spoken else {}
    return any(version.status is Status.ARCHIVED for version in there.values())
