import json
from pathlib import Path
from typing import Any

import pytest

from preceptor.adapters.models.scripted import read_script
from preceptor.domain.errors import CannotStart
from preceptor.domain.messages.message import Text, Thinking, ToolCall
from preceptor.domain.prompts.prompt import Ask, Force, Prompt
from preceptor.domain.prompts.reply import Delta, Fault, Finish, ModelFailure, ModelTimeout, Reply, Usage
from preceptor.testing import Called, Hang, Say, ScriptedModel
from preceptor.wire.openai_chat import render
from tests.wire.prompts import ASK, prompt, user

HI = prompt(user("Hi"))


async def said_by(model: ScriptedModel, given: Prompt = HI, deadline: float = 5) -> list[Delta | Reply]:
    return [one async for one in model.send(model.render(given, ASK), deadline)]


async def reply_of(model: ScriptedModel, given: Prompt = HI) -> Reply:
    reply = (await said_by(model, given))[-1]
    assert isinstance(reply, Reply)
    return reply


async def failure_of(model: ScriptedModel, deadline: float = 5) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        await said_by(model, deadline=deadline)
    return caught.value


async def test_it_gives_its_replies_in_order():
    model = ScriptedModel(["one", Say("two"), {"text": "three"}])
    assert [(await reply_of(model)).parts for _ in range(3)] == [(Text("one"),), (Text("two"),), (Text("three"),)]


async def test_it_remembers_what_it_was_sent():
    model = ScriptedModel(["one", "two"])
    other = prompt(user("How are you?"))
    await said_by(model)
    model.render(other, ASK)
    await said_by(model, other)
    assert (model.prompts, model.asks) == ([HI, other], [ASK, ASK])
    assert [request.sha256 for request in model.requests] == [render(one, ASK).sha256 for one in (HI, other)]


async def test_it_can_make_its_reply_of_the_prompt():
    def echo(given: Prompt) -> str:
        return given.shown[-1].message.text.upper()

    assert (await reply_of(ScriptedModel(echo))).parts == (Text("HI"),)


async def test_it_calls_tools_with_ids_that_depend_on_the_request_alone():
    def calling(_: Prompt) -> Say:
        return Say("Let me.", tool_calls=(Called("clock"), Called("pay", {"amount": 1}, id="mine")))

    first, again = await reply_of(ScriptedModel(calling)), await reply_of(ScriptedModel(calling))
    assert first == again
    assert first.finish is Finish.TOOL_CALLS
    assert first.parts[0] == Text("Let me.")
    assert first.parts[2] == ToolCall("mine", "pay", {"amount": 1})
    elsewhere = await reply_of(ScriptedModel(calling), prompt(user("Bye")))
    assert elsewhere.parts[1] != first.parts[1]


async def test_it_streams_in_pieces():
    model = ScriptedModel([Say("abcdefg", thinking="hm", chunk=3)])
    *deltas, reply = await said_by(model)
    assert deltas == [Delta("hm", thinking=True), Delta("abc"), Delta("def"), Delta("g")]
    assert isinstance(reply, Reply)
    assert reply.parts == (Thinking("hm"), Text("abcdefg"))


async def test_it_counts_what_it_used():
    reply = await reply_of(ScriptedModel(["hello world"]))
    assert reply.usage == Usage(HI.tokens, 2)
    assert (await reply_of(ScriptedModel([Say("x", usage=Usage(7, 8))]))).usage == Usage(7, 8)


async def test_it_fails_as_it_is_told_to():
    busy = ModelFailure(Fault.RATE_LIMITED, "Busy.", status=429, retry_after=2)
    model = ScriptedModel([busy, Say("half", break_off=True), Hang("well"), "fine"])
    assert await failure_of(model) is busy
    broken = await failure_of(model)
    assert (broken.fault, broken.partial) == (Fault.BROKEN_STREAM, "half")
    hung = await failure_of(model, deadline=0.01)
    assert (type(hung), hung.partial) == (ModelTimeout, "well")
    assert (await reply_of(model)).parts == (Text("fine"),)


async def test_a_whole_reply_is_given_as_it_is():
    whole = Reply((Thinking("hm"), Text("Hi"), ToolCall("a", "b", {})), Finish.LENGTH, Usage(1, 2), "other")
    assert await said_by(ScriptedModel([whole])) == [Delta("hm", thinking=True), Delta("Hi"), whole]


async def test_a_script_that_is_too_short_says_so():
    model = ScriptedModel(["only"])
    await said_by(model)
    failure = await failure_of(model)
    assert (failure.retryable, str(failure)) == (False, "The script has 1 replies, and this is call 2. Add one.")


def test_its_requests_are_those_of_a_real_model():
    assert ScriptedModel([]).render(HI, ASK) == render(HI, ASK)


async def test_forcing_and_parameters_are_seen():
    model = ScriptedModel(["x"])
    forced = Ask("m", force=Force.NAMED, forced_tool=None)
    await anext(model.send(model.render(HI, forced), 5))
    assert model.asks == [forced]


async def test_a_file_holds_a_script(tmp_path: Path):
    file = tmp_path / "script.json"
    file.write_text(json.dumps(["Hi", {"text": "", "toolCalls": [{"name": "clock", "arguments": {"a": 1}}]}]))
    model = ScriptedModel(read_script(file))
    assert (await reply_of(model)).parts == (Text("Hi"),)
    (call,) = (await reply_of(model)).parts
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments) == ("clock", {"a": 1})


@pytest.mark.parametrize("content", ["", "{}", "[1]", '[{"txt": "x"}]', '[{"toolCalls": [{}]}]', '["a"', "\x00"])
def test_a_file_that_is_no_script_is_told_at_start(tmp_path: Path, content: str):
    file = tmp_path / "script.json"
    file.write_text(content)
    with pytest.raises(CannotStart, match=r"script\.json"):
        read_script(file)


def test_a_file_that_is_not_there_is_told_at_start(tmp_path: Path):
    with pytest.raises(CannotStart, match="nowhere"):
        read_script(tmp_path / "nowhere.json")


@pytest.mark.parametrize("line", [{"text": 3}, {"nonsense": 1}])
async def test_a_line_that_says_nothing_is_a_mistake_of_the_test(line: Any):
    with pytest.raises(Exception, match=r"Expected|unknown"):
        await said_by(ScriptedModel([line]))
