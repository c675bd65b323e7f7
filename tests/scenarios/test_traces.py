"""Turns in traces: the tree that a real receiver of OTLP gets, named as the conventions name it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from preceptor import Hearers, open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.models.scripted import Line
from preceptor.adapters.observability.opening import tracing_of
from preceptor.domain.errors import CannotStart
from preceptor.domain.prompts.prompt import Prompt, Request
from preceptor.domain.prompts.reply import Delta, Fault, ModelFailure, Reply
from preceptor.surfaces.http import create_app
from preceptor.testing import Called, Say, ScriptedModel
from tests.adapters.collecting import Collector, attributes, collecting
from tests.conftest import ADMIN
from tests.scenarios.reasoned import plan, planning, reasoning, started
from tests.surfaces.talking import DELEGATION, talking
from tests.talking import settings_in

conventions: Any = import_module("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
TRACE_ID, PARENT_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
OURS = {"plan", "guard", "compaction"}
"""Operations that the conventions have no released name for."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as opened:
        yield opened


def tree(collector: Collector) -> list[str]:
    """Every span below its parent, in the order in which they began."""
    spans = sorted(collector.all_spans, key=lambda span: span.start_time_unix_nano)
    lines: list[str] = []

    def draw(parent: bytes, depth: int) -> None:
        for span in [one for one in spans if one.parent_span_id == parent]:
            lines.append("  " * depth + span.name)
            draw(span.span_id, depth + 1)

    draw(b"", 0)
    assert len(lines) == len(spans)
    return lines


async def test_a_turn_is_one_tree_of_guard_plan_calls_tools_and_specialists(collector: Collector, tmp_path: Path):
    lines = iter(DELEGATION)

    def script(prompt: Prompt) -> Line:
        return plan() if planning(prompt) else next(lines)

    database = f"sqlite:///{tmp_path / 'preceptor.db'}"
    async with reasoning(tmp_path, database, script, otel_endpoint=collector.endpoint) as talk:
        turn = await talk.say("Where is my order?")
    root = "invoke_agent assistant"
    assert tree(collector) == [
        root,
        "  guard question",
        "  plan",
        "    chat scripted",
        "  chat scripted",
        "  invoke_agent specialist",
        "    chat scripted",
        "    execute_tool calculator",
        "    chat scripted",
        "  chat scripted",
    ]
    spans = collector.spans
    assert len({span.trace_id for span in collector.all_spans}) == 1
    told = attributes(spans[root])
    assert told["gen_ai.operation.name"] == "invoke_agent"
    assert (told["gen_ai.agent.id"], told["gen_ai.conversation.id"]) == ("assistant", talk.id)
    assert (told["preceptor.turn.id"], told["preceptor.turn.status"]) == (turn["turnId"], "completed")
    assert told["gen_ai.usage.input_tokens"] == turn["usage"]["inputTokens"]
    assert attributes(spans["plan"])["preceptor.plan.action"] == "normal"
    assert attributes(spans["guard question"])["preceptor.guard.level"] == "Safe"
    tool = attributes(spans["execute_tool calculator"])
    assert (tool["gen_ai.tool.name"], tool["gen_ai.tool.type"]) == ("calculator", "function")
    chats = [span for span in collector.all_spans if span.name.startswith("chat")]
    assert {span.kind for span in chats} == {Span.SPAN_KIND_CLIENT}
    for span in collector.all_spans:
        assert spans[root].start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= spans[root].end_time_unix_nano


async def test_every_name_is_one_of_the_conventions_or_says_that_it_is_ours(collector: Collector, tmp_path: Path):
    known = {str(getattr(conventions, name)) for name in dir(conventions) if name.startswith("GEN_AI_")}
    operations = {one.value for one in conventions.GenAiOperationNameValues} | OURS
    async with talking(settings_in(tmp_path, otel_endpoint=collector.endpoint, otel_content=True)) as talk:
        await talk.say("What is two and two?", *DELEGATION)
    for span in collector.all_spans:
        told = attributes(span)
        assert told["gen_ai.operation.name"] in operations
        assert {name for name in told if not name.startswith("preceptor.")} <= known


WORDS = ("Where is Schrödinger's cat?", "In the box, or not.", "2+2")


async def test_what_was_said_stays_at_home_unless_it_is_wanted(collector: Collector, tmp_path: Path):
    lines = [Say(tool_calls=(Called("calculator", {"expression": "2+2"}),)), WORDS[1]]
    for content in (False, True):
        folder = tmp_path / str(content)
        folder.mkdir()
        settings = settings_in(folder, otel_endpoint=collector.endpoint, otel_content=content)
        async with talking(settings) as talk:
            await talk.say(WORDS[0], *lines)
        sent = b"".join(collector.bodies).decode("utf-8", "replace")
        assert [word in sent for word in WORDS] == [content] * 3
        assert ("gen_ai.input.messages" in sent) == content
        if not content:
            collector.bodies.clear()
    last = attributes(
        max(collector.all_spans, key=lambda span: (span.name == "chat scripted", span.start_time_unix_nano))
    )
    shown: list[Any] = json.loads(str(last["gen_ai.input.messages"]))
    assert [message["role"] for message in shown] == ["user", "assistant", "tool"]
    assert shown[1]["parts"][0] | {"id": ""} == {
        "type": "tool_call",
        "id": "",
        "name": "calculator",
        "arguments": {"expression": "2+2"},
    }
    assert json.loads(str(last["gen_ai.output.messages"]))[0]["parts"] == [{"type": "text", "content": WORDS[1]}]
    assert "system_instructions" in str(list(last))


