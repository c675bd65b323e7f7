"""What replays found, turn by turn, in SQL."""

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.replays import ADD, DIGESTS, ERASE, PAGE, USING
from preceptor.domain.ids import ConversationId, TaskId
from preceptor.engine.repositories.tasks import ItemRow


class SqlReplays(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, replay: TaskId, item: ItemRow) -> None:
        await self.work.put(
            ADD,
            replay=replay,
            place=item.place,
            conversation=item.conversation_id,
            changed=int(item.changed),
            digest=item.digest,
            body=item.body,
        )

    async def digests(self, replay: TaskId) -> list[tuple[int, str]]:
        return [(place, digest) for place, digest in await self.work.all(DIGESTS, of=replay)]

    async def page(self, replay: TaskId, after: int, limit: int, *, changed: bool) -> list[ItemRow]:
        rows = await self.work.all(PAGE, of=replay, after=after, limit=limit, all_of_them=int(not changed))
        return [ItemRow(place, where, bool(differs), digest, body) for place, where, differs, digest, body in rows]

    async def using(self, conversation: ConversationId) -> list[TaskId]:
        """The replays that found something in a conversation."""
        return [row[0] for row in await self.work.all(USING, said_in=conversation)]

    async def erase(self, conversation: ConversationId) -> int:
        """Forget what was found in a conversation: it quotes what was said there."""
        return await self.work.run(ERASE, said_in=conversation)
