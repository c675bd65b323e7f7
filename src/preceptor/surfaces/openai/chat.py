"""/v1/models and /v1/chat/completions"""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
import orjson
from fastapi import Request
from fastapi.responses import Response

from preceptor.domain.agents import Agent
from preceptor.domain.errors import ShuttingDown
from preceptor.domain.ids import ConversationId, MessageId
from preceptor.domain.messages.message import ToolCall
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import LARGEST_PAGE
from preceptor.domain.prompts.reply import Usage
from preceptor.domain.turns.facts import Ended, TurnStatus
from preceptor.engine.clients import Asked
from preceptor.engine.turn.failing import failure_of
from preceptor.engine.turns import Taken
from preceptor.surfaces.openai.answering import STREAMED, Conversation, answered, seconds_of, understood
from preceptor.surfaces.openai.asking import LARGEST_HISTORY, ChatRequest, brought_by, conversation_of
from preceptor.surfaces.openai.shapes import ChatCompletion, ListedModel, ModelList
from preceptor.surfaces.openai.telling import (
    ALIVE,
    Piece,
    Words,
    calls_for,
    finish_of,
    usage_of,
)
from preceptor.surfaces.problems import openai_error_of
from preceptor.surfaces.rest.parameters import Name
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs, with_room
from preceptor.surfaces.rest.telling import JSON
from preceptor.wire.openai_chat import arguments_of

router = Api("/v1", "openai")
DONE = b"data: [DONE]\n\n"
BETWEEN = "\n\n"
"""One answer can be several messages of ours: words between calls of tools."""


@router.get("/models", response_model=ModelList)
@needs(Permission.AGENT_READ)
async def models(preceptor: ThePreceptor) -> Response:
    """List the models: each agent of your organisation is one."""
    found: list[Agent] = []
    cursor: str | None = None
    while True:
        page = await preceptor.agents.page(cursor, LARGEST_PAGE)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    listed = {"object": "list", "data": [_model(agent) for agent in found]}
    return Response(orjson.dumps(listed), 200, media_type=JSON)


@router.get("/models/{model}", response_model=ListedModel)
@needs(Permission.AGENT_READ)
async def model(model: Name, preceptor: ThePreceptor) -> Response:
    """Read one model: the agent with that id."""
    return Response(orjson.dumps(_model(await preceptor.clients.require(model))), 200, media_type=JSON)


@router.post("/chat/completions", response_model=ChatCompletion, responses=STREAMED)
@needs(Permission.CONVERSATION_WRITE)
@with_room(LARGEST_HISTORY)
async def chat(
    said: ChatRequest, preceptor: ThePreceptor, request: Request, conversation: Conversation = None
) -> Response:
    """Answer the last message of a list, in one conversation or on its own."""
    asked = await understood(preceptor, said.model, lambda: _asked(said, conversation))
    taken = await preceptor.clients.begin(asked)
    answer = Answering(said, taken, seconds_of(taken, preceptor))
    return await answered(request, preceptor, asked, taken, answer, stream=bool(said.stream))


class Answering(msgspec.Struct):
    """One chat completion."""

    asked: ChatRequest
    taken: Taken
    created: int
    before: MessageId | None = None
    """Whose words were told last."""

    def whole(self, ended: Ended, said: Sequence[Words]) -> dict[str, Any]:
        calls = self._calls(ended)
        text = BETWEEN.join(words.text for words in said)
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
        if calls:
            message |= {"content": message["content"] or None, "tool_calls": [_call(call) for call in calls]}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_of(ended)}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": _usage(ended.usage),
            "preceptor": {
                "conversationId": self.taken.conversation_id,
                "turnId": self.taken.turn_id,
                "status": ended.status,
            },
        }

    async def streamed(self, told: AsyncIterator[list[Piece]]) -> AsyncIterator[bytes]:
        """What came at once is sent at once: each sending costs as much as a hundred words."""
        begun = self._chunk({"role": "assistant", "content": ""})
        async for batch in told:
            chunks = [begun, *(chunk for piece in batch for chunk in self._told(piece))]
            begun = b""
            yield b"".join(chunks) or ALIVE
            if batch and isinstance(batch[-1], Ended):
                return
        yield begun + _data(
            {"error": openai_error_of(ShuttingDown("The server stops; the turn goes on when it is back."))}
        )

    def _told(self, piece: Piece) -> Sequence[bytes]:
        match piece:
            case Words(message_id=message_id, text=text):
                text = text if self.before in (None, message_id) else f"{BETWEEN}{text}"
                self.before = message_id
                return (self._chunk({"content": text}),)
            case Ended():
                return self._ending(piece)

    def _ending(self, ended: Ended) -> Sequence[bytes]:
        if ended.status is TurnStatus.FAILED:
            return [_data({"error": openai_error_of(failure_of(ended))}), DONE]
        calls = [{"index": place, **_call(call)} for place, call in enumerate(self._calls(ended))]
        chunks = [self._chunk({"tool_calls": calls})] if calls else []
        chunks.append(self._chunk({}, finish_of(ended)))
        if self._counted:
            usage: dict[str, Any] = {**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(ended.usage)}
            chunks.append(_data(usage))
        return [*chunks, DONE]

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        chunk = {**self._head("chat.completion.chunk"), "choices": [choice]}
        return _data(chunk | {"usage": None} if self._counted else chunk)

    @property
    def _counted(self) -> bool:
        return bool(self.asked.stream_options and self.asked.stream_options.include_usage)

    def _calls(self, ended: Ended) -> tuple[ToolCall, ...]:
        return calls_for(ended, frozenset(tool.function.name for tool in self.asked.tools or ()))

    def _head(self, what: str) -> dict[str, Any]:
        named = f"chatcmpl-{self.taken.turn_id}"
        return {"id": named, "object": what, "created": self.created, "model": self.asked.model}


def _asked(said: ChatRequest, header: str | None) -> Asked:
    named = conversation_of(said.metadata, header)
    return Asked(
        agent_id=said.model,
        said=brought_by(said.messages),
        parameters=said.parameters(),
        conversation_id=None if named is None else ConversationId(named),
        tools=said.client_tools(),
        forced=said.forced(),
        must_call=said.tool_choice == "required",
    )


def _model(agent: Agent) -> dict[str, Any]:
    return {
        "id": agent.agent_id,
        "object": "model",
        "created": int(agent.created_at.timestamp()),
        "owned_by": agent.owner.org_id,
    }


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_of(call)}}


def _usage(usage: Usage) -> dict[str, Any]:
    prompt, completion, cached = usage_of(usage)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _data(value: dict[str, Any]) -> bytes:
    return b"data: %b\n\n" % orjson.dumps(value)
