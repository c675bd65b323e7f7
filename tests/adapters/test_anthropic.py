import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from pydantic import SecretStr

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.egress import Egress, door_to
from preceptor.adapters.models.anthropic import Anthropic
from preceptor.adapters.models.known import capabilities_of
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.domain.messages.message import Text, Thinking, ToolCall
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Ask, Request
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
from tests.conftest import ADMIN_KEY, client_of
from tests.wire.anthropic_streams import (
    BEFORE_THE_END,
    RECORDED,
    STOP,
    THE_END,
    called,
    delta,
    ended,
    opened,
    said,
    start,
)
from tests.wire.prompts import ASK, ask, prompt, user

KEY = "sk-ant-canary-5f1c0c7e3d"
WHOLE = (
    Thinking("Weather, then pay.", "c2lnbmVk"),
    Text("Xin chào 👋, let me look."),
    ToolCall("toolu_a", "weather", {"city": "Hà Nội"}),
    ToolCall("toolu_b", "pay", {"amount": 100}),
)
SOON = 5.0
HI = prompt(user("Hi"))


@asynccontextmanager
async def model_at(url: str, capabilities: Capabilities | None = None) -> AsyncGenerator[Anthropic]:
    egress = Egress([door_to(url, private=True)])
    try:
        yield Anthropic("some-model", url, SecretStr(KEY), egress, capabilities or Capabilities())
    finally:
        await egress.close()


@asynccontextmanager
async def model_and_server(*answers: Answer) -> AsyncGenerator[tuple[Anthropic, ModelServer]]:
    async with serving(*answers) as server, model_at(server.url) as model:
        yield model, server


async def said_by(model: Anthropic, deadline: float = SOON, request: Request | None = None) -> list[Delta | Reply]:
    return [one async for one in model.send(request or model.render(HI, ASK), deadline)]


async def failure_of(model: Anthropic, deadline: float = SOON) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        await said_by(model, deadline)
    assert KEY not in str(caught.value)
    return caught.value


async def test_what_is_sent_is_the_rendered_request_to_the_byte_with_the_key_in_its_header_alone():
    async with model_and_server(chunked([RECORDED])) as (model, server):
        request = model.render(HI, ask(custom_headers={"anthropic-beta": "some-feature"}))
        await said_by(model, request=request)
    head = server.heads[0]
    assert server.bodies == [request.body]
    assert head.startswith("POST /v1/messages HTTP/1.1\r\n")
    assert f"\r\nx-api-key: {KEY}\r\n" in head
    assert "\r\nanthropic-version: 2023-06-01\r\n" in head
    assert "\r\nanthropic-beta: some-feature\r\n" in head
    assert "Authorization" not in head
    assert KEY not in head.replace(f"x-api-key: {KEY}", "")


async def test_an_answer_is_streamed_and_ends_with_one_whole_reply():
    async with model_and_server(chunked([RECORDED[:300], RECORDED[300:]])) as (model, _):
        *deltas, reply = await said_by(model)
    assert "".join(one.text for one in deltas if isinstance(one, Delta) and not one.thinking) == WHOLE[1].text
    assert reply == Reply(WHOLE, Finish.TOOL_CALLS, Usage(50, 20, 35), "claude-haiku-4-5-20251001", "msg_1")


async def test_an_answer_that_was_not_streamed_is_one_too():
    answer = {"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn", "usage": {"input_tokens": 5}}
    async with model_and_server(http(200, json.dumps(answer).encode())) as (model, _):
        request = model.render(HI, Ask("some-model", stream=False))
        assert await said_by(model, request=request) == [
            Delta("Hi"),
            Reply((Text("Hi"),), Finish.STOP, Usage(5, 0), "some-model"),
        ]


async def test_what_the_provider_had_kept_is_cheaper_and_what_it_does_not_count_we_do():
    silent = said(0, "Hello world") + ended(output=-1)
    async with (
        serving(chunked([RECORDED]), chunked([silent.replace(b'"usage"', b'"other"'), STOP])) as server,
        model_at(server.url, capabilities_of("claude-haiku-4-5")) as model,
    ):
        told, counted = (await said_by(model))[-1], (await said_by(model))[-1]
    assert isinstance(told, Reply)
    assert isinstance(counted, Reply)
    assert told.usage == Usage(50, 20, 35, cost=(15 * 1.0 + 35 * 0.10 + 20 * 5.0) / 1e6)
    assert counted.usage == Usage(HI.tokens, 2, cost=(HI.tokens * 1.0 + 2 * 5.0) / 1e6, estimated=True)


