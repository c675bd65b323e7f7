"""Making foreign text harmless where it is quoted: it can no longer pass for a heading, a role, a tag or a fence.

Every text of a plan and of a verdict goes through here before it is put anywhere; the record also keeps the original.
"""

# ruff: noqa: RUF001 - these letters are meant

import re
from collections.abc import Iterable, Sequence

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\U000e0000-\U000e007f]"
)
_SPACE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_ANGLES = str.maketrans("<>＜＞﹤﹥", "‹›‹›‹›")
_FENCE = re.compile(r"`{2,}|~{2,}")
_IMAGE = re.compile(r"!+(?=\s*\[)")
_ROLE_TAG = re.compile(r"\[\s*(/?\s*(?:inst|sys|system|user|assistant|tool)\s*)\]", re.IGNORECASE)
_LEADING_MARKS = re.compile(r"\A[#＃=＝\-\s]+")
_LEADING_ROLE = re.compile(
    r"\A([\W_]*(?:system|assistant|user|human|ai|tool|developer|система|ассистент|пользователь|hệ thống|trợ lý|"
    r"người dùng)[\W_]{0,8}?)[:：]",
    re.IGNORECASE,
)


_SUSPECT = bytes.maketrans(b"<>#:[`~!\xef", bytes(9))
"""In UTF-8. 0xEF begins the wide forms of the same signs, and little else that people write."""


def plain(texts: Sequence[str]) -> bool:
    """Whether `neutral` would change none of them: a quick look at all at once, wrong only to the safe side."""
    together = "".join(texts)
    if not together.isprintable() or 0 in together.encode().translate(_SUSPECT):
        return False
    return [text.strip(" -=") for text in texts] == texts


def neutral(text: str) -> str:
    """The text on one line, saying the same to a reader and nothing to a parser."""
    text = _SPACE.sub(" ", _INVISIBLE.sub("", text)).strip().translate(_ANGLES)
    text = _FENCE.sub("'", text)
    text = _ROLE_TAG.sub(r"(\1)", _IMAGE.sub("", text))
    text = _LEADING_MARKS.sub("", text)
    return _LEADING_ROLE.sub(r"\1 –", text)


def all_neutral(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(made for text in texts if (made := neutral(text)))
