"""Request parameters: what a caller may ask of one request. Set on an agent, a conversation or a message."""

import re
from typing import Annotated, Any

from pydantic import (
    AliasChoices,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    field_validator,
    model_serializer,
    model_validator,
)

from preceptor.domain.history.limits import (
    LOW_WATER,
    CompressWhen,
    Limits,
    OnFailure,
    OnInsufficient,
    validate_history_size,
)
from preceptor.domain.history.strategy import CompressionStrategy
from preceptor.domain.prompts.prompt import Sampling
from preceptor.domain.value import FROM_JSON, Json, Text, Value, told

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_OURS = frozenset({"authorization", "content-length", "content-type", "cookie", "host", "transfer-encoding"})
RESERVED = frozenset({"messages", "model", "stream", "tool_choice", "tools"})
"""What no provider is told besides: the prompt and the agent decide it."""
_PLAIN = frozenset({int, float, bool, str, type(None)})
Whole = Annotated[int, Field(ge=-(2**31), lt=2**31), FROM_JSON]
Count = Annotated[int, Field(ge=1, lt=2**31), FROM_JSON]
Stop = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00]*$")]


class RequestParameters(Value):
    """None leaves a matter to the provider, or history as it is. What is not said, the next wider scope says."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_completion_tokens: Count | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Count | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    response_format: dict[Text, Json] | None = None
    stop: Annotated[tuple[Stop, ...], Field(max_length=16)] | None = None
    seed: Annotated[int, Field(ge=-(2**53), le=2**53), FROM_JSON] | None = None
    user: Annotated[Text, Field(max_length=256)] | None = None
    parallel_tool_calls: bool | None = None
    custom_headers: Annotated[dict[Text, Text], Field(max_length=32)] | None = None
    compression_strategy: CompressionStrategy | None = Field(
        default=None, description="Summarise older messages before the request. Without one nothing is ever summarised."
    )
    max_history_size: Whole | None = Field(
        default=None,
        description="How many messages are shown at most, up to the question. At least 1.",
        json_schema_extra={"anyOf": [{"type": "integer", "minimum": 1, "maximum": 2**31 - 1}, {"type": "null"}]},
    )
    max_tokens: Whole | None = Field(
        default=None,
        validation_alias=AliasChoices("maxTokens", "maxPromptTokens", "max_prompt_tokens"),
        description="How many tokens the whole prompt may have; also accepted as `maxPromptTokens`. "
        "The answer's length is `maxCompletionTokens`.",
    )
    enable_token_caching: bool = Field(default=True, description="False counts every message again, for comparison.")
    compress_when: CompressWhen = CompressWhen.ALWAYS
    low_water: Annotated[float, Field(gt=0, le=1)] = Field(
        default=LOW_WATER,
        description="How far down a cut for `maxTokens` goes, as a share of the room that history has. 1: no further "
        "than needed.",
    )
    on_failure: OnFailure = Field(default=OnFailure.RAISE, description="`trim`: trim when the summariser fails.")
    on_insufficient: OnInsufficient = OnInsufficient.SKIP
    distill_delegations: bool = Field(
        default=False,
        description="Once a turn has ended, show models what its delegations found in place of all they said.",
    )
    extra: Annotated[dict[Text, Json], Field(max_length=64)] = Field(
        default={},
        description="Sent to the provider as it is.",
        json_schema_extra={"propertyNames": {"not": {"enum": [*sorted(RESERVED)]}}},
    )

    @model_validator(mode="after")
    def _some_history(self) -> "RequestParameters":
        validate_history_size(self.max_history_size)
        return self

    @field_validator("custom_headers")
    @classmethod
    def _headers_that_can_be_sent(cls, headers: dict[str, str] | None) -> dict[str, str] | None:
        for name, value in (headers or {}).items():
            if not _HEADER.fullmatch(name) or name.lower() in _OURS:
                raise ValueError(f"{name!r} is not a header that can be set here")
            if len(value) > 4096 or any(not (" " <= char <= "~" or char == "\t") for char in value):
                raise ValueError(f"the value of {name!r} must be visible ASCII characters")
        return headers

    @field_validator("extra")
    @classmethod
    def _what_the_prompt_does_not_decide(cls, extra: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(RESERVED & extra.keys()):
            raise ValueError(f"{taken[0]!r} is decided by the prompt and the agent: leave it out")
        return extra

    @model_serializer(mode="wrap")
    def _what_was_said(self, write: SerializerFunctionWrapHandler):  # noqa: ANN202 - a type would hide the fields
        """Only what was said: what is read again must leave the rest to the wider scope, as this does."""
        said = {type(self).model_fields[name].alias for name in self.model_fields_set} | self.model_fields_set
        return {name: value for name, value in write(self).items() if name in said}

    def over(self, wider: "RequestParameters | None") -> "RequestParameters":
        """These, and where they say nothing, the wider scope's. Saying null is saying something."""
        if wider is None or wider is self:
            return self
        return wider.model_copy(update=told(self)) if self.model_fields_set else wider

    def requires_history_management(self) -> bool:
        return self.limits.requires_history_management

    @property
    def limits(self) -> Limits:
        return Limits(
            strategy=self.compression_strategy,
            max_tokens=self.max_tokens,
            max_history_size=self.max_history_size,
            compress_when=self.compress_when,
            low_water=self.low_water,
            on_insufficient=self.on_insufficient,
            on_failure=self.on_failure,
        )

    @property
    def as_said(self) -> dict[str, Any]:
        """What they say, in JSON. Most say a number or two, which are in JSON what they are here."""
        said = {_NAMED[name]: getattr(self, name) for name in sorted(self.model_fields_set)}
        plain = all(type(value) in _PLAIN for value in said.values())
        return said if plain else self.model_dump(mode="json")

    @property
    def sampling(self) -> Sampling:
        return Sampling(
            temperature=self.temperature,
            max_completion_tokens=self.max_completion_tokens,
            top_p=self.top_p,
            top_k=self.top_k,
            frequency_penalty=self.frequency_penalty,
            presence_penalty=self.presence_penalty,
            response_format=self.response_format,
            stop=self.stop or (),
            seed=self.seed,
            user=self.user,
            parallel_tool_calls=self.parallel_tool_calls,
            custom_headers=self.custom_headers or {},
            extra=self.extra,
        )


_NAMED = {name: field.alias or name for name, field in RequestParameters.model_fields.items()}
"""The name of each in JSON."""
AS_USUAL = RequestParameters.as_declared()
"""Nothing is asked for that a wider scope does not say."""
