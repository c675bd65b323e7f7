"""An operation of the API, described once: as a method whose signature says what it takes and what it answers.

    class Keys(Group[Kind]):
        @operation("DELETE /api/keys/{key_id}")
        def revoke(self, key_id: str) -> None:
            '''Take a key back.'''
            ...

What the path names goes there. `if_match` and `idempotency_key` are headers, anything else that is given by name alone
is the query, and the rest is the body. In a client that awaits the method is awaited; in the other it is not.
"""

import inspect
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, overload
from urllib.parse import quote

import httpx2
import orjson
from pydantic import BaseModel, SecretStr, TypeAdapter
from pydantic.alias_generators import to_camel

from preceptor.client.asking import Asked
from preceptor.client.streams import EVENT_STREAM, Event, Listening

Given = ParamSpec("Given")
Result = TypeVar("Result")
Method = Callable[Concatenate[Any, Given], Result]
Tag = str | None
"""The `etag` of what was read: the change is refused if someone else was there first."""
Key = str | None
"""Requests with the same key are carried out once; without one, each call has a key of its own."""
HEADERS = {"if_match": "If-Match", "idempotency_key": "Idempotency-Key"}


class Awaiting:
    """The kind of client whose operations are awaited."""


class Waiting:
    """The kind of client whose operations answer at once."""


Kind = TypeVar("Kind", Awaiting, Waiting)


class Carrier(Protocol):
    """Who sends what an operation asks."""

    def call(self, asked: Asked, read: Callable[[bytes], Any]) -> Any: ...
    def listen(self, listening: Listening) -> Any: ...


class Group(Generic[Kind]):
    """The operations on one noun."""

    def __init__(self, carrier: Carrier) -> None:
        self.carrier = carrier


class Described(Generic[Given]):
    """What an operation takes, and how that is sent."""

    def __init__(self, line: str, body: Any, define: Method[Given, Any]) -> None:
        self.method, self.path = line.split()
        self.body = body
        self.signature = inspect.signature(define)
        self.name = define.__name__
        self.__doc__ = define.__doc__

    def asked(self, *args: Given.args, **named: Given.kwargs) -> Asked:
        told = self.signature.bind(None, *args, **named).arguments
        fields = {name: told.pop(name) for name in self.takes if name in told}
        fields |= told.pop("fields", {})
        sent = {name: value for name, value in told.items() if name != "self" and value not in (None, [], ())}
        headers = {HEADERS[name]: str(sent.pop(name)) for name in HEADERS if name in sent}
        if self.method == "POST":
            headers.setdefault("Idempotency-Key", str(uuid.uuid4()))
        path = self.path.format(**{name: quote(str(sent.pop(name)), safe="") for name in self.ids})
        query = {to_camel(name.rstrip("_")): _spelled(value) for name, value in sent.items()}
        return Asked(self.method, path, query, self._written(fields), headers)

    def shown(self, call: Callable[Given, Any]) -> Callable[Given, Any]:
        """The same, as `help` and a prompt that completes show it."""
        vars(call)["__signature__"] = self._without_self
        call.__name__, call.__doc__ = self.name, self.__doc__
        return call

    @cached_property
    def _without_self(self) -> inspect.Signature:
        return self.signature.replace(parameters=list(self.signature.parameters.values())[1:])

    @cached_property
    def ids(self) -> list[str]:
        """What its path names."""
        return [name for name in self.signature.parameters if f"{{{name}}}" in self.path]

    @cached_property
    def takes(self) -> list[str]:
        """The fields of its body that have a place of their own."""
        places = {name: one for name, one in self.signature.parameters.items() if name not in {"self", *self.ids}}
        return [name for name, one in places.items() if one.kind is one.POSITIONAL_OR_KEYWORD]

    @cached_property
    def _writer(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.body)

    def _written(self, fields: dict[str, Any]) -> bytes | None:
        if self.body is None:
            return None
        value: BaseModel = self._writer.validate_python(fields.get("given", fields))
        return orjson.dumps(value.model_dump(mode="json", exclude_unset=True) | _secrets(value))


