"""Models: what each of them can do, and what it costs."""

from enum import StrEnum
from typing import Annotated, Any, cast

import msgspec
from pydantic import Field

from preceptor.domain.prompts.prompt import Force
from preceptor.domain.prompts.reply import Usage
from preceptor.domain.value import Text, Value


class Vocabulary(StrEnum):
    """Whose tokens we count with. `estimated` where a model's own vocabulary is not public."""

    O200K = "o200k_base"
    CL100K = "cl100k_base"
    LLAMA3 = "llama3"
    QWEN = "qwen2.5"
    GEMMA = "gemma"
    MISTRAL = "mistral"
    DEEPSEEK = "deepseek_v3"


class Capabilities(Value):
    """What a model can do. It decides how it is asked, never whether the answer is believed."""

    forced: tuple[Force, ...] = Field(default=(Force.NAMED, Force.REQUIRED), description="The strictest first.")
    tools: bool = True
    parallel_tools: bool = True
    prefill: bool = False
    several_systems: bool = Field(default=False, description="It would take more than one. One is sent in any case.")
    schema_without: tuple[Text, ...] = Field(
        default=(), description="Keywords of JSON Schema that it refuses: they are left out of its tools' schemas."
    )
    images: bool = False
    plans: bool = True
    context_window: Annotated[int, Field(ge=1)] = 128_000
    vocabulary: Vocabulary = Vocabulary.O200K
    estimated: bool = Field(default=False, description="The counts are those of another vocabulary.")
    message_overhead: int = 3
    input_price: Annotated[float, Field(ge=0)] = 0.0
    output_price: Annotated[float, Field(ge=0)] = 0.0
    cached_price: Annotated[float, Field(ge=0)] | None = None
    note: Text = ""
    """Prices are per million tokens."""

    def priced(self, usage: Usage) -> Usage:
        """The usage with what it cost. Tokens that the provider had in its cache may be cheaper."""
        fresh = max(usage.input_tokens - usage.cached_tokens, 0)
        cached = self.input_price if self.cached_price is None else self.cached_price
        paid = fresh * self.input_price + usage.cached_tokens * cached + usage.output_tokens * self.output_price
        return msgspec.structs.replace(usage, cost=paid / 1_000_000)

    def holding(self, tool: str | None) -> Force | None:
        """The strictest way to have it call this tool, or without a name any; None if it can only be asked to."""
        ways = (Force.REQUIRED,) if tool is None else (Force.NAMED, Force.REQUIRED)
        return next((way for way in ways if self.tools and way in self.forced), None)

    def tool_schema(self, given: dict[str, Any]) -> dict[str, Any]:
        """A tool's schema as this model takes it."""
        return _without(given, frozenset(self.schema_without)) if self.schema_without else given


_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Whose keys are names, and not keywords."""
_VALUES = frozenset({"const", "enum", "default", "examples"})


def _without(schema: dict[str, Any], keywords: frozenset[str]) -> dict[str, Any]:
    return {name: _inside(name, value, keywords) for name, value in schema.items() if name not in keywords}


def _inside(name: str, value: Any, keywords: frozenset[str]) -> Any:
    if name in _VALUES:
        return value
    if isinstance(value, list):
        return [_inside("", one, keywords) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    inner = cast("dict[str, Any]", value)
    if name in _NAMED:
        return {one: _inside("", said, keywords) for one, said in inner.items()}
    return _without(inner, keywords)
