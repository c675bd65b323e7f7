"""Every other provider, through pydantic-ai and our own way out."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from preceptor import Settings
from preceptor.adapters.egress import Egress, door_to
from preceptor.adapters.models.provided import NotProvided, Provided, knows, model_of
from preceptor.adapters.models.registry import ModelRegistry, NoSuchModel
from preceptor.domain.messages.message import Role, Text, ToolCall, ToolResult
from preceptor.domain.prompts.prompt import Ask, Force, Sampling, ToolSpec
from preceptor.domain.prompts.reply import Delta, Fault, Finish, ModelFailure, ModelTimeout, Reply
from tests.adapters.model_server import Answer, ModelServer, chunked, refusal, serving, silence, then_hang_up
from tests.wire.prompts import ASK, message, prompt, user
from tests.wire.streams import RECORDED

NAME = "openai-chat:some-model"
KEY = "sk-canary-provided"
WEATHER = ToolSpec("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@asynccontextmanager
async def provided(
    monkeypatch: pytest.MonkeyPatch, *answers: Answer, allowed: bool = True
) -> AsyncGenerator[tuple[Provided, ModelServer]]:
    async with serving(*answers) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        egress = Egress([door_to(server.url, private=True)] if allowed else [])
        try:
            yield Provided(NAME, model_of(NAME, egress)), server
        finally:
            await egress.close()


async def failure_of(model: Provided, deadline: float = 5.0) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        _ = [one async for one in model.send(model.render(prompt(user("Hi")), ASK), deadline)]
    assert KEY not in str(caught.value)
    return caught.value


async def test_a_recorded_stream_becomes_pieces_and_one_whole_reply(monkeypatch: pytest.MonkeyPatch):
    async with provided(monkeypatch, chunked([RECORDED])) as (model, server):
        said = [one async for one in model.send(model.render(prompt(user("Hi")), ASK), 20)]
    *pieces, reply = said
    assert isinstance(reply, Reply)
    assert "".join(one.text for one in pieces if isinstance(one, Delta) and not one.thinking)
    assert reply.finish is Finish.TOOL_CALLS
    assert [one.name for one in reply.parts if isinstance(one, ToolCall)] == ["weather", "pay"]
    assert json.loads(server.bodies[0])["messages"][-1] == {"role": "user", "content": "Hi"}
    assert f"Bearer {KEY}" in server.heads[0]


async def test_history_tools_and_a_forced_tool_arrive(monkeypatch: pytest.MonkeyPatch):
    said = (
        user("Weather?"),
        message(Role.ASSISTANT, Text("Let me look."), ToolCall("call_1", "weather", {"city": "Hue"})),
        message(Role.TOOL, ToolResult("call_1", "weather", "Rain.")),
        user("And?"),
    )
    async with provided(monkeypatch, chunked([RECORDED])) as (model, server):
        wanted = Ask("some-model", Sampling(temperature=0.5), forced_tool="weather", force=Force.NAMED)
        request = model.render(prompt(*said, tools=(WEATHER,)), wanted)
        _ = [one async for one in model.send(request, 20)]
    sent = json.loads(server.bodies[0])
    assert [one["role"] for one in sent["messages"]][-4:] == ["user", "assistant", "tool", "user"]
    assert sent["messages"][-2]["content"] == "Rain."
    assert (sent["temperature"], sent["tools"][0]["function"]["name"]) == (0.5, "weather")
    assert sent["tool_choice"] not in (None, "auto")


@pytest.mark.parametrize(
    ("status", "fault"), [(401, Fault.UNAUTHORIZED), (429, Fault.RATE_LIMITED), (500, Fault.SERVER)]
)
async def test_a_refusal_is_one_kind_of_failure_and_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, status: int, fault: Fault
):
    async with provided(monkeypatch, refusal(status, message=f"no {KEY}")) as (model, server):
        failure = await failure_of(model)
        assert (failure.fault, failure.status) == (fault, status)
        assert len(server.heads) == 1


async def test_silence_half_a_stream_and_an_address_that_is_not_allowed_are_failures(monkeypatch: pytest.MonkeyPatch):
    async with provided(monkeypatch, silence) as (model, _):
        assert isinstance(await failure_of(model, 0.2), ModelTimeout)
    async with provided(monkeypatch, then_hang_up(chunked([RECORDED])[:600])) as (model, _):
        assert (await failure_of(model)).fault in {Fault.BROKEN_STREAM, Fault.BAD_ANSWER}
    async with provided(monkeypatch, chunked([RECORDED]), allowed=False) as (model, server):
        assert "PRECEPTOR_EGRESS_ALLOW" in str(await failure_of(model))
        assert server.heads == []


def test_providers_are_known_by_the_names_they_have_there():
    assert knows("groq")
    assert not knows("nobody")
    registry = ModelRegistry(Settings.load())
    assert registry.find("openai-chat:some").name == "openai-chat:some"
    assert registry.find("openai-chat:some") is registry.find("openai-chat:some")
    with pytest.raises(NotProvided, match="groq"):
        registry.find("groq:llama-3.3-70b")
    with pytest.raises(NoSuchModel):
        registry.find("nobody:x")
