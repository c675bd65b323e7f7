"""Images: kept once beside the messages, and put back into them when a model is shown them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from preceptor.domain.messages.message import Attachment, Message
from preceptor.domain.prompts.placed import Placed


def images_of(messages: Iterable[Message]) -> Iterator[str]:
    """The ids of the images that messages have."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, Attachment) and part.is_image:
                yield part.attachment_id


def with_images(said: Sequence[Placed], images: Mapping[str, str]) -> list[Placed]:
    """The same messages with their images, given in base64 by id."""
    return [Placed(each.place, _pictured(each.message, images), each.withheld) for each in said]


def _pictured(message: Message, images: Mapping[str, str]) -> Message:
    if not any(one in images for one in images_of([message])):
        return message
    parts = tuple(
        msgspec.structs.replace(part, data=images.get(part.attachment_id)) if isinstance(part, Attachment) else part
        for part in message.parts
    )
    return msgspec.structs.replace(message, parts=parts)