async def test_a_turn_hangs_below_the_request_that_asked_for_it(collector: Collector, tmp_path: Path):
    settings = settings_in(tmp_path, otel_endpoint=collector.endpoint)
    tracing, models = tracing_of(settings), ModelRegistry(settings)
    models.add("local", ScriptedModel(lambda _: "Understood."))
    async with open_preceptor(settings, models=models, hearers=Hearers(tracer=tracing.tracer)) as preceptor:
        transport = httpx2.ASGITransport(create_app(preceptor, tracing=tracing))
        headers = ADMIN | {"traceparent": f"00-{TRACE_ID}-{PARENT_ID}-01"}
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
            path = f"/api/conversations/{await started(client)}/messages"
            assert (await client.post(path, json={"content": "Hello"})).status_code == 200
    tracing.close()
    turn = collector.spans["invoke_agent assistant"]
    request = next(span for span in collector.all_spans if span.span_id == turn.parent_span_id)
    assert (turn.trace_id.hex(), request.name, request.parent_span_id.hex()) == (TRACE_ID, "POST", PARENT_ID)


class Failing(ScriptedModel):
    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        yield Delta("Well")
        raise ModelFailure(Fault.UNAUTHORIZED, "The key is the-secret-key.")


async def test_what_failed_says_so_by_its_kind_and_not_by_its_words(collector: Collector, tmp_path: Path):
    settings = settings_in(tmp_path, otel_endpoint=collector.endpoint)
    models = ModelRegistry(settings)
    models.add("local", Failing(lambda _: "Never."))
    async with open_preceptor(settings, models=models) as preceptor:
        turn = await preceptor.conversations.say("Hello", agent="assistant")
        assert turn.status == "failed"
    chat, root = collector.spans["chat scripted"], collector.spans["invoke_agent assistant"]
    assert (chat.status.code, attributes(chat)["error.type"]) == (Status.STATUS_CODE_ERROR, "unauthorized")
    assert (root.status.code, attributes(root)["preceptor.turn.status"]) == (Status.STATUS_CODE_ERROR, "failed")
    assert b"the-secret-key" not in b"".join(collector.bodies)


class Hanging(ScriptedModel):
    asked: asyncio.Event

    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        self.asked.set()
        await asyncio.Event().wait()
        yield Delta("Never.")


async def test_a_turn_that_another_process_took_up_is_still_one_tree(collector: Collector, tmp_path: Path):
    settings = settings_in(tmp_path, otel_endpoint=collector.endpoint)
    dying, living = ModelRegistry(settings), ModelRegistry(settings)
    hanging = Hanging(lambda _: "Never.")
    hanging.asked = asyncio.Event()
    dying.add("local", hanging)
    living.add("local", ScriptedModel(lambda _: "Here I am."))
    async with open_preceptor(settings, models=dying) as preceptor:
        conversation = await preceptor.conversations.start(agent_id="assistant")
        saying = asyncio.create_task(preceptor.conversations.say("Hello", conversation=conversation.conversation_id))
        await hanging.asked.wait()
        saying.cancel()
    assert collector.bodies == []
    async with open_preceptor(settings, models=living) as preceptor:
        while "invoke_agent assistant" not in collector.spans:
            await asyncio.sleep(0.01)
            if not preceptor.session.means.running and not preceptor.session.means.traces:
                break
    assert tree(collector) == ["invoke_agent assistant", "  chat scripted", "  chat scripted"]
    lost, answered = sorted(
        (span for span in collector.all_spans if span.name == "chat scripted"), key=lambda one: one.start_time_unix_nano
    )
    assert (attributes(lost)["error.type"], "error.type" in attributes(answered)) == ("orphaned", False)
    assert attributes(collector.spans["invoke_agent assistant"])["preceptor.turn.resumed"] == 1


def test_headers_for_the_collector_are_sent_and_must_be_written_well(collector: Collector, tmp_path: Path):
    given = settings_in(
        tmp_path, otel_endpoint=collector.endpoint, otel_headers="Authorization=Basic abc=, x-team=blue"
    )
    tracing = tracing_of(given)
    with tracing.span("turn"):
        pass
    tracing.close()
    assert (collector.headers[0]["authorization"], collector.headers[0]["x-team"]) == ("Basic abc=", "blue")
    with pytest.raises(CannotStart, match="name=value"):
        tracing_of(settings_in(tmp_path, otel_endpoint=collector.endpoint, otel_headers="no"))


async def test_without_a_collector_nobody_is_handed_anything(tmp_path: Path):
    async with talking(settings_in(tmp_path)) as talk:
        await talk.say("Hello")
        assert (talk.preceptor.session.means.tracer, talk.preceptor.session.means.traces) == (None, {})