@pytest.mark.parametrize(
    ("answer", "fault", "retryable"),
    [
        (refusal(400, type="invalid_request_error"), Fault.REJECTED, False),
        (refusal(400, type="billing_error"), Fault.PAYMENT, False),
        (refusal(401, type="authentication_error"), Fault.UNAUTHORIZED, False),
        (refusal(402), Fault.PAYMENT, False),
        (refusal(403, type="permission_error"), Fault.UNAUTHORIZED, False),
        (refusal(404, type="not_found_error"), Fault.REJECTED, False),
        (refusal(408), Fault.TIMEOUT, True),
        (refusal(409), Fault.SERVER, True),
        (refusal(413, type="request_too_large"), Fault.TOO_LONG, False),
        (refusal(429, type="rate_limit_error"), Fault.RATE_LIMITED, True),
        (refusal(500, type="api_error"), Fault.SERVER, True),
        (refusal(504, type="timeout_error"), Fault.SERVER, True),
        (refusal(529, type="overloaded_error"), Fault.OVERLOADED, True),
        (http(502, b"<html>Bad Gateway</html>", kind="text/html"), Fault.SERVER, True),
        (http(200, b"<html>Welcome</html>", kind="text/html"), Fault.BAD_ANSWER, True),
        (http(200, b"{}"), Fault.BAD_ANSWER, True),
        (http(204, b""), Fault.BAD_ANSWER, True),
        (b"nonsense\r\n\r\n", Fault.BAD_ANSWER, True),
        (b"", Fault.BROKEN_STREAM, True),
    ],
    ids=lambda value: value[:40].decode() if isinstance(value, bytes) else str(value),
)
async def test_every_refusal_is_one_kind_of_failure(answer: bytes, fault: Fault, retryable: bool):
    async with model_and_server(answer) as (model, server):
        failure = await failure_of(model)
    assert (failure.fault, failure.retryable) == (fault, retryable)
    assert isinstance(failure, ModelTimeout) == (fault is Fault.TIMEOUT)
    assert len(server.bodies) == 1


async def test_a_busy_server_is_asked_again_when_it_says_and_its_words_hold_no_key():
    async with model_and_server(refusal(429, "Retry-After: 7", message=f"slow down, {KEY}")) as (model, _):
        failure = await failure_of(model)
    assert failure.retry_after == 7
    assert "slow down" in str(failure)


async def test_a_redirect_is_not_followed():
    async with (
        serving(http(200, b"{}")) as elsewhere,
        model_and_server(http(307, b"", f"Location: {elsewhere.url}/messages")) as (model, _),
    ):
        failure = await failure_of(model)
    assert (failure.fault, failure.status, elsewhere.bodies) == (Fault.REJECTED, 307, [])


async def test_a_server_that_is_not_there_is_unreachable():
    async with serving(b"") as server:
        url = server.url
    async with model_at(url) as model:
        assert (await failure_of(model)).fault is Fault.UNREACHABLE


WELL = start() + opened(0, "text") + delta(0, "text", text="Well, ")


@pytest.mark.parametrize("answer", [silence, drip, then_silence(until_close(WELL))])
async def test_a_server_that_does_not_come_to_an_end_is_given_up_at_the_deadline(answer: Answer):
    async with model_and_server(answer) as (model, _):
        failure = await failure_of(model, deadline=0.3)
    assert (failure.fault, type(failure)) == (Fault.TIMEOUT, ModelTimeout)


async def test_a_server_that_said_all_and_does_not_hang_up_is_not_waited_for():
    async with model_and_server(then_silence(until_close(RECORDED))) as (model, _):
        reply = (await said_by(model, deadline=60))[-1]
    assert isinstance(reply, Reply)
    assert reply.parts == WHOLE


async def test_a_stream_cut_at_any_byte_never_gives_a_call_and_never_a_reply_before_its_end():
    enough = len(BEFORE_THE_END + THE_END)
    answers = [until_close(RECORDED[:cut]) for cut in range(len(RECORDED))]
    async with model_and_server(*answers, b"") as (model, _):
        for cut in range(len(RECORDED)):
            heard = await heard_from(model)
            if cut < enough:
                assert isinstance(heard[-1], ModelFailure)
                assert heard[-1].fault is Fault.BROKEN_STREAM
            else:
                assert isinstance(heard[-1], Reply)
                assert heard[-1].parts == WHOLE
            assert not any(isinstance(one, Reply) for one in heard[:-1])


async def heard_from(model: Anthropic) -> list[Delta | Reply | ModelFailure]:
    """All that came, and how it ended."""
    heard: list[Delta | Reply | ModelFailure] = []
    try:
        async for one in model.send(model.render(HI, ASK), SOON):
            heard.append(one)  # noqa: PERF401 - what came before a failure counts
    except ModelFailure as failure:
        heard.append(failure)
    return heard


