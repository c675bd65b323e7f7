import json
import math
import time
from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from preceptor.domain.errors import Malformed
from preceptor.wire.strict_json import (
    ByteOrderMark,
    DuplicateKey,
    LoneSurrogate,
    NotFinite,
    NotJson,
    NotUtf8,
    NulCharacter,
    NumberTooLarge,
    TooDeep,
    TooManyKeys,
    TrailingBytes,
    read,
)
from tests.requirements import covers

REFUSED: dict[str, tuple[bytes, type[Malformed]]] = {
    "nothing": (b"", NotJson),
    "only spaces": (b"  \n", NotJson),
    "a single quote": (b"{'a': 1}", NotJson),
    "a comment": (b"[1] // one", TrailingBytes),
    "a trailing comma": (b"[1,]", NotJson),
    "an unterminated string": (b'{"a": "b', NotJson),
    "an unclosed array": (b"[[1]", NotJson),
    "a tab inside a string": (b'"a\tb"', NotJson),
    "a wrong escape": (rb'"\x41"', NotJson),
    "a cut escape": (rb'"\u12"', NotJson),
    "a leading zero": (b"[01]", NotJson),
    "a second value": (b"{} {}", TrailingBytes),
    "a closing bracket too many": (b"[]]", TrailingBytes),
    "Latin-1": (b'"caf\xe9"', NotUtf8),
    "an overlong encoding": (b'"\xc0\xaf"', NotUtf8),
    "a surrogate encoded as UTF-8": (b'"\xed\xa0\x80"', NotUtf8),
    "UTF-16 with its mark": ("{}".encode("utf-16"), NulCharacter),
    "UTF-16 without its mark": ("{}".encode("utf-16-le"), NulCharacter),
    "a byte order mark": (b"\xef\xbb\xbf{}", ByteOrderMark),
    "a key twice": (b'{"a": 1, "b": 2, "a": 1}', DuplicateKey),
    "a key twice, once escaped": (rb'{"a": 1, "\u0061": 2}', DuplicateKey),
    "a key twice, deep inside": (b'[{"x": {"a": 1, "a": 2}}]', DuplicateKey),
    "NaN": (b"[NaN]", NotFinite),
    "Infinity": (b'{"a": Infinity}', NotFinite),
    "-Infinity": (b"-Infinity", NotFinite),
    "a float that overflows": (b"1e999", NumberTooLarge),
    "a float that overflows, spelt otherwise": (b"[-1.5E+0309]", NumberTooLarge),
    "a float that overflows by its digits": (b"1" + b"0" * 300 + b"e10", NumberTooLarge),
    "one more than 63 bits": (str(2**63).encode(), NumberTooLarge),
    "one less than 63 bits": (str(-(2**63) - 1).encode(), NumberTooLarge),
    "5,000 digits": (b"[" + b"7" * 5000 + b"]", NumberTooLarge),
    "33 arrays": (b"[" * 33 + b"]" * 33, TooDeep),
    "33 objects": (b'{"a":' * 33 + b"1" + b"}" * 33, TooDeep),
    "33 arrays beside strings with brackets": (b'["]]\\"]","\\\\",' * 33 + b"1" + b"]" * 33, TooDeep),
    "1,001 keys": (json.dumps({str(n): n for n in range(1001)}).encode(), TooManyKeys),
    "NUL in the open": (b"[1,\0 2]", NulCharacter),
    "NUL in a string": (b'"a\0b"', NulCharacter),
    "NUL escaped in a value": (rb'["a\u0000b"]', NulCharacter),
    "NUL escaped in a key": (rb'{"a\u0000b": 1}', NulCharacter),
    "NUL escaped after an escaped backslash": (rb'"\\\u0000"', NulCharacter),
    "a high surrogate alone": (rb'"\ud800"', LoneSurrogate),
    "a low surrogate alone": (rb'"\uDFFF"', LoneSurrogate),
    "a surrogate alone in a key": (rb'{"\uD83D": 1}', LoneSurrogate),
    "surrogates in the wrong order": (rb'"\ude00\ud83d"', LoneSurrogate),
    "two high surrogates, then a low one": (rb'"\ud83d\ud83d\ude00"', LoneSurrogate),
    "a high surrogate, then two low ones": (rb'"\ud83d\ude00\ude00"', LoneSurrogate),
    "surrogates held apart by a backslash": (rb'"\ud83d\\\ude00"', LoneSurrogate),
}

