"""Reading forms with files in them (multipart/form-data). Of the API's, whatever else they hold is refused."""

from collections.abc import Callable
from typing import Any

import msgspec
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from preceptor.domain.errors import Invalid, Malformed
from preceptor.surfaces.problems import UnsupportedMediaType

FIELD = "file"
LONGEST_HEADERS = 2_000


class NotAForm(Malformed):
    def __str__(self) -> str:
        return "The body is not a whole multipart form. Send it again as multipart/form-data."


class NoForm(UnsupportedMediaType):
    def __str__(self) -> str:
        return "The body must be a form: send `Content-Type: multipart/form-data` with one part named `file`."


class Upload(msgspec.Struct, frozen=True):
    name: str
    media_type: str
    data: bytes

    @property
    def asked(self) -> bytes:
        """What tells it from another request: not the line between the parts, which clients make up each time."""
        return f"{self.name}\n{self.media_type}\n".encode() + self.data


class _Part(msgspec.Struct):
    headers: dict[str, bytes] = {}
    data: bytearray = bytearray()

    @property
    def disposition(self) -> dict[bytes, bytes]:
        return parse_options_header(self.headers.get("content-disposition", b""))[1]


def read(content_type: str, body: bytes) -> Upload:
    """The one file of a form."""
    return _only(_parts(content_type, body, 2))


def read_page(content_type: str, body: bytes, most: int) -> tuple[list[tuple[str, str]], list[Upload]]:
    """The fields of a page's form, and the files that were chosen in it."""
    fields: list[tuple[str, str]] = []
    uploads: list[Upload] = []
    for part in _parts(content_type, body, most):
        name, file = part.disposition.get(b"name", b""), part.disposition.get(b"filename")
        if file is None:
            try:
                fields.append((name.decode(), part.data.decode()))
            except UnicodeDecodeError:
                raise NotAForm from None
        elif file or part.data:
            uploads.append(_upload(part))
    return fields, uploads


def _parts(content_type: str, body: bytes, most: int) -> list[_Part]:
    kind, options = parse_options_header(content_type)
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise NoForm
    reading = _Reading(most)
    try:
        parser = MultipartParser(options[b"boundary"], reading.callbacks())
        parser.write(body)
        parser.finalize()
    except (MultipartParseError, UnicodeDecodeError, ValueError):
        raise NotAForm from None
    if not reading.ended:
        raise NotAForm
    return reading.parts


def _only(parts: list[_Part]) -> Upload:
    names = [part.disposition.get(b"name", b"") for part in parts]
    if names != [FIELD.encode()]:
        raise Invalid("The form must have exactly one part, a file named `file`.")
    return _upload(parts[0])


def _upload(part: _Part) -> Upload:
    name = part.disposition.get(b"filename", b"file").decode("utf-8", "replace")
    return Upload(name, part.headers.get("content-type", b"").decode("utf-8", "replace"), bytes(part.data))


class _Reading(msgspec.Struct):
    """Listens to the parser."""

    most: int
    parts: list[_Part] = []
    name: bytes = b""
    value: bytes = b""
    ended: bool = False

    def callbacks(self) -> Any:
        told: dict[str, Callable[..., None]] = {
            "on_part_begin": self._begin,
            "on_part_data": self._data,
            "on_header_field": self._name,
            "on_header_value": self._value,
            "on_header_end": self._header,
            "on_end": self._end,
        }
        return told

    def _begin(self) -> None:
        if len(self.parts) >= self.most:
            raise ValueError("one part too many")
        self.parts.append(_Part())

    def _data(self, data: bytes, start: int, end: int) -> None:
        self.parts[-1].data += data[start:end]

    def _name(self, data: bytes, start: int, end: int) -> None:
        self.name += data[start:end]

    def _value(self, data: bytes, start: int, end: int) -> None:
        self.value += data[start:end]
        if len(self.value) > LONGEST_HEADERS:
            raise ValueError("a header is too long")

    def _header(self) -> None:
        self.parts[-1].headers[self.name.decode("latin-1").lower()] = self.value
        self.name = self.value = b""

    def _end(self) -> None:
        self.ended = True
