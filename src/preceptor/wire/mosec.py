"""What a MOSEC guard server is sent and answers: one JSON object each way, read strictly."""

from typing import Any, cast

import orjson

from preceptor.domain.errors import Malformed
from preceptor.domain.reasoning.verdict import GuardFailure, GuardFault, Judged, Level, Verdict
from preceptor.wire.strict_json import read

_LEVELS = {level.value: level for level in Level}
_LONGEST_CATEGORY, _MOST_CATEGORIES = 80, 20


def request(text: str) -> bytes:
    return orjson.dumps({"content": text, "moderation_type": "prompt"})


def read_answer(raw: bytes) -> Judged:
    try:
        body = read(raw)
    except Malformed:
        return GuardFailure(GuardFault.UNREADABLE, "not JSON")
    if not isinstance(body, dict):
        return GuardFailure(GuardFault.UNREADABLE, "not a JSON object")
    answer = cast("dict[str, Any]", body)
    if answer.get("error"):
        return GuardFailure(GuardFault.REPORTED, "the guard reports an error")
    level = _LEVELS.get(answer["safety_level"]) if isinstance(answer.get("safety_level"), str) else None
    categories = _categories(answer.get("categories"))
    if level is None or categories is None:
        return GuardFailure(GuardFault.UNREADABLE, "no level that we know, or no list of categories")
    if answer.get("is_safe") not in {None, level is Level.SAFE}:
        return GuardFailure(GuardFault.UNREADABLE, "it contradicts itself")
    return Verdict(level, categories)


def _categories(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    items = cast("list[object]", value)
    if len(items) > _MOST_CATEGORIES:
        return None
    texts = [item for item in items if isinstance(item, str) and 0 < len(item) <= _LONGEST_CATEGORY]
    return tuple(dict.fromkeys(texts)) if len(texts) == len(items) else None
