"""The Python client against a real server: typed, streaming, and carried out once however often it is sent."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from preceptor.client import ApiError, AsyncPreceptor, SyncPreceptor, Unreachable, asking, streams
from preceptor.domain.agents import ShownAgent
from preceptor.surfaces.inward import Inward
from preceptor.testing import Say
from tests.conftest import ADMIN_KEY
from tests.serving import serving
from tests.surfaces.helpers import app_of
from tests.surfaces.talking import Talk, talking
from tests.talking import settings_in


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncGenerator[Talk]:
    async with talking(settings_in(tmp_path)) as made:
        yield made


def client_of(talk: Talk, **more: Any) -> AsyncPreceptor:
    transport = more.pop("transport", None) or Inward(app_of(talk.client))
    return AsyncPreceptor("http://127.0.0.1", key=ADMIN_KEY, transport=transport, **more)


async def test_a_conversation_is_held_with_types(talk: Talk):
    talk.script.lines += ["Good day.", "Still here."]
    async with client_of(talk) as preceptor:
        agent = await preceptor.agents.create(agent_id="support", name="Support")
        assert isinstance(agent, ShownAgent)
        changed = await preceptor.agents.change("support", name="Help", if_match=agent.etag)
        assert (changed.name, changed.revision) == ("Help", 2)
        turn = await preceptor.say("Hello?", agent="support")
        assert turn.ui is not None
        assert turn.ui.response == "Good day."
        again = await preceptor.say("Are you there?", conversation=turn.conversation_id)
        said = await preceptor.messages.page(turn.conversation_id)
        assert [one.role.value for one in said.items] == ["user", "assistant"] * 2
        assert again.message is not None
        context = await preceptor.messages.context(again.message.id)
        assert context.intact
        listed = await preceptor.request("GET", "/api/agents", limit=1)
        assert len(listed["items"]) == 1


async def test_a_refusal_is_an_error_with_its_code(talk: Talk):
    async with client_of(talk) as preceptor:
        with pytest.raises(ApiError, match="no agent") as caught:
            await preceptor.agents.get("nobody")
        assert (caught.value.status, caught.value.code) == (404, "not_found")
        with pytest.raises(ApiError) as stale:
            await preceptor.agents.change("assistant", name="X", if_match='"77"')
        assert stale.value.code == "precondition_failed"
        with pytest.raises(TypeError):
            await preceptor.keys.revoke("x", name="y")  # pyright: ignore[reportCallIssue]


async def test_a_key_of_a_provider_is_sent_as_it_is_and_hidden_otherwise(talk: Talk):
    async with client_of(talk) as preceptor:
        made = await preceptor.providers.create(provider_id="own", kind="openai", api_key="sk-canary-client")
        assert made.has_key
        rows = await talk.preceptor.session.read(lambda work: work.providers.all())
        sealed = rows[0][1]
        assert sealed is not None
        context = made.context(talk.preceptor.session.caller.owner.org_id)
        assert talk.preceptor.session.seal.open(sealed, context) == b"sk-canary-client"


class Losing(httpx2.AsyncBaseTransport):
    """A line that breaks: before a request arrives, after it was carried out, or in the middle of the answer."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, *faults: str) -> None:
        self.inner = inner
        self.faults = list(faults)
        self.sent: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        fault = self.faults.pop(0) if self.faults else ""
        self.sent.append(f"{request.method} {request.url.path}")
        if fault == "before":
            raise httpx2.ConnectError("nobody there")
        response = await self.inner.handle_async_request(request)
        if fault == "after":
            await response.aread()
            raise httpx2.ReadError("cut")
        if fault.isdecimal():
            stream: Any = response.stream
            return httpx2.Response(response.status_code, headers=response.headers, stream=Cut(stream, int(fault)))
        return response


class Cut(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, after: int) -> None:
        self.inner = inner
        self.after = after

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self.after
        async for chunk in self.inner:
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                raise httpx2.ReadError("cut")

    async def aclose(self) -> None:
        await self.inner.aclose()


@pytest.fixture
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """How long to wait is the policy's to say; that it is asked is what matters here."""

    def install() -> None:
        real = asking.wait_before

        def at_once(attempt: int, response: httpx2.Response | None) -> float | None:
            return None if real(attempt, response) is None else 0.0

        for module in (asking, streams):
            monkeypatch.setattr(module, "wait_before", at_once)

    return install


async def test_what_got_no_answer_is_sent_again_and_carried_out_once(talk: Talk, without_waiting: Callable[[], None]):
    without_waiting()
    line = Losing(Inward(app_of(talk.client)), "before", "after", "after")
    talk.script.lines += ["Once."]
    async with client_of(talk, transport=line) as preceptor:
        turn = await preceptor.messages.send(talk.id, content="Say it once.")
        assert turn.ui is not None
        assert turn.ui.response == "Once."
        assert len(line.sent) == 4
        assert len(talk.script.prompts) == 1
        assert len((await preceptor.messages.page(talk.id)).items) == 2


