"""The embedded model with its real weights."""

import asyncio
import os
import select
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest

from preceptor import Settings, open_preceptor
from preceptor.adapters.models import local
from preceptor.adapters.models.local import LocalModel, find_local
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.domain.conversations.conversation import NewConversation
from preceptor.domain.ids import AgentId
from preceptor.domain.messages.message import Text
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.prompts.prompt import Ask, Force, Sampling, ToolSpec
from preceptor.domain.prompts.reply import Delta, Fault, Finish, ModelFailure, ModelTimeout, Reply
from preceptor.domain.turns.calls import CallOutcome
from preceptor.domain.turns.facts import TurnStatus
from tests.wire.prompts import prompt, user

LONG = 120.0
"""Seconds that an answer may take on a machine that has other things to do."""
BRIEF = Sampling(max_completion_tokens=12, seed=1)
FRANCE = prompt(user("What is the capital of France?"), system="You are a helpful assistant.")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@asynccontextmanager
async def embedded(tmp_path: Path) -> AsyncGenerator[LocalModel]:
    model = find_local(tmp_path)
    try:
        yield model
    finally:
        await model.close()


def asked(model: LocalModel, **more: object) -> Ask:
    return Ask(model.name, BRIEF, **more)  # pyright: ignore[reportArgumentType]


def pid_of(model: LocalModel) -> int:
    assert model.process is not None
    return model.process.pid


async def reply_of(model: LocalModel) -> Reply:
    *_, reply = [one async for one in model.send(model.render(FRANCE, asked(model)), LONG)]
    assert isinstance(reply, Reply)
    return reply


async def test_it_answers_with_real_words_one_after_the_other_and_counts_them(tmp_path: Path):
    """What arrives together is told together: the answer is long, to be heard in parts however busy we are."""
    story = prompt(user("Tell me a long story about a dragon."), system="You are a helpful assistant.")
    async with embedded(tmp_path) as model:
        request = model.render(story, Ask(model.name, Sampling(max_completion_tokens=200, seed=1)))
        *deltas, reply = [one async for one in model.send(request, LONG)]
    assert len(deltas) > 3
    assert isinstance(reply, Reply)
    [said] = reply.parts
    assert isinstance(said, Text)
    assert len(said.text.split()) > 3
    assert said.text == "".join(one.text for one in deltas if isinstance(one, Delta))
    assert reply.model == model.name
    assert reply.finish in {Finish.STOP, Finish.LENGTH}
    assert (reply.usage.estimated, reply.usage.input_tokens > 10, reply.usage.cost) == (False, True, 0)


async def test_a_schema_holds_what_it_says(tmp_path: Path):
    fields = {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 150}}
    schema = {"type": "object", "properties": fields, "required": ["name", "age"], "additionalProperties": False}
    spec = ToolSpec("person", "A person.", schema)
    wanted = Ask("local", Sampling(max_completion_tokens=80), "person", Force.JSON_SCHEMA)
    async with embedded(tmp_path) as model:
        request = model.render(prompt(user("Ann is 31 and lives in Rome."), tools=(spec,)), wanted)
        *_, reply = [one async for one in model.send(request, LONG)]
    assert isinstance(reply, Reply)
    [said] = reply.parts
    assert isinstance(said, Text)
    person = orjson.loads(said.text)
    assert (type(person["name"]), type(person["age"])) == (str, int)


async def test_a_prompt_that_is_too_long_is_refused_in_words(tmp_path: Path):
    async with embedded(tmp_path) as model:
        request = model.render(prompt(user("word " * 9000)), asked(model))
        with pytest.raises(ModelFailure) as caught:
            [one async for one in model.send(request, LONG)]
    assert (caught.value.fault, "8192" in str(caught.value)) == (Fault.REJECTED, True)


async def test_nobody_else_on_the_machine_may_use_it(tmp_path: Path):
    async with embedded(tmp_path) as model:
        await reply_of(model)
        server = model.server
        assert server is not None
        stranger = type(server)(server.name, server.url, None, server.egress, server.capabilities)
        with pytest.raises(ModelFailure) as caught:
            [one async for one in stranger.send(model.render(FRANCE, asked(model)), LONG)]
    assert caught.value.fault is Fault.UNAUTHORIZED


async def test_it_starts_when_it_is_asked_and_ends_when_it_is_closed(tmp_path: Path):
    async with embedded(tmp_path) as model:
        assert model.process is None
        await reply_of(model)
        process = pid_of(model)
        for _ in range(3):
            await reply_of(model)
        assert pid_of(model) == process
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


