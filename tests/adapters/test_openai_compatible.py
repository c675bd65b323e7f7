import asyncio
import json
import logging
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import SecretStr

from preceptor.adapters.egress import Egress, door_to
from preceptor.adapters.models.calling import LONGEST_WAIT, wait_of
from preceptor.adapters.models.openai_compatible import OpenAICompatible
from preceptor.domain.messages.message import Text, ToolCall
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
from tests.wire.prompts import ASK, ask, prompt, user
from tests.wire.streams import BEFORE_THE_END, DONE, RECORDED, THE_END, USAGE, piece

KEY = "sk-canary-5f1c0c7e3d"
WHOLE = (
    Text("Xin chào 👋, let me look."),
    ToolCall("call_a", "weather", {"city": "Hà Nội"}),
    ToolCall("call_b", "pay", {"amount": 100}),
)
SOON = 5.0
HI = prompt(user("Hi"))


@asynccontextmanager
async def model_at(url: str, capabilities: Capabilities | None = None) -> AsyncGenerator[OpenAICompatible]:
    egress = Egress([door_to(url, private=True)])
    try:
        yield OpenAICompatible("some-model", url, SecretStr(KEY), egress, capabilities or Capabilities())
    finally:
        await egress.close()


@asynccontextmanager
async def model_and_server(*answers: Answer) -> AsyncGenerator[tuple[OpenAICompatible, ModelServer]]:
    async with serving(*answers) as server, model_at(server.url) as model:
        yield model, server


async def said_by(
    model: OpenAICompatible, deadline: float = SOON, request: Request | None = None
) -> list[Delta | Reply]:
    return [one async for one in model.send(request or model.render(HI, ASK), deadline)]


async def failure_of(model: OpenAICompatible, deadline: float = SOON) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        await said_by(model, deadline)
    assert KEY not in str(caught.value)
    return caught.value


async def test_what_is_sent_is_the_rendered_request_to_the_byte_with_the_key_in_its_header_alone():
    async with model_and_server(chunked([RECORDED])) as (model, server):
        request = model.render(HI, ask(custom_headers={"X-Team": "blue"}))
        await said_by(model, request=request)
    head = server.heads[0]
    assert server.bodies == [request.body]
    assert head.startswith("POST /v1/chat/completions HTTP/1.1\r\n")
    assert f"\r\nAuthorization: Bearer {KEY}\r\n" in head
    assert "\r\nX-Team: blue\r\n" in head
    assert KEY not in head.replace(f"Authorization: Bearer {KEY}", "")


async def test_an_answer_is_streamed_and_ends_with_one_whole_reply():
    async with model_and_server(chunked([RECORDED[:300], RECORDED[300:]])) as (model, _):
        *deltas, reply = await said_by(model)
    assert "".join(one.text for one in deltas if isinstance(one, Delta)) == "Xin chào 👋, let me look."
    assert reply == Reply(WHOLE, Finish.TOOL_CALLS, Usage(50, 20, 30), "some-model-0613", "r1")


async def test_an_answer_that_was_not_streamed_is_one_too():
    choice = {"message": {"content": "Hi"}, "finish_reason": "stop"}
    body = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 1}}).encode()
    async with model_and_server(http(200, body)) as (model, _):
        request = model.render(HI, Ask("some-model", stream=False))
        assert await said_by(model, request=request) == [
            Delta("Hi"),
            Reply((Text("Hi"),), Finish.STOP, Usage(5, 1), "some-model"),
        ]


async def test_what_a_call_cost_is_counted_in_money_and_when_the_server_is_silent_by_ourselves():
    priced = Capabilities(input_price=10, output_price=100, cached_price=1)
    async with (
        serving(chunked([RECORDED]), chunked([piece(content="Hello world"), piece(finish="stop"), DONE])) as server,
        model_at(server.url, priced) as model,
    ):
        told, counted = (await said_by(model))[-1], (await said_by(model))[-1]
    assert isinstance(told, Reply)
    assert isinstance(counted, Reply)
    assert told.usage == Usage(50, 20, 30, cost=(20 * 10 + 30 * 1 + 20 * 100) / 1e6)
    assert counted.usage == Usage(HI.tokens, 2, cost=(HI.tokens * 10 + 2 * 100) / 1e6, estimated=True)


