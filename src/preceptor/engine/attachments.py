"""Attachments: take a file, read what it says, and put that into the message it is sent with."""

import re
from base64 import b64encode
from collections.abc import Iterable
from html import escape
from typing import ClassVar, Protocol

import msgspec
from pydantic import AwareDatetime, Field

from preceptor.domain.errors import Conflict, Invalid, NotFound, TooLarge, phrased
from preceptor.domain.ids import AttachmentId, ConversationId
from preceptor.domain.messages.message import AnyPart, Attachment, Message, Text
from preceptor.domain.ownership import Caller
from preceptor.domain.prompts.images import images_of
from preceptor.domain.value import Value
from preceptor.engine.ports import ChatModel
from preceptor.engine.repositories.conversations import AttachmentRow
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session

LONGEST_NAME = 200
_UNSEEN = re.compile(r"[\x00-\x1f\x7f]")


class FileReader(Protocol):
    async def read(self, declared: str, data: bytes) -> tuple[str, str | None]:
        """A file's media type, and its text unless it is a picture. What cannot be read is a typed error."""
        ...


class ShownAttachment(Value):
    """A file, ready to be sent with a message."""

    attachment_id: str
    media_type: str
    name: str
    size: int = Field(description="In bytes.")
    characters: int | None = Field(description="Of the text in it that a model is shown; null for an image.")
    created_at: AwareDatetime


class FileTooLarge(TooLarge):
    code: ClassVar[str] = "payload_too_large"

    def __str__(self) -> str:
        return f"The file is larger than {self.limit} bytes. Send less, or raise PRECEPTOR_MAX_ATTACHMENT_BYTES."


class SentElsewhere(Conflict):
    sentence: str = "This file was sent in another conversation. Upload it again to send it in this one."


class Attachments(msgspec.Struct, frozen=True):
    session: Session
    reader: FileReader
    most: int
    """The largest file we take, in bytes."""

    async def add(self, data: bytes, name: str = "file", media_type: str = "") -> ShownAttachment:
        """Keep a file until it is said in a conversation, for a day at most."""
        if len(data) > self.most:
            raise FileTooLarge(self.most)
        if not data:
            raise Invalid(phrased("The file is empty. Send one with something in it."))
        kind, text = await self.reader.read(media_type, data)
        attachment_id = AttachmentId(self.session.world.new_id())

        async def program(work: Work) -> ShownAttachment:
            row = AttachmentRow(
                attachment_id=attachment_id,
                user_id=self.session.caller.owner.user_id,
                media_type=kind,
                name=_name(name),
                size=len(data),
                text=text,
                created_at=work.now,
            )
            await work.attachments.add(row, data)
            return _shown(row)

        return await self.session.write(program)


async def expanded(
    work: Work, caller: Caller, conversation: ConversationId, parts: tuple[AnyPart, ...], model: ChatModel
) -> tuple[AnyPart, ...]:
    """The parts of a message with what its files say in them, fenced off from what the user says."""
    found: list[AnyPart] = []
    for part in parts:
        if not isinstance(part, Attachment) or part.media_type:
            found.append(part)
            continue
        row = await _sent(work, caller, conversation, AttachmentId(part.attachment_id))
        made = Attachment(row.attachment_id, row.media_type, row.name)
        if made.is_image and not model.capabilities.images:
            raise Invalid(
                phrased(
                    "The model %(model)s takes no images. Send text, or choose another model for the agent.",
                    model=repr(model.name),
                )
            )
        found.append(made)
        if row.text is not None:
            found.append(Text(_fenced(row, row.text)))
    return tuple(found)


async def images_for(work: Work, messages: Iterable[Message], model: ChatModel) -> dict[str, str]:
    """The images of messages in base64, by id, if the model is one that takes them."""
    return await images_in(work, messages) if model.capabilities.images else {}


async def images_in(work: Work, messages: Iterable[Message]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in images_of(messages):
        data = await work.attachments.data(AttachmentId(one))
        if data is not None:
            found[one] = b64encode(data).decode()
    return found


async def _sent(work: Work, caller: Caller, conversation: ConversationId, attachment_id: AttachmentId) -> AttachmentRow:
    row = await work.attachments.find(attachment_id)
    if row is None or row.user_id != caller.owner.user_id:
        raise NotFound("attachment", attachment_id)
    if row.conversation_id is None:
        await work.attachments.say_in(attachment_id, conversation)
    elif row.conversation_id != conversation:
        raise SentElsewhere
    return row


def _fenced(row: AttachmentRow, text: str) -> str:
    """A quotation that nothing in it can end."""
    named = f'id="{row.attachment_id}" name="{escape(row.name)}" type="{escape(row.media_type)}"'
    return f"\n\n<attachment {named}>\n{escape(text, quote=False)}\n</attachment>\n"


def _name(given: str) -> str:
    """A file's own name, without the folders that it came from."""
    last = _UNSEEN.sub("", given).replace("\\", "/").rsplit("/", 1)[-1].strip()
    return last[-LONGEST_NAME:].encode("utf-8", "replace").decode() or "file"


def _shown(row: AttachmentRow) -> ShownAttachment:
    return ShownAttachment(
        attachment_id=row.attachment_id,
        media_type=row.media_type,
        name=row.name,
        size=row.size,
        characters=None if row.text is None else len(row.text),
        created_at=row.created_at,
    )