async def test_a_stream_cut_inside_its_own_framing_is_broken_too():
    framed = chunked(BEFORE_THE_END[place : place + 97] for place in range(0, len(BEFORE_THE_END), 97))
    cuts = range(framed.index(b"\r\n\r\n") + 4, len(framed), 23)
    async with model_and_server(*(then_hang_up(framed[:cut]) for cut in cuts), b"") as (model, _):
        for _ in cuts:
            assert (await failure_of(model)).fault is Fault.BROKEN_STREAM


async def test_whoever_stops_listening_hangs_up():
    gone = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(until_close(WELL))
        await reader.read()
        gone.set()

    async with model_and_server(answer) as (model, _):
        heard = model.send(model.render(HI, ASK), SOON)
        assert await anext(heard) == Delta("Well, ")
        await heard.aclose()
        async with asyncio.timeout(SOON):
            await gone.wait()


# In a whole conversation


@asynccontextmanager
async def conversing(
    tmp_path: Path, *answers: Answer, plans: bool = False
) -> AsyncGenerator[tuple[Preceptor, httpx2.AsyncClient, ModelServer]]:
    given = {"model": "anthropic:claude-haiku-4-5", "sgr_enabled": "true" if plans else "false"}
    settings = Settings.load(data_dir=tmp_path, admin_key=ADMIN_KEY, **given)
    async with serving(*answers) as server, model_at(server.url, capabilities_of("claude-haiku-4-5")) as model:
        registry = ModelRegistry(settings)
        registry.add(registry.default, model)
        async with open_preceptor(settings, models=registry) as preceptor, client_of(preceptor) as client:
            await client.patch("/api/agents/assistant", json={"tools": ["calculator"]})
            yield preceptor, client, server


async def test_what_was_sent_can_be_rebuilt_to_the_byte_with_tools_and_thoughts(tmp_path: Path):
    thought = [
        opened(0, "thinking", thinking=""),
        delta(0, "thinking", thinking="Sums."),
        delta(0, "signature", signature="c2ln"),
    ]
    closed = b'data: {"type":"content_block_stop","index":0}\n\n'
    calls = [start(), *thought, closed, called(1, "calculator", '{"expression": "2+2"}'), ended("tool_use"), STOP]
    final = [start(), said(0, "It is 4."), ended(), STOP]
    async with conversing(tmp_path, chunked(calls), chunked(final)) as (_, client, server):
        made = (await client.post("/api/conversations", json={"agentId": "assistant"})).json()
        path = f"/api/conversations/{made['conversationId']}/messages"
        turn = (await client.post(path, json={"content": "2+2?"})).json()
        listed = (await client.get(path, params={"audience": "system"})).json()["items"]
        spoken = [one["id"] for one in listed if one["role"] == "assistant"]
        contexts = [(await client.get(f"/api/messages/{one}/context")).json() for one in spoken]
    assert (turn["status"], turn["ui"]["response"]) == ("completed", "It is 4.")
    assert turn["usage"]["cachedTokens"] == 70
    assert [context["intact"] for context in contexts] == [True, True]
    assert [context["format"] for context in contexts] == ["anthropic-messages/1"] * 2
    assert [context["unattributedTokens"] for context in contexts] == [0, 0]
    assert [context["request"] for context in contexts] == [json.loads(body) for body in server.bodies]
    again = json.loads(server.bodies[1])["messages"]
    assert [block["type"] for block in again[1]["content"]] == ["thinking", "tool_use"]
    assert [(block["type"], block["content"]) for block in again[2]["content"]] == [("tool_result", "4")]


async def test_a_key_that_is_wrong_fails_the_turn_in_one_sentence(tmp_path: Path):
    refused = refusal(401, type="authentication_error", message="invalid x-api-key")
    async with conversing(tmp_path, refused) as (_, client, server):
        made = (await client.post("/api/conversations", json={"agentId": "assistant"})).json()
        answer = await client.post(f"/api/conversations/{made['conversationId']}/messages", json={"content": "Hi"})
    assert answer.status_code == 502
    assert "Check the key" in answer.json()["detail"]
    assert len(server.bodies) == 1


async def test_a_plan_is_asked_for_by_the_name_of_its_tool(tmp_path: Path):
    final = chunked([start(), said(0, "It is 4."), ended(), STOP])
    async with conversing(tmp_path, final, plans=True) as (_, client, server):
        made = (await client.post("/api/conversations", json={"agentId": "assistant"})).json()
        await client.post(f"/api/conversations/{made['conversationId']}/messages", json={"content": "2+2?"})
    first = json.loads(server.bodies[0])
    assert first["tool_choice"] == {"type": "tool", "name": "analyse_user_request"}
    assert [tool["name"] for tool in first["tools"]] == ["analyse_user_request"]
