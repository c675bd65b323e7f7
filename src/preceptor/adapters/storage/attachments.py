"""Attachments in SQL: files as they were sent, with the text that was found in them."""

from datetime import datetime

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.attachments import ADD, DATA, ERASE, FIND, FORGET, SAID_IN, SAY_IN
from preceptor.domain.ids import AttachmentId, ConversationId
from preceptor.domain.times import from_micros, to_micros
from preceptor.engine.repositories.conversations import AttachmentRow


class SqlAttachments(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, row: AttachmentRow, data: bytes) -> None:
        await self.work.put(
            ADD,
            id=row.attachment_id,
            user=row.user_id,
            conversation=row.conversation_id,
            media_type=row.media_type,
            name=row.name,
            size=row.size,
            data=data,
            text=row.text,
            created=to_micros(row.created_at),
        )

    async def find(self, attachment_id: AttachmentId) -> AttachmentRow | None:
        row = await self.work.one(FIND, named=attachment_id)
        if row is None:
            return None
        found, user, conversation, media_type, name, size, text, created = row
        return AttachmentRow(
            attachment_id=found,
            user_id=user,
            conversation_id=conversation,
            media_type=media_type,
            name=name,
            size=size,
            text=text,
            created_at=from_micros(created),
        )

    async def data(self, attachment_id: AttachmentId) -> bytes | None:
        row = await self.work.one(DATA, named=attachment_id)
        return bytes(row[0]) if row else None

    async def say_in(self, attachment_id: AttachmentId, conversation: ConversationId) -> None:
        await self.work.put(SAY_IN, named=attachment_id, said_in=conversation)

    async def said_in(self, conversation: ConversationId) -> list[AttachmentId]:
        return [row[0] for row in await self.work.all(SAID_IN, said_in=conversation)]

    async def erase(self, conversation: ConversationId) -> int:
        return await self.work.run(ERASE, said_in=conversation)

    async def forget_unsent(self, before: datetime) -> int:
        """Forget files that no one said anything with, over all organisations."""
        return await self.work.run(FORGET, before=to_micros(before))
