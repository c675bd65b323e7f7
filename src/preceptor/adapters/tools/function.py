"""A Python function as a tool: its schema comes from its signature, and what a model sends is held to it."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, cast, get_type_hints, overload

import msgspec
import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from pydantic.errors import PydanticUserError
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict

from preceptor.domain.errors import CannotStart
from preceptor.domain.prompts.prompt import Effect, ToolSpec

PATIENCE = 30.0
LONGEST_DESCRIPTION = 4_000
RESERVED = frozenset({"delegate_internal_reasoning", "return_control", "analyse_user_request", "start_conversation"})

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_ORDINARY = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}

Declared = Effect | Literal["read", "idempotent", "once"]


class ToolError(Exception):
    """Raised by a tool to tell the model in its own words what went wrong. Other exceptions keep their words."""


class ToolRun(msgspec.Struct, frozen=True):
    """Which call a tool serves: a parameter of this type is filled in and not shown to the model.

    The same `key` means the same call, run again because nobody knows how the first time ended.
    """

    key: str
    call_id: str
    name: str


class UnusableTool(CannotStart):
    """A function that cannot be a tool as it is written."""


@dataclass(frozen=True)
class Tool:
    """A function and what a model is told of it. It can still be called as the function it is."""

    name: str
    description: str
    effect: Effect
    timeout: float
    function: Callable[..., Any]
    parameters: dict[str, Any] = field(repr=False)
    takes_run: str | None = field(repr=False)
    _reader: TypeAdapter[Any] = field(repr=False)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.function(*given, **named)

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self.parameters, self.effect)

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function wants them, or a `ToolError` that says what does not fit."""
        try:
            return self._reader.validate_json(orjson.dumps(dict(arguments)))
        except ValidationError as error:
            raise ToolError(_complaint(self.name, error)) from None
        except TypeError:
            raise ToolError(f"The arguments of {self.name} are not JSON.") from None


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, effect: Declared = "once", timeout: float = PATIENCE
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Declared = "once",
    timeout: float = PATIENCE,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a function a tool. `effect` says what may be done when nobody knows whether it ran: `read` and `idempotent`
    tools are run again, a tool that acts `once` is not, and is what a tool is unless it says otherwise.
    """

    def made(function: Callable[..., Any]) -> Tool:
        told = inspect.cleandoc(function.__doc__ or "") if description is None else description
        named = name or getattr(function, "__name__", "")
        _check(named, told, timeout)
        run, reader, schema = _schema(named, function)
        return Tool(named, told, Effect(effect), timeout, function, schema, run, reader)

    return made if function is None else made(function)


def _check(name: str, description: str, timeout: float) -> None:
    if name in RESERVED or name.lower().startswith("preceptor."):
        raise UnusableTool(f"The name {name!r} is Preceptor's own. Choose another for this tool.")
    if not _NAME.fullmatch(name):
        raise UnusableTool(f"{name!r} cannot be the name of a tool. Use up to 64 letters, digits, `_` and `-`.")
    if not description.strip():
        raise UnusableTool(f"The tool {name!r} says nothing about itself. Give its function a docstring.")
    if len(description) > LONGEST_DESCRIPTION:
        raise UnusableTool(f"The description of {name!r} is longer than {LONGEST_DESCRIPTION} characters. Shorten it.")
    if not 0 < timeout <= 86_400:
        raise UnusableTool(f"The timeout of {name!r} is not between 0 and 86,400 seconds.")


def _schema(name: str, function: Callable[..., Any]) -> tuple[str | None, TypeAdapter[Any], dict[str, Any]]:
    try:
        hints = get_type_hints(function, include_extras=True)
        signature = inspect.signature(function)
    except (NameError, TypeError, ValueError) as error:
        raise UnusableTool(f"The signature of {name!r} cannot be read: {error}.") from None
    run: str | None = None
    wanted: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        if parameter.kind not in _ORDINARY or parameter.name not in hints:
            raise UnusableTool(f"The parameter {parameter.name!r} of {name!r} needs a name and a type of its own.")
        if hints[parameter.name] is ToolRun:
            run = parameter.name
        elif parameter.default is parameter.empty:
            wanted[parameter.name] = hints[parameter.name]
        else:
            wanted[parameter.name] = NotRequired[hints[parameter.name]]
            defaults[parameter.name] = parameter.default
    reader = _reader(name, wanted)
    return run, reader, _shown(reader.json_schema(), defaults)


def _reader(name: str, wanted: dict[str, Any]) -> TypeAdapter[Any]:
    strictly = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    arguments: Any = with_config(strictly)(TypedDict(name, wanted))  # pyright: ignore[reportArgumentType] - its fields are known only now
    try:
        return TypeAdapter(arguments)
    except PydanticUserError as error:
        said = str(error).splitlines()[0]
        raise UnusableTool(f"A parameter of {name!r} has a type that JSON cannot say: {said}.") from None


def _shown(schema: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The schema as a model is shown it: with defaults, without titles that repeat the names."""
    properties: dict[str, Any] = schema.get("properties", {})
    for name, default in defaults.items():
        properties[name] = properties[name] | {"default": to_jsonable_python(default, fallback=str)}
    required: list[str] = []
    shown = {"type": "object", "properties": properties, "required": required, **_untitled(schema)}
    return {**shown, "properties": {name: _untitled(one) for name, one in properties.items()}}


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "title" or not isinstance(value, str)}


def _complaint(name: str, error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    said = "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}" for fault in faults[:5])
    more = f" (and {len(faults) - 5} more)" if len(faults) > 5 else ""
    return f"The arguments of {name} do not fit: {said}{more}. Call it again with arguments that fit its schema."


def as_tool(given: Any, origin: str) -> tuple[Tool, ...]:
    """A tool, a plain function, or a list of them."""
    if isinstance(given, Tool):
        return (given,)
    if isinstance(given, list | tuple):
        return tuple(one for item in cast("list[Any]", given) for one in as_tool(item, origin))
    if inspect.isfunction(given):
        try:
            return (tool(given),)
        except UnusableTool as error:
            raise UnusableTool(f"{origin} cannot be a tool: {error}") from None
    raise UnusableTool(f"{origin} is neither a tool nor a list of tools. Mark a function with `@preceptor.tool`.")