async def test_a_turn_that_failed_is_not_waited_for(talk: Talk, without_waiting: Callable[[], None]):
    without_waiting()
    await talk.client.patch("/api/agents/assistant", json={"budget": {"tokens": 5}})
    line = Losing(Inward(app_of(talk.client)))
    async with client_of(talk, transport=line) as preceptor:
        with pytest.raises(ApiError, match="has 5") as refused:
            await preceptor.messages.send(talk.id, content="Hello")
        assert (refused.value.status, refused.value.code, len(line.sent)) == (429, "budget_exceeded", 1)


async def test_one_that_never_answers_is_given_up(talk: Talk, without_waiting: Callable[[], None]):
    without_waiting()
    line = Losing(Inward(app_of(talk.client)), *["before"] * 9)
    async with client_of(talk, transport=line, retries=2) as preceptor:
        with pytest.raises(Unreachable):
            await preceptor.agents.get("assistant")
        assert len(line.sent) == 3
        with pytest.raises(Unreachable):
            _ = [one async for one in preceptor.stream("Hello?", conversation=talk.id)]


@pytest.mark.parametrize("cut", [0, 40, 400, 900])
async def test_a_stream_that_breaks_is_taken_up_where_it_broke(
    talk: Talk, cut: int, without_waiting: Callable[[], None]
):
    without_waiting()
    talk.script.lines += [Say("One two three four five.")]
    line = Losing(Inward(app_of(talk.client)), str(cut))
    async with client_of(talk, transport=line) as preceptor:
        events = [one async for one in preceptor.stream("Count.", conversation=talk.id)]
    assert [one.seq for one in events] == sorted({one.seq for one in events})
    assert "".join(one.text for one in events) == "One two three four five."
    assert (events[0].kind, events[-1].kind) == ("turn.accepted", "turn.completed")
    assert events[-1].turn is not None
    assert events[-1].turn.status == "completed"
    assert len(talk.script.prompts) == 1


@pytest.mark.parametrize("cut", ["after", "0", "40", "400"])
async def test_what_goes_on_by_itself_is_heard_whole_over_a_line_that_breaks(
    talk: Talk, cut: str, without_waiting: Callable[[], None]
):
    without_waiting()
    line = Losing(Inward(app_of(talk.client)), "after")
    command = {"type": "agent.loadInstructions", "resource": {"type": "agent", "id": "assistant"}}
    async with client_of(talk, transport=line) as preceptor:
        made = await preceptor.executions.create(steps=[{"index": 0, "name": "Load", "command": command}])
        line.faults[:] = [cut]
        events = [one async for one in preceptor.executions.events(made.execution_id)]
        assert len((await preceptor.executions.page()).items) == 1
    assert [one.seq for one in events] == sorted({one.seq for one in events})
    assert (events[0].kind, events[-1].kind) == ("execution.accepted", "execution.completed")


def test_the_client_that_waits_does_the_same_over_a_real_socket(tmp_path: Path):
    script = tmp_path / "script.json"
    script.write_text('["Good day.", "And good night."]', encoding="utf-8")
    model = {"PRECEPTOR_MODEL": f"scripted:{script}", "PRECEPTOR_SGR_ENABLED": "false"}
    with serving(tmp_path / "data", **model) as served, SyncPreceptor(served.url, key=served.admin_key) as preceptor:
        turn = preceptor.say("Hello?")
        assert turn.ui is not None
        assert turn.ui.response == "Good day."
        events = list(preceptor.stream("And?", conversation=turn.conversation_id))
        assert "".join(event.text for event in events) == "And good night."
        assert events[-1].kind == "turn.completed"
        assert preceptor.request("GET", "/healthz")
        made = preceptor.request("POST", "/api/agents", {"agentId": "plain", "name": "Plain"})
        assert preceptor.agents.get("plain").name == made["name"]
        with pytest.raises(ApiError) as caught:
            preceptor.agents.get("nobody")
        assert caught.value.code == "not_found"
        with pytest.raises(ApiError):
            list(preceptor.stream("Hello?", conversation="none"))
        with SyncPreceptor(served.url, key=f"{served.admin_key}\n", retries=0) as as_a_file_has_it:
            assert as_a_file_has_it.agents.get("plain").name == made["name"]
    with SyncPreceptor(served.url, key="x", retries=0) as gone, pytest.raises(Unreachable):
        gone.agents.get("assistant")


def answered(status: int, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, json={"code": "x", "detail": "x"}, headers=headers)


def test_how_long_to_wait_is_what_the_server_says_and_never_long():
    from preceptor.client.asking import wait_before

    assert wait_before(0, answered(200)) is None
    assert wait_before(0, answered(502)) is None
    assert wait_before(0, answered(409)) is None
    assert wait_before(0, answered(503, **{"retry-after": "3"})) == 3
    assert wait_before(0, answered(429, **{"retry-after": "4000"})) == 10
    assert wait_before(3, None) == pytest.approx(1.6)
    in_progress = httpx2.Response(409, json={"code": "idempotency_in_progress", "detail": "x"})
    assert wait_before(1, in_progress) == pytest.approx(0.4)
