"""The base of everything that is sent, stored or configured."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel
from typing_extensions import TypeAliasType

ANY_TEXT = r"^[^\x00]*$"
"""Text that every database can keep. Spelled out, because `\\s` and `\\S` differ between languages."""
VISIBLE_TEXT = r"^[^\x00]*[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff][^\x00]*$"
"""Such text, with something in it that can be seen."""

_VISIBLE = re.compile(VISIBLE_TEXT)

Text = Annotated[str, StringConstraints(pattern=ANY_TEXT)]
AnyId = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""How a body names something that has an id, as paths do."""


def is_visible(text: str) -> bool:
    """Whether there is something in it that can be seen."""
    return _VISIBLE.match(text) is not None


def _whole(number: object) -> object:
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _tuple(given: Any) -> Any:
    return tuple(cast("list[Any]", given)) if isinstance(given, list) else given


AS_TUPLE = BeforeValidator(_tuple)
"""Beside a tuple in a value that looks at what it is given before it is read: JSON has only lists."""
FROM_JSON = BeforeValidator(_whole)
"""Beside a whole number that someone sends, after its limits: JSON does not tell 1.0 from 1."""
JsonText = Text
JsonWhole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
JsonReal = Annotated[float, Field(ge=-(2**63), lt=2**63)]
Json = TypeAliasType("Json", "bool | JsonWhole | JsonReal | JsonText | list[Json] | dict[JsonText, Json] | None")
"""JSON that means the same to everyone who reads it. It is looked up by name where it is used: so its parts have names
that no module has for anything else.
"""


class Value(BaseModel):
    """Checked when built, never changed afterwards, equal to any other with the same content.

    Python says `created_at`, JSON says `createdAt`; both are accepted when a value is built in code.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        allow_inf_nan=False,
        defer_build=True,
    )

    @classmethod
    def as_declared(cls) -> Self:
        """All defaults, and nothing to check: for constants, so that no validator is built to start a program."""
        return cls.model_construct()

    def to_json(self) -> bytes:
        """As `model_dump_json`, for where that is all a request does: its options cost as much as a small value."""
        return self.__pydantic_serializer__.to_json(self)


class Revised(Value):
    """A value that counts its changes: whoever sends back its ETag changes what they have read, and nothing newer."""

    if TYPE_CHECKING:
        revision: int

    @property
    def etag(self) -> str:
        return f'"{self.revision}"'


Made = TypeVar("Made", bound=Value)


def made(kind: type[Made], given: Made | None, fields: dict[str, Any]) -> Made:
    """A value that a caller gave whole, or by its fields: `create(value)` and `create(name="Support")` are the same."""
    return kind(**fields) if given is None else given


def left_out() -> Any:
    """The default of a field in a change: it may be left out, but not be null."""
    return Field(default=None, json_schema_extra=_without_default)


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


def told(change: Value) -> dict[str, Any]:
    """What a change says, by field name."""
    return {name: getattr(change, name) for name in change.model_fields_set}


def texts_in(value: Any) -> Iterator[str]:
    """Every text anywhere in a JSON value."""
    match value:
        case str():
            yield value
        case list():
            for item in cast("list[Any]", value):
                yield from texts_in(item)
        case dict():
            for item in cast("dict[str, Any]", value).values():
                yield from texts_in(item)
        case _:
            return
