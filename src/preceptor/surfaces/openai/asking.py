"""What clients of OpenAI's API ask, read strictly where we act on it and with patience where we do not."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from preceptor.domain.errors import Invalid
from preceptor.domain.messages.brought import Brought
from preceptor.domain.messages.message import Attachment
from preceptor.domain.prompts.parameters import RequestParameters, Stop
from preceptor.domain.prompts.prompt import TOOL_TEXT, Effect, ToolSpec
from preceptor.domain.value import ANY_TEXT, FROM_JSON, Json, Text
from preceptor.wire.openai_client import said_by_client

MOST_MESSAGES = 10_000
LARGEST_HISTORY = 4_000_000
"""Bytes: these clients send all that was said with every question."""
MOST_TOOLS = 128
Model = Annotated[
    str, StringConstraints(min_length=1, max_length=128, pattern=ANY_TEXT), Field(description="An agent's id.")
]
ToolName = Annotated[str, StringConstraints(pattern=TOOL_TEXT)]
Count = Annotated[int, Field(ge=1, lt=2**31), FROM_JSON]
Share = Annotated[float, Field(ge=0, le=1)]
Penalty = Annotated[float, Field(ge=-2, le=2)]


_OPEN: dict[str, Any] = {
    "propertyNames": {"pattern": ANY_TEXT},
    "additionalProperties": {
        "anyOf": [{"type": "string", "pattern": ANY_TEXT}, {"type": "boolean"}, {"type": "null"}],
        "description": "What is not listed here is ignored.",
    },
}


class Body(BaseModel):
    """A client's words. Fields that we do not know are ignored, as its authors expect; those we know are checked."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, json_schema_extra=_OPEN)


class Sampled(Body):
    """What both of OpenAI's forms say in the same way."""

    model: Model
    stream: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Share | None = None
    parallel_tool_calls: bool | None = None
    user: Annotated[Text, Field(max_length=256)] | None = None
    metadata: Annotated[dict[Text, Json], Field(description="`conversation_id`: go on with that one.")] | None = None


class Function(Body):
    name: ToolName
    description: Text | None = None
    parameters: dict[Text, Json] | None = None


class ChatTool(Body):
    type: Literal["function"]
    function: Function


class StreamOptions(Body):
    include_usage: bool | None = None


class NamedFunction(Body):
    name: Text


class ChosenTool(Body):
    type: Literal["function"]
    function: NamedFunction


class ChatRequest(Sampled):
    """A request for a chat completion."""

    messages: Annotated[list[dict[Text, Json]], Field(min_length=1, max_length=MOST_MESSAGES)]
    n: Literal[1] | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[Count, Field(description="Older name of `max_completion_tokens`.")] | None = None
    max_completion_tokens: Count | None = None
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None
    stop: Stop | Annotated[list[Stop], Field(max_length=16)] | None = None
    seed: Annotated[int, Field(ge=-(2**53), le=2**53), FROM_JSON] | None = None
    response_format: dict[Text, Json] | None = None
    tools: Annotated[list[ChatTool], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: Literal["none", "auto", "required"] | ChosenTool | None = None

    def parameters(self) -> RequestParameters:
        stop = (self.stop,) if isinstance(self.stop, str) else self.stop
        return parameters_of(
            temperature=self.temperature,
            max_completion_tokens=self.max_completion_tokens or self.max_tokens,
            top_p=self.top_p,
            frequency_penalty=self.frequency_penalty,
            presence_penalty=self.presence_penalty,
            response_format=structured(self.response_format),
            stop=None if stop is None else tuple(stop),
            seed=self.seed,
            user=self.user,
            parallel_tool_calls=self.parallel_tool_calls,
        )

    def client_tools(self) -> tuple[ToolSpec, ...]:
        wanted = () if self.tool_choice == "none" else self.tools or ()
        return tuple(spec_of(tool.function) for tool in wanted)

    def forced(self) -> str | None:
        named = self.tool_choice.function.name if isinstance(self.tool_choice, ChosenTool) else None
        return forced_of(self.client_tools(), named, required=self.tool_choice == "required")


class NotHere(Invalid):
    """Something of OpenAI's API that we do not do."""


def parameters_of(**wanted: Any) -> RequestParameters:
    """What was said, and nothing else: the rest is the conversation's or the agent's to say."""
    return RequestParameters.model_validate({name: value for name, value in wanted.items() if value is not None})


def structured(wanted: dict[str, Any] | None) -> dict[str, Any] | None:
    """A format other than plain text, which every answer is anyway."""
    return None if wanted is None or wanted.get("type") == "text" else wanted


def spec_of(told: Function) -> ToolSpec:
    schema = told.parameters or {"type": "object", "properties": {}}
    return ToolSpec(told.name, told.description or "", schema, Effect.CLIENT)


def forced_of(tools: Sequence[ToolSpec], named: str | None, *, required: bool) -> str | None:
    """The one tool that must be called, if it is one."""
    if named is not None and all(tool.name != named for tool in tools):
        raise NotHere(f"`tool_choice` names {named!r}, which is not among `tools`.")
    if required and not tools:
        raise NotHere("`tool_choice` is `required`, and there are no `tools` to call. Send some, or leave it out.")
    return named or (tools[0].name if required and len(tools) == 1 else None)


def brought_by(messages: Iterable[dict[str, Any]]) -> tuple[Brought, ...]:
    """A client's list of messages. Pictures and sounds are files here, and files are sent on their own."""
    brought: list[Brought] = []
    for place, said in enumerate(said_by_client(list(messages))):
        if any(isinstance(part, Attachment) for part in said.parts):
            raise NotHere(f"Message {place} has a part that is not text. Send files to /api/attachments.")
        brought.append(Brought(said.role, said.parts))
    return tuple(brought)


def conversation_of(metadata: dict[str, Any] | None, header: str | None) -> str | None:
    """Which conversation a client means, if it says so."""
    told = (metadata or {}).get("conversation_id")
    if told is not None and (not isinstance(told, str) or not told or len(told) > 128):
        raise NotHere("`metadata.conversation_id` is not an id. Leave it out to start a conversation.")
    if told is not None and header is not None and told != header:
        raise NotHere("`metadata.conversation_id` and X-Preceptor-Conversation name two conversations. Send one.")
    return told or header
