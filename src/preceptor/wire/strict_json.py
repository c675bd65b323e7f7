"""The one reader of JSON that clients send. What two readers could understand differently is refused.

Parsing is the standard library's C scanner. Each check that would cost a walk over the text is asked for by a search of
the bytes first, so an ordinary body pays for the searches only.
"""

import json
import re
from functools import lru_cache
from itertools import accumulate
from math import isinf

from preceptor.domain.errors import Malformed

LARGEST = 2**63 - 1
SMALLEST = -(2**63)

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONE_SURROGATE = re.compile(
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F][0-9a-fA-F]{2})"
)
_NUMBER_SHAPES = bytes.maketrans(b"123456789E", b"000000000e")
_LONG_NUMBER = b"0" * 19
_LONG_EXPONENT = b"e000"
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NEITHER_BRACKET_NOR_QUOTE = bytes(set(range(256)) - set(b'[{]}"'))


class NotJson(Malformed):
    line: int
    column: int
    problem: str

    def __str__(self) -> str:
        return (
            f"The JSON cannot be read at line {self.line}, column {self.column}: {self.problem}. "
            "Correct it there and send it again."
        )


class TrailingBytes(Malformed):
    line: int
    column: int

    def __str__(self) -> str:
        return f"Something follows the JSON at line {self.line}, column {self.column}. Send one value and no more."


class NotUtf8(Malformed):
    offset: int

    def __str__(self) -> str:
        return f"The JSON is not UTF-8: the byte at offset {self.offset} cannot be decoded. Encode it as UTF-8."


class ByteOrderMark(Malformed):
    def __str__(self) -> str:
        return "The JSON begins with a byte order mark. Encode it as UTF-8 without one."


class NulCharacter(Malformed):
    offset: int

    def __str__(self) -> str:
        return f"The JSON holds a NUL character at offset {self.offset}, which cannot be stored. Remove it."


class LoneSurrogate(Malformed):
    escape: str
    offset: int

    def __str__(self) -> str:
        return f"{self.escape} at offset {self.offset} is half of a character. Send both halves, or neither."


class DuplicateKey(Malformed):
    key: str

    def __str__(self) -> str:
        return f"The key {_brief(self.key)!r} occurs twice in one object. Keep one of them."


class TooManyKeys(Malformed):
    count: int
    limit: int

    def __str__(self) -> str:
        return f"One object has {self.count} keys; at most {self.limit} are read. Split it up, or use an array."


class TooDeep(Malformed):
    limit: int

    def __str__(self) -> str:
        return f"The JSON is nested more than {self.limit} levels deep. Make it flatter."


class NotFinite(Malformed):
    literal: str

    def __str__(self) -> str:
        return f"{self.literal} is not a number in JSON. Send a finite number, or null."


class NumberTooLarge(Malformed):
    literal: str

    def __str__(self) -> str:
        return f"The number {_brief(self.literal)} does not fit in 64 bits. Send a smaller one, or send it as text."


def read(raw: bytes, *, max_depth: int = 32, max_keys: int = 1000) -> object:
    """Whatever it accepts, `json.loads` reads the same. Linear in the size of `raw`; the caller limits that."""
    if raw.startswith(_BYTE_ORDER_MARK):
        raise ByteOrderMark
    if (offset := raw.find(0)) >= 0:
        raise NulCharacter(offset)
    if b"\\" in raw:
        _check_escapes(raw)
    if raw.count(b"[") + raw.count(b"{") > max_depth:
        _check_depth(raw, max_depth)
    try:
        return _decoder(max_keys, check_numbers=_may_overflow(raw)).decode(raw.decode())
    except UnicodeDecodeError as error:
        raise NotUtf8(error.start) from None
    except json.JSONDecodeError as error:
        raise _unreadable(error) from None
    except RecursionError:
        raise TooDeep(max_depth) from None


@lru_cache(maxsize=16)
def _decoder(max_keys: int, *, check_numbers: bool) -> json.JSONDecoder:
    def build(pairs: list[tuple[str, object]]) -> dict[str, object]:
        value = dict(pairs)
        if len(pairs) == len(value) <= max_keys:
            return value
        if len(pairs) == len(value):
            raise TooManyKeys(len(value), max_keys)
        raise DuplicateKey(_first_repeated(pairs))

    return json.JSONDecoder(
        object_pairs_hook=build,
        parse_constant=_refuse_constant,
        parse_int=_integer if check_numbers else None,
        parse_float=_float if check_numbers else None,
    )


def _first_repeated(pairs: list[tuple[str, object]]) -> str:
    seen: set[str] = set()
    return next(key for key, _ in pairs if key in seen or seen.add(key))


def _refuse_constant(literal: str) -> object:
    raise NotFinite(literal)


def _integer(literal: str) -> int:
    # The length first: `int` is slow on long text, and refuses more than 4,300 digits with an error of its own.
    if len(literal) > 20 or not SMALLEST <= (number := int(literal)) <= LARGEST:
        raise NumberTooLarge(literal)
    return number


def _float(literal: str) -> float:
    if isinf(number := float(literal)):
        raise NumberTooLarge(literal)
    return number


def _may_overflow(raw: bytes) -> bool:
    """Only a number with 19 digits in a row, or with 3 in its exponent, can be out of range."""
    shapes = raw.translate(_NUMBER_SHAPES, b"+")
    return _LONG_EXPONENT in shapes or _LONG_NUMBER in shapes


def _check_escapes(raw: bytes) -> None:
    if rb"\u0000" not in raw and rb"\ud" not in raw and rb"\uD" not in raw:
        return
    # An escaped backslash is blanked out first, so that the text `\\u0000` is not taken for an escape.
    escapes = raw.replace(rb"\\", b"  ")
    if (offset := escapes.find(rb"\u0000")) >= 0:
        raise NulCharacter(offset)
    if lone := _LONE_SURROGATE.search(escapes):
        raise LoneSurrogate(lone[0].decode(), lone.start())


def _check_depth(raw: bytes, limit: int) -> None:
    """Asked before parsing, which would recurse."""
    steps = _brackets_outside_strings(raw)
    if b"\x01" * (limit + 1) in steps or max(accumulate(memoryview(steps).cast("b")), default=0) > limit:
        raise TooDeep(limit)


def _brackets_outside_strings(raw: bytes) -> bytes:
    """Each as the signed byte +1 or -1."""
    if b"\\" in raw:
        raw = raw.replace(rb"\\", b"").replace(rb"\"", b"")
    # Two quotes side by side have no bracket between them, and without both the rest is inside or outside as before.
    marks = raw.translate(_STEPS, _NEITHER_BRACKET_NOR_QUOTE).replace(b'""', b"")
    return b"".join(marks.split(b'"')[::2])


def _unreadable(error: json.JSONDecodeError) -> Malformed:
    if error.msg == "Extra data":
        return TrailingBytes(error.lineno, error.colno)
    problem = error.msg.removesuffix(" at").removesuffix(" starting").rstrip(": ")
    return NotJson(error.lineno, error.colno, problem[:1].lower() + problem[1:])


def _brief(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