ACCEPTED: dict[str, tuple[bytes, object]] = {
    "a bare value": (b' "a" ', "a"),
    "32 levels": (b"[" * 32 + b"]" * 32, json.loads("[" * 32 + "]" * 32)),
    "many brackets side by side": (b"[" + b"{}," * 500 + b"[]]", [*[{}] * 500, []]),
    "brackets in strings": (b'["' + b"[{" * 500 + b'", "\\"[[", "\\\\"]', ["[{" * 500, '"[[', "\\"]),
    "1,000 keys": (json.dumps({str(n): n for n in range(1000)}).encode(), {str(n): n for n in range(1000)}),
    "the largest integer": (b"9223372036854775807", 2**63 - 1),
    "the smallest integer": (b"-9223372036854775808", -(2**63)),
    "the largest float": (b"1.7976931348623157e308", 1.7976931348623157e308),
    "a float too small to tell from zero": (b"1e-999", 0.0),
    "digits in a string": (b'"' + b"7" * 5000 + b'"', "7" * 5000),
    "a pair of surrogates": (rb'"\ud83d\uDE00"', "😀"),
    "Hangul, whose escapes look like surrogates": (rb'"\ud55c\uD55C"', "한한"),
    "the text of an escape": (rb'"\\u0000 \\ud800"', r"\u0000 \ud800"),
    "a key again in another object": (b'[{"a": 1}, {"a": {"a": 2}}]', [{"a": 1}, {"a": {"a": 2}}]),
}

