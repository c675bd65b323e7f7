"""A database in which much was said already."""

from pathlib import Path

from benchmarks.seeding import Said, fill
from preceptor import Preceptor, Settings, open_preceptor
from preceptor.domain.ids import ConversationId

SAID = Said("word " * 30, 31)


async def seeded(folder: Path, messages: int, others: int = 0) -> ConversationId:
    """A conversation of so many messages, and others as long beside it."""
    settings = Settings.load(data_dir=folder, admin_key="benchmark-admin-key", secret_key="s" * 32)
    async with open_preceptor(settings, take_up=False) as preceptor:
        for _ in range(others):
            await _spoken(preceptor, messages)
        return await _spoken(preceptor, messages)


async def _spoken(preceptor: Preceptor, size: int) -> ConversationId:
    conversation = (await preceptor.conversations.start(agent_id="assistant")).conversation_id
    await fill(preceptor, conversation, size, lambda _: SAID)
    return conversation
