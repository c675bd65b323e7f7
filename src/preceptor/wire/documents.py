"""Files as text: what kind a file is, by its own bytes, and what can be read in it."""

import io

from preceptor.domain.errors import Invalid, phrased

PDF = "application/pdf"
JSON = "application/json"
PLAIN = "text/plain"
_MARKS = (
    (b"%PDF-", PDF),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
MOST_PAGES = 500
LONGEST = 200_000
"""Characters of a file's text that are kept."""


class UnreadableFile(Invalid):
    """A file that is not what it says, or that nothing can be read in."""


def kind_of(declared: str, data: bytes) -> str:
    """A file's media type. Its bytes decide; what was declared only tells one text from another."""
    for mark, kind in _MARKS:
        if data.startswith(mark):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    told = declared.partition(";")[0].strip().lower()
    text_of_text(data)
    return told if told == JSON or (told.startswith("text/") and told.isascii() and len(told) <= 100) else PLAIN


def is_image(kind: str) -> bool:
    return kind.startswith("image/")


def text_in(kind: str, data: bytes) -> str | None:
    """What a file says; None for a picture."""
    if is_image(kind):
        return None
    return _shortened(_pages(data) if kind == PDF else text_of_text(data))


def text_of_text(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableFile(
            phrased(
                "This file is neither text in UTF-8, nor a PDF, nor a PNG, JPEG, GIF or WebP image. Convert it first."
            )
        ) from None
    if "\x00" in text:
        raise UnreadableFile(phrased("This file has a NUL character in it, so it is not text. Convert it first."))
    return text


def _pages(data: bytes) -> str:
    try:
        pages = _texts(data)
    except Exception as error:  # a broken file breaks its reader in any way there is
        raise UnreadableFile(phrased("This PDF cannot be read. Save it again, or send its text.")) from error
    if pages is None:
        raise UnreadableFile(phrased("This PDF is protected by a password. Send it without one."))
    text = "\n\n".join(page.strip() for page in pages if page.strip()).replace("\x00", "")
    text = text.encode("utf-8", "replace").decode()
    if not text:
        raise UnreadableFile(
            phrased("There is no text in this PDF: it may hold only pictures of pages. Send its text.")
        )
    return text


def _texts(data: bytes) -> list[str] | None:
    """The text of each page; None if it takes a password."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        return None
    return [page.extract_text() for page in reader.pages[:MOST_PAGES]]


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n[… {len(text) - LONGEST} more characters are left out.]"