async def test_what_lies_in_the_current_folder_is_not_run(tmp_path: Path):
    for name in ("xllamacpp.py", "json.py"):
        (tmp_path / name).write_text("raise SystemExit(3)")
    async with embedded(tmp_path) as model:
        assert (await reply_of(model)).parts


async def test_several_who_ask_at_once_start_one(tmp_path: Path):
    async with embedded(tmp_path) as model:
        replies = await asyncio.gather(*(reply_of(model) for _ in range(3)))
        assert all(reply.parts for reply in replies)
        assert model.process is not None
        assert model.process.returncode is None


async def test_one_that_was_killed_is_started_again(tmp_path: Path):
    async with embedded(tmp_path) as model:
        await reply_of(model)
        first, process = pid_of(model), model.process
        os.kill(first, signal.SIGKILL)
        assert process is not None
        await process.wait()
        await reply_of(model)
        assert pid_of(model) != first


PARENT = """
import asyncio, os, pathlib, signal
from preceptor.adapters.models.local import find_local
from tests.adapters.test_local import reply_of

async def main():
    model = find_local(pathlib.Path.cwd())
    await reply_of(model)
    print(model.process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_it_does_not_outlive_whoever_started_it(tmp_path: Path):
    root = Path(__file__).parents[2]
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(root)}
    )
    out, _ = await parent.communicate()
    assert parent.returncode == -signal.SIGKILL
    try:
        child = os.pidfd_open(int(out))
    except ProcessLookupError:
        return
    try:
        ended, _, _ = select.select([child], [], [], 30)
        assert ended
    finally:
        os.close(child)


async def test_whoever_stops_listening_can_ask_again(tmp_path: Path):
    async with embedded(tmp_path) as model:
        story = prompt(user("Tell me a very long story."))
        heard = model.send(model.render(story, Ask(model.name)), LONG)
        assert isinstance(await anext(heard), Delta)
        await heard.aclose()
        assert (await reply_of(model)).parts


async def test_weights_that_are_none_are_a_failure_in_words(tmp_path: Path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not weights")
    model = LocalModel(broken)
    with pytest.raises(ModelFailure, match="could not be started") as caught:
        [one async for one in model.send(model.render(FRANCE, asked(model)), LONG)]
    await model.close()
    assert not caught.value.retryable


async def test_one_that_does_not_start_in_time_is_given_up(tmp_path: Path):
    async with embedded(tmp_path) as model:
        with pytest.raises(ModelTimeout):
            [one async for one in model.send(model.render(FRANCE, asked(model)), 0.001)]
        assert model.process is None


async def test_a_turn_of_a_fresh_installation_is_answered_and_its_context_rebuilt(tmp_path: Path):
    settings = Settings.load(data_dir=tmp_path)
    registry = ModelRegistry(settings, {})
    async with open_preceptor(settings, models=registry) as preceptor:
        made = await preceptor.conversations.start(NewConversation(agent_id=AgentId("assistant")))
        answer = await preceptor.turns.say(made.conversation_id, [Text("What is the capital of France?")])
        assert answer.message is not None
        context = await preceptor.contexts.of_message(answer.message.id)
    await registry.close()
    assert (answer.status, bool(answer.response)) == (TurnStatus.COMPLETED, True)
    assert (context.intact, context.format, context.unattributed_tokens) == (True, "openai-chat/1", 0)
    request = orjson.loads(bytes(context.request))
    assert "tools" not in request
    assert request["model"] == local.NAME


async def test_it_can_be_made_to_plan_by_a_schema_and_the_plan_is_on_the_record(tmp_path: Path):
    settings = Settings.load(data_dir=tmp_path, sgr_enabled="true")
    registry = ModelRegistry(settings, {})
    async with open_preceptor(settings, models=registry) as preceptor:
        made = await preceptor.conversations.start(NewConversation(agent_id=AgentId("assistant")))
        question = [Text("What is the capital of Italy?")]
        answer = await preceptor.turns.say(made.conversation_id, question, RequestParameters(max_completion_tokens=20))
        record = await preceptor.turns.record(answer.turn_id)
    await registry.close()
    assert answer.status in {TurnStatus.COMPLETED, TurnStatus.BLOCKED, TurnStatus.CLARIFY}
    assert answer.response
    first = record["calls"][0]
    assert (first["purpose"], first["ask"]["force"]) == ("plan", Force.JSON_SCHEMA)
    assert first["ended"].outcome is CallOutcome.OK
