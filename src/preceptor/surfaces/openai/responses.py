"""/v1/responses: the same turns in OpenAI's newer form, for text and tools."""

from typing import Annotated, Any, Literal

from fastapi import Request
from fastapi.responses import Response
from pydantic import Field

from preceptor.domain.ids import ConversationId, TurnId
from preceptor.domain.messages.brought import Brought
from preceptor.domain.messages.message import Role, Text, ToolCall, ToolResult
from preceptor.domain.ownership import Permission
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.prompts.prompt import ToolSpec
from preceptor.domain.value import AnyId, Json
from preceptor.domain.value import Text as AnyText
from preceptor.engine.clients import Asked
from preceptor.surfaces.openai.answering import STREAMED, Conversation, answered, seconds_of, understood
from preceptor.surfaces.openai.asking import (
    LARGEST_HISTORY,
    MOST_MESSAGES,
    MOST_TOOLS,
    Body,
    Count,
    Function,
    NamedFunction,
    NotHere,
    Sampled,
    brought_by,
    conversation_of,
    forced_of,
    parameters_of,
    spec_of,
    structured,
)
from preceptor.surfaces.openai.responding import ID, Responding
from preceptor.surfaces.openai.shapes import ModelResponse
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs, with_room
from preceptor.wire.openai_pieces import mended, read_object, text_of

router = Api("/v1", "openai")


class ResponseTool(Function):
    type: Literal["function"]


class NamedTool(NamedFunction):
    type: Literal["function"]


class TextOptions(Body):
    format: dict[AnyText, Json] | None = None


class NamedConversation(Body):
    id: AnyId


class ResponseRequest(Sampled):
    """A request for a response."""

    input: AnyText | Annotated[list[dict[AnyText, Json]], Field(min_length=1, max_length=MOST_MESSAGES)]
    instructions: Annotated[AnyText, Field(description="Kept as words of an untrusted client.")] | None = None
    max_output_tokens: Count | None = None
    previous_response_id: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    conversation: AnyId | NamedConversation | None = None
    text: TextOptions | None = None
    tools: Annotated[list[ResponseTool], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedTool | None = None

    def parameters(self) -> RequestParameters:
        return parameters_of(
            temperature=self.temperature,
            max_completion_tokens=self.max_output_tokens,
            top_p=self.top_p,
            response_format=_format(self.text),
            user=self.user,
            parallel_tool_calls=self.parallel_tool_calls,
        )

    def client_tools(self) -> tuple[ToolSpec, ...]:
        return () if self.tool_choice == "none" else tuple(map(spec_of, self.tools or ()))

    def forced(self) -> str | None:
        named = self.tool_choice.name if isinstance(self.tool_choice, NamedTool) else None
        return forced_of(self.client_tools(), named, required=self.tool_choice == "required")

    def named(self, header: str | None) -> str | None:
        told = self.conversation.id if isinstance(self.conversation, NamedConversation) else self.conversation
        return told or conversation_of(self.metadata, header)


@router.post("/responses", response_model=ModelResponse, responses=STREAMED)
@needs(Permission.CONVERSATION_WRITE)
@with_room(LARGEST_HISTORY)
async def respond(
    said: ResponseRequest, preceptor: ThePreceptor, request: Request, conversation: Conversation = None
) -> Response:
    """Answer what is said last, in one conversation, after an earlier response, or on its own."""
    asked = await understood(preceptor, said.model, lambda: _asked(said, conversation))
    taken = await preceptor.clients.begin(asked)
    tools = frozenset(tool.name for tool in asked.tools)
    answer = Responding(said.model, taken, seconds_of(taken, preceptor), tools)
    return await answered(request, preceptor, asked, taken, answer, stream=bool(said.stream))


def _asked(said: ResponseRequest, header: str | None) -> Asked:
    named = said.named(header)
    return Asked(
        agent_id=said.model,
        said=_brought(said),
        parameters=said.parameters(),
        conversation_id=None if named is None else ConversationId(named),
        after=None if said.previous_response_id is None else TurnId(said.previous_response_id.removeprefix(ID)),
        tools=said.client_tools(),
        forced=said.forced(),
        must_call=said.tool_choice == "required",
        client="openai-responses",
    )


def _brought(said: ResponseRequest) -> tuple[Brought, ...]:
    first = () if not said.instructions else (Brought(Role.SYSTEM, (Text(mended(said.instructions)),)),)
    if isinstance(said.input, str):
        return (*first, Brought(Role.USER, (Text(mended(said.input)),) if said.input else ()))
    return (*first, *_merged([one for item in said.input for one in _item(item)]))


def _item(item: dict[str, Any]) -> tuple[Brought, ...]:
    match item.get("type", "message"):
        case "message":
            return brought_by([item])
        case "function_call":
            raw = mended(text_of(item.get("arguments")))
            arguments = read_object(raw) if raw.strip() else {}
            named = _id(item), mended(text_of(item.get("name")))
            call = ToolCall(*named, {}, raw) if arguments is None else ToolCall(*named, arguments)
            return (Brought(Role.ASSISTANT, (call,)),)
        case "function_call_output":
            return (Brought(Role.TOOL, (ToolResult(_id(item), "unknown", _output(item.get("output"))),)),)
        case "reasoning":
            return ()
        case other:
            raise NotHere(f"Items of the type {str(other)[:64]!r} are not understood here. Send messages and calls.")


def _merged(brought: list[Brought]) -> list[Brought]:
    """The calls of one answer come one by one, and belong to one message."""
    told: list[Brought] = []
    for one in brought:
        calls = bool(one.parts) and all(isinstance(part, ToolCall) for part in one.parts)
        if calls and told and told[-1].role is Role.ASSISTANT:
            told[-1] = Brought(Role.ASSISTANT, (*told[-1].parts, *one.parts))
        else:
            told.append(one)
    return told


def _id(item: dict[str, Any]) -> str:
    if not (named := mended(text_of(item.get("call_id")))):
        raise NotHere("A call or its output has no `call_id`. Send the one that the call had.")
    return named


def _output(output: Any) -> str:
    if isinstance(output, str):
        return mended(output)
    return "".join(part.text for one in brought_by([{"role": "user", "content": output}]) for part in _texts(one))


def _texts(one: Brought) -> list[Text]:
    return [part for part in one.parts if isinstance(part, Text)]


def _format(text: TextOptions | None) -> dict[str, Any] | None:
    wanted = structured(None if text is None else text.format)
    if wanted is None or wanted.get("type") != "json_schema":
        return wanted
    schema = {name: wanted[name] for name in ("name", "description", "schema", "strict") if name in wanted}
    return {"type": "json_schema", "json_schema": schema}