MEGABYTE = 1_000_000
HOSTILE: dict[str, bytes] = {
    "brackets": b"[" * MEGABYTE,
    "objects": b'{"a":' * (MEGABYTE // 5),
    "deep and closed": b"[" * (MEGABYTE // 2) + b"]" * (MEGABYTE // 2),
    "deep without a long run": b"[[]," * (MEGABYTE // 4),
    "escaped backslashes": b'"' + rb"\\" * (MEGABYTE // 2) + b'"',
    "escaped quotes, never closed": b"[" * 30 + b'"' + rb"\"" * (MEGABYTE // 2),
    "digits": b"1" * MEGABYTE,
    "decimals": b"0." + b"1" * MEGABYTE,
    "surrogates": b'"' + rb"\ud83d\ude00" * (MEGABYTE // 12) + b'"',
    "one key": b"{" + b'"a":1,' * (MEGABYTE // 6) + b'"a":1}',
    "lines": b"\n" * MEGABYTE + b"x",
}


class Pairs(list[tuple[str, object]]):
    """An object as it was written, repeated keys and all."""


def permitted(value: object, *, levels: int = 32) -> bool:
    """The rules again, told by walking the value instead of searching the bytes."""
    match value:
        case Pairs():
            keys = [key for key, _ in value]
            inside = [permitted(key) and permitted(held, levels=levels - 1) for key, held in value]
            return levels > 0 and len(set(keys)) == len(keys) <= 1000 and all(inside)
        case list():
            items = cast("list[object]", value)
            return levels > 0 and all(permitted(item, levels=levels - 1) for item in items)
        case str():
            return not any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in value)
        case int():
            return -(2**63) <= value < 2**63
        case float():
            return math.isfinite(value)
        case _:
            return True


def outcome(reader: Callable[[bytes], object], raw: bytes) -> str:
    """`repr`, because 1, 1.0 and True are equal and -0.0 and 0.0 are too."""
    try:
        return repr(reader(raw))
    except Malformed:
        return "refused"


def read_slowly(raw: bytes) -> object:
    try:
        text = raw.decode()
        written = json.loads(text, object_pairs_hook=Pairs)
    except (ValueError, RecursionError):
        raise Malformed from None
    if not permitted(written):
        raise Malformed
    return json.loads(text)


FRAGMENTS = [
    *(
        b"[",
        b"]",
        b"{",
        b"}",
        b'"',
        b",",
        b":",
        b" ",
        b"\\",
        b"\\\\",
        b'\\"',
        b"\\u",
        b'"a"',
        b'{"a":',
        b"\xef\xbb\xbf",
    ),
    *(b"\\ud83d", b"\\ude00", b"\\uD800", b"\\u0000", b"\\u0061", b"0000", b"\0", b"\xff", b"\xc3\xa9", b"[" * 16),
    *(
        b"0",
        b"1",
        b"-",
        b".",
        b"e",
        b"E+",
        b"99",
        b"308",
        b"9" * 18,
        b"9223372036854775807",
        b"NaN",
        b"Infinity",
        b"null",
    ),
]
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | text,
    lambda inner: st.lists(inner) | st.dictionaries(text, inner),
)


@covers("B8")
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_plain_json_is_refused_in_a_sentence(case: str):
    raw, kind = REFUSED[case]
    with pytest.raises(kind) as refusal:
        read(raw)
    assert refusal.value.code == "malformed_json"
    assert str(refusal.value).endswith(".")
    assert len(str(refusal.value)) < 200


@covers("B8")
@pytest.mark.parametrize("case", ACCEPTED)
def test_what_only_looks_suspicious_is_read(case: str):
    raw, value = ACCEPTED[case]
    assert read(raw) == value


@covers("B8")
def test_a_refusal_says_what_is_wrong_where_and_what_to_do():
    assert str(NotJson(2, 6, "expecting value")) == (
        "The JSON cannot be read at line 2, column 6: expecting value. Correct it there and send it again."
    )
    with pytest.raises(NotJson, match=r"line 2, column 6: expecting value\."):
        read(b'{\n"a": x}')
    with pytest.raises(DuplicateKey, match="The key 'name' occurs twice in one object"):
        read(b'{"name": 1, "other": 2, "name": 3}')


@covers("B8")
@pytest.mark.parametrize("case", HOSTILE)
def test_a_megabyte_made_to_be_slow_is_answered_within_a_second(case: str):
    started = time.perf_counter()
    outcome(read, HOSTILE[case])
    assert time.perf_counter() - started < 1


@covers("B8")
def test_the_limits_can_be_set():
    assert read(b"[[{}]]", max_depth=3, max_keys=0) == [[{}]]
    with pytest.raises(TooDeep):
        read(b"[[{}]]", max_depth=2)
    with pytest.raises(TooManyKeys):
        read(b'{"a": 1}', max_keys=0)


def test_a_limit_deeper_than_the_interpreter_can_go_is_still_a_refusal():
    with pytest.raises(TooDeep):
        read(b"[" * 500_000 + b"]" * 500_000, max_depth=MEGABYTE)


@covers("B8")
@given(values, st.booleans(), st.sampled_from([None, 2]))
def test_any_value_within_the_limits_is_read_as_json_loads_reads_it(
    value: object, ascii_only: bool, indent: int | None
):
    raw = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    assert repr(read(raw)) == repr(json.loads(raw))


@covers("B8")
@given(st.binary() | st.lists(st.sampled_from(FRAGMENTS), max_size=40).map(b"".join))
@example(b'"[""]"' * 40)
def test_any_bytes_are_read_exactly_when_the_rules_permit_them(raw: bytes):
    assert outcome(read, raw) == outcome(read_slowly, raw)
