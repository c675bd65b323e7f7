"""Every other provider, through pydantic-ai and our own way out."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from preceptor import Settings
from preceptor.adapters.egress import Egress, door_to
from preceptor.adapters.models.provided import NotProvided, Provided, knows, model_of
from preceptor.adapters.models.registry import ModelRegistry, NoSuchModel
from preceptor.domain.messages.message import Role, Text, ToolCall, ToolResult
from preceptor.domain.prompts.prompt import Ask, Force, Sampling, ToolSpec
from preceptor.domain.prompts.reply import Delta, Fault, Finish, ModelFailure, ModelTimeout, Reply, Usage
from tests.adapters.model_server import (
    Answer,
    ModelServer,
    chunked,
    drip,
    http,
    refusal,
    serving,
    silence,
    then_hang_up,
    then_silence,
    until_close,
)
from tests.adapters.test_openai_compatible import self_signed
from tests.requirements import covers
from tests.wire.prompts import ASK, message, prompt, user
from tests.wire.streams import BEFORE_THE_END, DONE, RECORDED, USAGE, call_piece, piece

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


FAULTS: dict[str, tuple[Answer, Fault]] = {
    "400": (refusal(400), Fault.REJECTED),
    "401": (refusal(401), Fault.UNAUTHORIZED),
    "402": (refusal(402), Fault.PAYMENT),
    "404": (refusal(404), Fault.REJECTED),
    "408": (refusal(408), Fault.TIMEOUT),
    "409": (refusal(409), Fault.SERVER),
    "413": (refusal(413), Fault.TOO_LONG),
    "429": (refusal(429, "Retry-After: 7"), Fault.RATE_LIMITED),
    "429 without money": (refusal(429, code="insufficient_quota"), Fault.PAYMENT),
    "400 for too long a prompt": (refusal(400, code="context_length_exceeded"), Fault.TOO_LONG),
    "500": (refusal(500), Fault.SERVER),
    "502": (http(502, b"<html>Bad Gateway</html>", kind="text/html"), Fault.SERVER),
    "529": (refusal(529), Fault.OVERLOADED),
    "a page": (http(200, b"<html>Welcome</html>", kind="text/html"), Fault.BAD_ANSWER),
    "no words": (b"", Fault.BROKEN_STREAM),
    "half a stream": (then_hang_up(chunked([RECORDED])[:600]), Fault.BROKEN_STREAM),
    "no reason to end": (chunked([BEFORE_THE_END, DONE]), Fault.BROKEN_STREAM),
    "nonsense in the stream": (chunked([b"data: {nonsense\n\n", DONE]), Fault.BAD_ANSWER),
    "a hang": (silence, Fault.TIMEOUT),
    "falling silent": (then_silence(until_close(piece(content="Well, "))), Fault.TIMEOUT),
    "a drip": (drip, Fault.TIMEOUT),
}


@covers("F9", "F10")
@pytest.mark.parametrize("name", FAULTS)
async def test_every_fault_is_one_kind_of_failure_and_is_not_tried_again(monkeypatch: pytest.MonkeyPatch, name: str):
    answer, fault = FAULTS[name]
    async with provided(monkeypatch, answer) as (model, server):
        failure = await failure_of(model, 0.5 if fault is Fault.TIMEOUT else 20.0)
        assert failure.fault is fault, failure
        assert isinstance(failure, ModelTimeout) == (fault is Fault.TIMEOUT)
        assert len(server.heads) == 1
    assert failure.retry_after == (7.0 if name == "429" else None)


@covers("F9")
async def test_nobody_there_and_nobody_to_trust_are_two_kinds_of_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    async with serving(b"") as gone:
        pass
    async with serving(b"", tls=self_signed(tmp_path)) as server:
        addresses = {gone.url: Fault.UNREACHABLE, server.url.replace("http:", "https:"): Fault.TLS}
        for url, fault in addresses.items():
            monkeypatch.setenv("OPENAI_BASE_URL", url)
            egress = Egress([door_to(url, private=True)])
            assert (await failure_of(Provided(NAME, model_of(NAME, egress)))).fault is fault
            await egress.close()


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
async def test_every_reason_to_end_is_told_with_what_it_cost(monkeypatch: pytest.MonkeyPatch, reason: str):
    told = chunked([piece(content="So far "), piece(content="so good."), piece(finish=reason), USAGE, DONE])
    async with provided(monkeypatch, told) as (model, _):
        *_, reply = [one async for one in model.send(model.render(prompt(user("Hi")), ASK), 20)]
    assert isinstance(reply, Reply)
    assert (reply.finish, reply.parts) == (Finish(reason), (Text("So far so good."),))
    assert reply.usage == Usage(50, 20, 30)


async def test_where_the_server_does_not_say_what_it_cost_we_count(monkeypatch: pytest.MonkeyPatch):
    async with provided(monkeypatch, chunked([piece(content="Hi"), piece(finish="stop"), DONE])) as (model, _):
        request = model.render(prompt(user("Hi")), ASK)
        *_, reply = [one async for one in model.send(request, 20)]
    assert isinstance(reply, Reply)
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.estimated) == (request.tokens, 1, True)


async def test_a_call_that_was_cut_off_is_marked_and_never_carried_out(monkeypatch: pytest.MonkeyPatch):
    half = call_piece(0, '{"city": "Ha', id="c1", name="weather")
    async with provided(monkeypatch, chunked([half, piece(finish="length"), DONE])) as (model, _):
        *_, reply = [one async for one in model.send(model.render(prompt(user("Hi")), ASK), 20)]
    assert isinstance(reply, Reply)
    [call] = [part for part in reply.parts if isinstance(part, ToolCall)]
    assert (reply.finish, bool(call.malformed), call.arguments) == (Finish.LENGTH, True, {})


async def test_the_manifest_is_what_the_library_was_given_and_all_of_it_arrives(monkeypatch: pytest.MonkeyPatch):
    """Its bytes are the library's own, so they are not those of the manifest; what they say is."""
    async with provided(monkeypatch, chunked([RECORDED])) as (model, server):
        request = model.render(prompt(user("Hi"), tools=(WEATHER,)), Ask("some-model", Sampling(temperature=0.5)))
        _ = [one async for one in model.send(request, 20)]
    given, sent = json.loads(request.body), json.loads(server.bodies[0])
    assert server.bodies != [request.body]
    assert [(one["role"], one["content"]) for one in sent["messages"]] == [
        (one["role"], one["content"]) for one in given["messages"]
    ]
    assert sent["temperature"] == given["temperature"]
    assert [one["function"]["parameters"]["properties"] for one in sent["tools"]] == [
        one["function"]["parameters"]["properties"] for one in given["tools"]
    ]


async def test_an_address_that_is_not_allowed_is_never_called(monkeypatch: pytest.MonkeyPatch):
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
