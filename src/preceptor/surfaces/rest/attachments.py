"""/api/attachments"""

from typing import Annotated, cast

from fastapi import File, UploadFile

from preceptor.domain.ownership import Permission
from preceptor.engine.attachments import ShownAttachment
from preceptor.surfaces.rest.files import Upload
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs, takes_file

router = Api("/api/attachments", "attachments")


@router.post("", status_code=201)
@needs(Permission.CONVERSATION_WRITE)
@takes_file
async def add(
    file: Annotated[UploadFile, File(description="Text in UTF-8, a PDF, or a PNG, JPEG, GIF or WebP image.")],
    preceptor: ThePreceptor,
) -> ShownAttachment:
    """Upload a file to send with a message, as a part `{"type": "attachment", "attachmentId": …}`."""
    upload = cast("Upload", file)
    return await preceptor.attachments.add(upload.data, upload.name, upload.media_type)