async def test_a_connection_is_used_again():
    async with model_and_server(chunked([RECORDED])) as (model, server):
        for _ in range(5):
            await said_by(model)
    assert server.connections == 1


async def test_many_calls_at_once_do_not_mix():
    answers = [chunked([piece(content=f"answer {place}"), piece(finish="stop"), DONE]) for place in range(50)]
    async with model_and_server(*answers, b"") as (model, _):
        replies = await asyncio.gather(*(said_by(model) for _ in range(50)))
    texts = [said[0].text for said in replies if isinstance(said[0], Delta)]
    assert sorted(texts) == sorted(f"answer {place}" for place in range(50))


@pytest.mark.parametrize(
    ("answer", "fault", "retryable"),
    [
        (refusal(400), Fault.REJECTED, False),
        (refusal(401), Fault.UNAUTHORIZED, False),
        (refusal(402), Fault.PAYMENT, False),
        (refusal(403), Fault.UNAUTHORIZED, False),
        (refusal(404), Fault.REJECTED, False),
        (refusal(408), Fault.TIMEOUT, True),
        (refusal(409), Fault.SERVER, True),
        (refusal(413), Fault.TOO_LONG, False),
        (refusal(429), Fault.RATE_LIMITED, True),
        (refusal(429, code="insufficient_quota"), Fault.PAYMENT, False),
        (refusal(500), Fault.SERVER, True),
        (refusal(502), Fault.SERVER, True),
        (refusal(503), Fault.OVERLOADED, True),
        (refusal(529), Fault.OVERLOADED, True),
        (http(502, b"<html>Bad Gateway</html>", kind="text/html"), Fault.SERVER, True),
        (http(200, b"<html>Welcome</html>", kind="text/html"), Fault.BAD_ANSWER, True),
        (http(204, b""), Fault.BAD_ANSWER, True),
        (b"nonsense\r\n\r\n", Fault.BAD_ANSWER, True),
    ],
    ids=lambda value: value[:40].decode() if isinstance(value, bytes) else str(value),
)
async def test_every_refusal_is_one_kind_of_failure(answer: bytes, fault: Fault, retryable: bool):
    async with model_and_server(answer) as (model, server):
        failure = await failure_of(model)
    assert (failure.fault, failure.retryable) == (fault, retryable)
    assert isinstance(failure, ModelTimeout) == (fault is Fault.TIMEOUT)
    assert len(server.bodies) == 1


async def test_a_redirect_is_not_followed():
    async with serving(http(200, b"{}")) as elsewhere:
        answer = http(307, b"", f"Location: {elsewhere.url}/chat/completions")
        async with model_and_server(answer) as (model, _):
            failure = await failure_of(model)
    assert (failure.fault, failure.status, elsewhere.bodies) == (Fault.REJECTED, 307, [])


async def test_a_server_that_is_not_there_is_unreachable():
    async with serving(b"") as server:
        url = server.url
    async with model_at(url) as model:
        assert (await failure_of(model)).fault is Fault.UNREACHABLE


async def test_a_name_that_does_not_exist_is_unreachable():
    async with model_at("http://no-such-host.invalid:8080/v1") as model:
        assert (await failure_of(model)).fault is Fault.UNREACHABLE


async def test_a_server_that_never_answers_is_given_up_at_the_deadline():
    async with model_and_server(silence) as (model, _):
        failure = await failure_of(model, deadline=0.2)
    assert (failure.fault, type(failure)) == (Fault.TIMEOUT, ModelTimeout)


async def test_a_server_that_falls_silent_is_given_up_and_what_it_said_is_kept():
    async with model_and_server(then_silence(until_close(piece(content="Well, ")))) as (model, _):
        failure = await failure_of(model, deadline=0.2)
    assert (failure.fault, failure.partial) == (Fault.TIMEOUT, "Well, ")


