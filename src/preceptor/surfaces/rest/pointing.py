"""Pointing at what is wrong in a body: at places that it has, and with words that whoever wrote it knows.

Where a value may have one of several shapes, each that does not fit complains, and names itself on the way there.
"""

import re
from collections.abc import Iterable
from typing import Any, cast

from pydantic_core import ErrorDetails

Place = tuple[int | str, ...]
_MEMBER = re.compile(r"<\w+\.\w+: ('[^']*')>")
"""How Python writes a word of a closed vocabulary."""


def pointed(body: object, said: Iterable[ErrorDetails]) -> list[dict[str, Any]]:
    """What is complained about, each place once, without what was only tried: a text where a list was sent."""
    told = list({(one["loc"], one["msg"]): one for one in (_pointed(body, each) for each in said)}.values())
    return [one for one in told if not (_hasty(one) and any(_knows_better(other, one) for other in told))]


def _pointed(body: object, said: ErrorDetails) -> dict[str, Any]:
    place, message, about = _place(body, said), said["msg"], said.get("ctx", {})
    if "discriminator" in about:
        place = (*place, str(about["discriminator"]).strip("'"))
        message = f"Input should be one of {about['expected_tags']}" if "expected_tags" in about else "Field required"
    return {"type": said["type"], "loc": place, "msg": _MEMBER.sub(r"\1", message)}


def _place(body: object, said: ErrorDetails) -> Place:
    """As far as the body has it; what is missing would be there."""
    place: list[int | str] = []
    way = said["loc"]
    for number, step in enumerate(way, 1):
        inside = _inside(body)
        kind = step == inside.get("type") and number < len(way)  # a field may have the same name: a text has a text
        if step in inside and not kind:
            body = inside[step]
            place.append(step)
    return (*place, way[-1]) if said["type"] == "missing" else tuple(place)


def _inside(body: object) -> dict[int | str, Any]:
    if isinstance(body, list):
        return dict(enumerate(cast("list[Any]", body)))
    return cast("dict[int | str, Any]", body) if isinstance(body, dict) else {}


def _hasty(one: dict[str, Any]) -> bool:
    """Said of something as a whole: that it is of another type, or that too little of it could be read."""
    return one["type"].endswith("_type") or one["type"] == "too_short"


def _knows_better(other: dict[str, Any], one: dict[str, Any]) -> bool:
    """Whether it is about something inside, or about the same and more than its type."""
    here: Place = one["loc"]
    there: Place = other["loc"]
    same = there == here and one["type"].endswith("_type") and not other["type"].endswith("_type")
    return same or (len(there) > len(here) and there[: len(here)] == here)
