"""Pointing at what is wrong in a body: at places that it has, and with words that whoever wrote it knows.

Where a value may have one of several shapes, each that does not fit complains, and names itself on the way there.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from preceptor.domain.spelling import meant

Place = tuple[int | str, ...]
_MEMBER = re.compile(r"<\w+\.\w+: ('[^']*')>")
"""How Python writes a word of a closed vocabulary."""
NO_FIELD = "There is no such field here"
FEW = 12
"""Fields that are all told to whoever sends one that is not among them."""


def pointed(body: object, said: Iterable[ErrorDetails], kind: object) -> list[dict[str, Any]]:
    """What is complained about, each place once, without what was only tried: a text where a list was sent.

    `kind` is what the body should have told.
    """
    told = list({(one["loc"], one["msg"]): one for one in (_pointed(body, each, kind) for each in said)}.values())
    return [one for one in told if not (_hasty(one) and any(_knows_better(other, one) for other in told))]


def _pointed(body: object, said: ErrorDetails, kind: object) -> dict[str, Any]:
    place, message, about = _place(body, said), said["msg"], said.get("ctx", {})
    if said["type"] == "extra_forbidden":
        message = _unknown(place, kind)
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


def _unknown(place: Place, kind: object) -> str:
    """With the one that was meant, or else with all there are. Of several shapes, each has others."""
    shapes, name = set(_shapes(kind)), str(place[-1])
    for step in place[:-1]:
        shapes = shapes if isinstance(step, int) else set(_inner(shapes, step))
    known = tuple(field.alias or key for shape in shapes for key, field in shape.model_fields.items())
    alike = None if name in known else meant(name, known)
    if alike is not None:
        return f"There is no such field. Perhaps {alike} was meant"
    return (
        f"There is no such field. It takes {', '.join(known)}" if len(shapes) == 1 and len(known) <= FEW else NO_FIELD
    )


def _inner(shapes: Iterable[type[BaseModel]], name: str) -> Iterator[type[BaseModel]]:
    for shape in shapes:
        for key, field in shape.model_fields.items():
            if name == (field.alias or key):
                yield from _shapes(field.annotation)


def _shapes(kind: object) -> Iterator[type[BaseModel]]:
    """The values that something can be, or be a list of."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for part in get_args(kind):
        yield from _shapes(part)


def _hasty(one: dict[str, Any]) -> bool:
    """Said of something as a whole: that it is of another type, or that too little of it could be read."""
    return one["type"].endswith("_type") or one["type"] == "too_short"


def _knows_better(other: dict[str, Any], one: dict[str, Any]) -> bool:
    """Whether it is about something inside, or about the same and more than its type."""
    here: Place = one["loc"]
    there: Place = other["loc"]
    same = there == here and one["type"].endswith("_type") and not other["type"].endswith("_type")
    return same or (len(there) > len(here) and there[: len(here)] == here)
