"""What Qwen3Guard answers over an OpenAI-compatible chat API, read strictly: exactly one verdict, or none.

The model may repeat what it was asked about, and a user may quote a verdict. So a verdict counts only as a line of its
own, spelled exactly, and a second one of any spelling makes the answer useless.
"""

# ruff: noqa: RUF001 - these letters are meant

import re
from typing import Any, cast

import orjson

from preceptor.domain.errors import Malformed
from preceptor.domain.reasoning.verdict import GuardFailure, GuardFault, Judged, Level, Verdict
from preceptor.wire.strict_json import read

CATEGORIES = (
    "Violent",
    "Non-violent Illegal Acts",
    "Sexual Content or Sexual Acts",
    "PII",
    "Suicide & Self-Harm",
    "Unethical Acts",
    "Politically Sensitive Topics",
    "Copyright Violation",
    "Jailbreak",
)
OTHER = "Other"

_LEVEL = re.compile(r"Safety: (Safe|Controversial|Unsafe)[ \t\r]*")
_LIKE_A_LEVEL = re.compile(r"\W*safety\W*[:：]", re.IGNORECASE)
_CATEGORIES = re.compile(r"Categories: (.{1,400}?)[ \t\r]*")
_KNOWN = {category.casefold(): category for category in CATEGORIES}


def request(model: str, text: str) -> bytes:
    return orjson.dumps(
        {
            "model": model,
            "messages": [{"role": "user", "content": text}],
            "temperature": 0,
            "max_tokens": 128,
            "stream": False,
        }
    )


def read_completion(raw: bytes) -> Judged:
    """The verdict in a chat completion."""
    try:
        body = cast("dict[str, Any]", read(raw))
        [choice] = body["choices"]
        said, finish = choice["message"]["content"], choice["finish_reason"]
    except (Malformed, KeyError, TypeError, ValueError):
        return GuardFailure(GuardFault.UNREADABLE, "not a chat completion with one choice")
    if finish != "stop" or not isinstance(said, str):
        return GuardFailure(GuardFault.UNREADABLE, "the answer broke off")
    return read_answer(said)


def read_answer(said: str) -> Judged:
    levels = [match[1] for line in said.split("\n") if (match := _LEVEL.fullmatch(line))]
    alike = [line for line in said.splitlines() if _LIKE_A_LEVEL.match(line)]
    listed = [match[1] for line in said.split("\n") if (match := _CATEGORIES.fullmatch(line))]
    if len(levels) != 1 or len(alike) != 1 or len(listed) > 1:
        return GuardFailure(GuardFault.UNREADABLE, "not exactly one verdict")
    return Verdict(Level(levels[0]), _categories(listed[0]) if listed else ())


def _categories(listed: str) -> tuple[str, ...]:
    """Known ones by their name; whatever else stands there is foreign text, and only counted."""
    named = [name.strip() for name in listed.split(",")]
    found = [_KNOWN.get(name.casefold(), OTHER) for name in named if name and name.casefold() != "none"]
    return tuple(dict.fromkeys(found))