class Operation(Described[Given], Generic[Given, Result]):
    """One that is answered with a value."""

    @overload
    def __get__(
        self, group: Group[Awaiting], owner: type | None = None
    ) -> Callable[Given, Coroutine[Any, Any, Result]]: ...
    @overload
    def __get__(self, group: Group[Waiting], owner: type | None = None) -> Callable[Given, Result]: ...
    @overload
    def __get__(self, group: None, owner: type) -> "Operation[Given, Result]": ...
    def __get__(self, group: Group[Any] | None, owner: type | None = None) -> Any:
        if group is None:
            return self

        def call(*args: Given.args, **named: Given.kwargs) -> Any:
            return group.carrier.call(self.asked(*args, **named), self.read)

        return self.shown(call)

    @property
    def answer(self) -> Any:
        return self.signature.return_annotation

    @cached_property
    def _reader(self) -> TypeAdapter[Result] | None:
        return None if self.answer is None else TypeAdapter(self.answer)

    def read(self, content: bytes) -> Result:
        """The answer as its type. What a newer server adds is passed over."""
        if self._reader is None:
            return cast("Result", None)
        return self._reader.validate_json(content, extra="ignore")


class Upload(Operation[Given, Result]):
    """One that takes a file."""

    def asked(self, *args: Given.args, **named: Given.kwargs) -> Asked:
        bound = self.signature.bind(None, *args, **named)
        bound.apply_defaults()
        told = bound.arguments
        form = httpx2.Request("POST", "http://here", files={"file": (told["name"], told["data"], told["media_type"])})
        headers = {
            "Content-Type": form.headers["content-type"],
            "Idempotency-Key": str(told["idempotency_key"] or uuid.uuid4()),
        }
        return Asked(self.method, self.path, body=form.read(), headers=headers)


class Streaming(Described[Given]):
    """One that is answered with events, until there are no more."""

    def __init__(self, line: str, body: Any, define: Method[Given, Event], listening: type[Listening]) -> None:
        super().__init__(line, body, define)
        self.listening = listening

    @overload
    def __get__(self, group: Group[Awaiting], owner: type | None = None) -> Callable[Given, AsyncIterator[Event]]: ...
    @overload
    def __get__(self, group: Group[Waiting], owner: type | None = None) -> Callable[Given, Iterator[Event]]: ...
    @overload
    def __get__(self, group: None, owner: type) -> "Streaming[Given]": ...
    def __get__(self, group: Group[Any] | None, owner: type | None = None) -> Any:
        if group is None:
            return self

        def call(*args: Given.args, **named: Given.kwargs) -> Any:
            return group.carrier.listen(self.listening(self.asked(*args, **named)))

        return self.shown(call)

    def asked(self, *args: Given.args, **named: Given.kwargs) -> Asked:
        asked = super().asked(*args, **named)
        return Asked(asked.method, asked.path, asked.query, asked.body, asked.headers | {"Accept": EVENT_STREAM})


def operation(line: str, body: Any = None) -> Callable[[Method[Given, Result]], Operation[Given, Result]]:
    """`@operation("POST /api/agents", NewAgent)`: the method below sends that, with a body of this type."""
    return lambda define: Operation(line, body, define)


def upload(line: str) -> Callable[[Method[Given, Result]], Operation[Given, Result]]:
    """The method below sends a file: its `data`, its `name` and its `media_type`."""
    return lambda define: Upload(line, None, define)


def streaming(
    line: str, listening: type[Listening], body: Any = None
) -> Callable[[Method[Given, Event]], Streaming[Given]]:
    """The method below hears events. `listening` says when there are no more."""
    return lambda define: Streaming(line, body, define, listening)


def _spelled(value: Any) -> Any:
    match value:
        case bool():
            return str(value).lower()
        case datetime():
            return value.isoformat()
        case Enum():
            return value.value
        case list() | tuple():
            return ",".join(cast("list[str]", value))
        case _:
            return value


def _secrets(value: BaseModel) -> dict[str, str]:
    """Secrets hide themselves when they are written; here they are on their way to where they belong."""
    fields = type(value).model_fields
    told = ((fields[name].alias or name, getattr(value, name)) for name in value.model_fields_set)
    return {name: secret.get_secret_value() for name, secret in told if isinstance(secret, SecretStr)}
