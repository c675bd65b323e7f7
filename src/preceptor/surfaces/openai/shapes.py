"""The shapes of OpenAI's answers, for the document that describes the API."""

from typing import Any, Literal

from pydantic import BaseModel


class ListedModel(BaseModel):
    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class ModelList(BaseModel):
    object: Literal["list"]
    data: list[ListedModel]


class CalledFunction(BaseModel):
    name: str
    arguments: str


class ClientCall(BaseModel):
    id: str
    type: Literal["function"]
    function: CalledFunction


class ChatMessage(BaseModel):
    role: Literal["assistant"]
    content: str | None
    refusal: str | None = None
    tool_calls: list[ClientCall] = []


class Choice(BaseModel):
    index: int
    message: ChatMessage
    logprobs: None = None
    finish_reason: Literal["stop", "length", "tool_calls", "content_filter"]


class ChatUsage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: dict[str, int]


class ChatCompletion(BaseModel):
    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: ChatUsage
    preceptor: dict[str, str]


class ModelResponse(BaseModel):
    id: str
    object: Literal["response"]
    created_at: int
    status: Literal["completed", "incomplete", "failed", "cancelled", "in_progress"]
    model: str
    output: list[dict[str, Any]]
    usage: dict[str, Any] | None
    error: dict[str, Any] | None
    incomplete_details: dict[str, str] | None