async def test_a_server_that_is_idle_for_too_long_is_given_up_before_the_deadline():
    async with serving(then_silence(until_close(piece(content="Well, ")))) as server:
        egress = Egress([door_to(server.url, private=True)])
        model = OpenAICompatible("m", server.url, None, egress, idle=0.1)
        assert (await failure_of(model, deadline=600)).fault is Fault.TIMEOUT
        await egress.close()


async def test_a_server_that_drips_for_ever_is_given_up_at_the_deadline():
    async with model_and_server(drip) as (model, _):
        assert (await failure_of(model, deadline=0.3)).fault is Fault.TIMEOUT


async def test_a_server_that_said_all_and_does_not_hang_up_is_not_waited_for():
    async with model_and_server(then_silence(until_close(RECORDED))) as (model, _):
        reply = (await said_by(model, deadline=60))[-1]
    assert isinstance(reply, Reply)
    assert reply.parts == WHOLE


async def test_a_server_that_falls_silent_after_the_end_has_still_answered():
    async with model_and_server(then_silence(until_close(BEFORE_THE_END + THE_END))) as (model, _):
        reply = (await said_by(model, deadline=0.2))[-1]
    assert isinstance(reply, Reply)
    assert (reply.parts, reply.usage.estimated) == (WHOLE, True)


async def test_a_server_that_hangs_up_without_a_word_broke_off():
    async with model_and_server(b"") as (model, _):
        assert (await failure_of(model)).fault is Fault.BROKEN_STREAM


def self_signed(folder: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "both.pem").write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    return context


async def test_a_certificate_that_nobody_vouches_for_is_not_trusted(tmp_path: Path):
    async with serving(b"", tls=self_signed(tmp_path)) as server:
        async with model_at(server.url.replace("http:", "https:")) as model:
            failure = await failure_of(model)
        assert (failure.fault, failure.retryable, server.bodies) == (Fault.TLS, False, [])


