"""Binding: where a step wants the output of an earlier one, `{"$from": {"step": 0, "path": "effective"}}` says so."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

from pydantic import Field

from preceptor.domain.errors import Invalid, recorded
from preceptor.domain.value import FROM_JSON, Value

FROM = "$from"
MOST_STEPS = 200
Index = Annotated[int, Field(ge=0, lt=MOST_STEPS), FROM_JSON]


class Origin(Value):
    step: Index
    path: Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")] = Field(
        default="", description="Names and numbers with dots between them. Empty: all of the output."
    )


class Reference(Value):
    """The output of an earlier step, or a part of it."""

    origin: Origin = Field(alias=FROM)


class NothingThere(Invalid):
    """An output does not have what a later step wants of it."""

    step: int = 0
    path: str = ""

    def __str__(self) -> str:
        return recorded(
            "Step %(step)s put out nothing at %(path)s. Read its output, and correct the path of `$from`.",
            step=self.step,
            path=repr(self.path),
        )


def references_in(value: Any) -> Iterator[Origin]:
    """Every reference anywhere in a JSON value."""
    match value:
        case dict():
            said = cast("dict[str, Any]", value)
            if said.keys() == {FROM}:
                yield Origin.model_validate(said[FROM])
            else:
                for item in said.values():
                    yield from references_in(item)
        case list() | tuple():
            for item in cast("list[Any]", value):
                yield from references_in(item)
        case _:
            return


def bound(value: Any, outputs: Mapping[int, Any]) -> Any:
    """The value with what it refers to in the place of each reference. What was put out is never looked through."""
    match value:
        case dict():
            said = cast("dict[str, Any]", value)
            if said.keys() == {FROM}:
                return looked_up(Origin.model_validate(said[FROM]), outputs)
            return {name: bound(item, outputs) for name, item in said.items()}
        case list() | tuple():
            return [bound(item, outputs) for item in cast("list[Any]", value)]
        case _:
            return value


def looked_up(origin: Origin, outputs: Mapping[int, Any]) -> Any:
    if origin.step not in outputs:
        raise NothingThere(step=origin.step, path=origin.path)
    found: Any = outputs[origin.step]
    for name in origin.path.split(".") if origin.path else ():
        match found:
            case dict() if name in found:
                found = cast("dict[str, Any]", found)[name]
            case list() if name.isascii() and name.isdecimal() and int(name) < len(cast("list[Any]", found)):
                found = cast("list[Any]", found)[int(name)]
            case _:
                raise NothingThere(step=origin.step, path=origin.path)
    return found