async def test_a_server_that_speaks_no_tls_is_not_trusted():
    def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(http(400, b""))
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with server, model_at(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1") as model:
        assert (await failure_of(model)).fault is Fault.TLS


async def test_a_stream_cut_at_any_byte_never_gives_a_call_and_never_a_reply_before_its_end():
    enough = len(BEFORE_THE_END + THE_END)
    answers = [until_close(RECORDED[:cut]) for cut in range(len(RECORDED))]
    async with model_and_server(*answers, b"") as (model, _):
        for cut in range(len(RECORDED)):
            heard = await heard_from(model)
            if cut < enough:
                assert isinstance(heard[-1], ModelFailure)
                assert heard[-1].fault is Fault.BROKEN_STREAM
                assert heard[-1].partial == "".join(one.text for one in heard if isinstance(one, Delta))
            else:
                assert isinstance(heard[-1], Reply)
                assert heard[-1].parts == WHOLE
            assert not any(isinstance(one, Reply) for one in heard[:-1])


async def heard_from(model: OpenAICompatible) -> list[Delta | Reply | ModelFailure]:
    """All that came, and how it ended."""
    heard: list[Delta | Reply | ModelFailure] = []
    said = model.send(model.render(HI, ASK), SOON)
    while True:
        try:
            heard.append(await anext(said))
        except StopAsyncIteration:
            return heard
        except ModelFailure as failure:
            return [*heard, failure]


async def test_a_stream_cut_inside_its_own_framing_is_broken_too():
    framed = chunked(BEFORE_THE_END[place : place + 97] for place in range(0, len(BEFORE_THE_END), 97))
    cuts = range(framed.index(b"\r\n\r\n") + 4, len(framed), 11)
    async with model_and_server(*(then_hang_up(framed[:cut]) for cut in cuts), b"") as (model, _):
        for _ in cuts:
            assert (await failure_of(model)).fault is Fault.BROKEN_STREAM


async def test_bytes_that_are_no_text_are_a_bad_answer():
    bad = b'data: {"choices":[{"index":0,"delta":{"content":"\xff\xfe"}}]}\n\n'
    async with model_and_server(chunked([piece(content="Hi"), bad, piece(finish="stop")])) as (model, _):
        failure = await failure_of(model)
    assert (failure.fault, failure.partial) == (Fault.BAD_ANSWER, "Hi")


async def test_whoever_stops_listening_hangs_up():
    gone = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(until_close(piece(content="Well, ")))
        await reader.read()
        gone.set()

    async with model_and_server(answer) as (model, _):
        said = model.send(model.render(HI, ASK), SOON)
        assert await anext(said) == Delta("Well, ")
        await said.aclose()
        async with asyncio.timeout(SOON):
            await gone.wait()


NOW = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.mark.parametrize(
    ("asked", "waits"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("1.5", 1.5),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
        (format_datetime(NOW - timedelta(days=90), usegmt=True), 0.0),
        (format_datetime(NOW + timedelta(days=90), usegmt=True), LONGEST_WAIT),
        ("999999999", LONGEST_WAIT),
        ("9" * 400, None),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("1e9", None),
        ("soon", None),
        ("", None),
    ],
)
def test_how_long_a_server_asks_us_to_wait_is_read_with_care(asked: str, waits: float | None):
    assert wait_of({"Retry-After": asked}, NOW) == waits


async def test_a_busy_server_is_asked_again_when_it_says():
    async with model_and_server(refusal(429, "Retry-After: 7")) as (model, _):
        assert (await failure_of(model)).retry_after == 7.0


async def test_what_a_server_says_of_the_key_goes_nowhere(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    said = f"Incorrect key {KEY} (Bearer {KEY})"
    for answer in (
        refusal(401, message=said),
        refusal(500, message=said),
        chunked([b'data: {"error":"%s"}\n\n' % said.encode()]),
    ):
        async with model_and_server(answer) as (model, _):
            failure = await failure_of(model)
        assert KEY not in str(failure) + repr(failure)
        assert failure.__cause__ is None
        assert KEY not in repr(model)
    assert KEY not in caplog.text


async def test_a_servers_complaint_is_told_in_short():
    async with model_and_server(refusal(400, message="x " * 5000)) as (model, _):
        assert len(str(await failure_of(model))) < 500


async def test_an_endless_answer_is_not_read_to_its_end():
    async def endless(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" " * 1_000_000)
            await writer.drain()

    async with model_and_server(endless) as (model, _):
        assert (await failure_of(model)).fault is Fault.BAD_ANSWER


async def test_an_address_that_is_not_allowed_is_not_called():
    async with serving(chunked([RECORDED])) as server:
        model = OpenAICompatible("m", server.url, None, Egress([door_to("http://127.0.0.1:1/v1", private=True)]))
        failure = await failure_of(model)
    assert (failure.fault, failure.retryable, server.connections) == (Fault.REJECTED, False, 0)


async def test_a_server_lists_its_models():
    listed = json.dumps({"data": [{"id": "first"}, {"id": ""}, {"x": 1}, 3, {"id": "second"}]}).encode()
    async with model_and_server(http(200, listed), refusal(401), http(200, b"no")) as (model, server):
        assert await model.list_models(SOON) == ["first", "second"]
        assert server.heads[0].startswith("GET /v1/models ")
        with pytest.raises(ModelFailure) as refused:
            await model.list_models(SOON)
        with pytest.raises(ModelFailure) as unreadable:
            await model.list_models(SOON)
    assert (refused.value.fault, unreadable.value.fault) == (Fault.UNAUTHORIZED, Fault.BAD_ANSWER)


async def test_usage_that_comes_after_the_end_is_heard():
    async with model_and_server(until_close(piece(content="Hi", finish="stop") + USAGE + DONE)) as (model, _):
        reply = (await said_by(model))[-1]
    assert isinstance(reply, Reply)
    assert reply.usage == Usage(50, 20, 30)
