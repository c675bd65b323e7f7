"""Fallback models: when an agent's model cannot answer, the next is asked, within the same budget, on the record."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from preceptor import Preceptor, open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.models.scripted import CAN_DO_ALL
from preceptor.domain.ids import AgentId, ConversationId
from preceptor.domain.messages.message import Text
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.prompts.prompt import Force
from preceptor.domain.prompts.reply import Fault, ModelFailure, ModelTimeout, Usage
from preceptor.domain.turns.facts import TurnStatus
from preceptor.domain.turns.turn import Turn
from preceptor.engine.turns import Answer
from preceptor.testing import ScriptedModel
from tests.rebuilding import every_call_is_rebuilt
from tests.requirements import covers
from tests.scenarios.reasoned import PLAN
from tests.talking import delegate, settings_in

BUSY = ModelFailure(Fault.RATE_LIMITED, "Too many at once.", status=429, retry_after=60.0)


def failing(fault: Fault, **more: Any) -> ModelFailure:
    kind = ModelTimeout if fault is Fault.TIMEOUT else ModelFailure
    return kind(fault, f"It failed: {fault}.", retry_after=60.0, **more)


@asynccontextmanager
async def with_models(
    folder: Path, own: ScriptedModel, *others: ScriptedModel, **more: Any
) -> AsyncGenerator[tuple[Preceptor, ConversationId]]:
    """An agent with its own model and these in its place, in this order."""
    settings = settings_in(folder, **more)
    registry = ModelRegistry(settings)
    registry.add("local", own)
    for other in others:
        registry.add(f"openai:{other.name}", other)
    async with open_preceptor(settings, models=registry) as preceptor:
        names = [f"openai:{other.name}" for other in others]
        await preceptor.agents.change(AgentId("assistant"), fallback_models=names, tools=["calculator"])
        started = await preceptor.conversations.start(agent_id="assistant")
        yield preceptor, started.conversation_id
        await every_call_is_rebuilt(preceptor)


async def say(preceptor: Preceptor, conversation: ConversationId, text: str = "Hello.") -> tuple[Answer, Turn]:
    answer = await preceptor.turns.say(conversation, [Text(text)])
    return answer, (await preceptor.turns.get(answer.turn_id))[1]


HELPED = {
    "unavailable": failing(Fault.OVERLOADED),
    "a server in trouble": failing(Fault.SERVER),
    "unreachable": failing(Fault.UNREACHABLE),
    "rate limited": BUSY,
    "too slow": failing(Fault.TIMEOUT),
    "no money": failing(Fault.PAYMENT),
    "no key": failing(Fault.UNAUTHORIZED),
    "no trust": failing(Fault.TLS),
    "too small a window": failing(Fault.TOO_LONG),
    "not there any more": failing(Fault.REJECTED, status=404),
}


@covers("S18", "R197")
@pytest.mark.parametrize("failure", HELPED.values(), ids=HELPED)
async def test_another_model_answers_where_the_first_cannot_and_the_record_says_which(
    tmp_path: Path, failure: ModelFailure
):
    own, second = ScriptedModel([failure], "first"), ScriptedModel(["Here I am."], "second")
    async with with_models(tmp_path, own, second) as (preceptor, conversation):
        answer, turn = await say(preceptor, conversation)
        record = await preceptor.turns.record(answer.turn_id)
    assert (answer.status, answer.response) == (TurnStatus.COMPLETED, "Here I am.")
    assert [(call.model, call.ask.model, call.attempt, call.fallback) for call in turn.calls.values()] == [
        ("first", "first", 1, 0),
        ("second", "second", 1, 1),
    ]
    [fell] = record["fallbacks"]
    assert (fell.model, fell.fault, fell.why) == ("openai:second", failure.fault, str(failure))


async def test_what_the_request_itself_is_at_fault_for_is_not_asked_of_another_model(tmp_path: Path):
    own = ScriptedModel([failing(Fault.REJECTED, status=400)], "first")
    second = ScriptedModel(["Never."], "second")
    async with with_models(tmp_path, own, second) as (preceptor, conversation):
        answer, turn = await say(preceptor, conversation)
    assert (answer.status, answer.code) == (TurnStatus.FAILED, "upstream_failed")
    assert not second.requests
    assert not turn.fell_back


async def test_a_turn_that_fell_back_stays_there_and_the_next_turn_starts_with_the_agents_own_model(tmp_path: Path):
    own = ScriptedModel([BUSY, "Back again."], "first")
    second = ScriptedModel([delegate(), "As an analyst.", "Distilled."], "second")
    async with with_models(tmp_path, own, second) as (preceptor, conversation):
        await preceptor.agents.change(AgentId("assistant"), permissions=["delegate"])
        answer, turn = await say(preceptor, conversation)
        again, _ = await say(preceptor, conversation)
    assert (answer.response, again.response) == ("Distilled.", "Back again.")
    assert [call.model for call in turn.calls.values()] == ["first", "second", "second", "second"]


async def test_models_are_tried_in_order_and_the_last_failure_is_the_turns(tmp_path: Path):
    models = [ScriptedModel([failing(Fault.PAYMENT)], name) for name in ("first", "second", "third")]
    async with with_models(tmp_path, *models) as (preceptor, conversation):
        answer, turn = await say(preceptor, conversation)
    assert (answer.status, answer.code) == (TurnStatus.FAILED, "upstream_failed")
    assert [call.model for call in turn.calls.values()] == ["first", "second", "third"]


async def test_a_model_that_cannot_be_had_is_skipped_and_the_record_says_why(tmp_path: Path):
    own, third = ScriptedModel([BUSY], "first"), ScriptedModel(["Third."], "third")
    async with with_models(tmp_path, own, third) as (preceptor, conversation):
        names = ["anthropic:without-a-key", "openai:third"]
        await preceptor.agents.change(AgentId("assistant"), fallback_models=names)
        answer, turn = await say(preceptor, conversation)
    assert answer.response == "Third."
    assert [(fell.model, bool(fell.skipped)) for fell in turn.fell_back] == [
        ("anthropic:without-a-key", True),
        ("openai:third", False),
    ]


@covers("S18")
async def test_the_budget_is_checked_again_at_the_price_of_the_model_that_is_asked_next(tmp_path: Path):
    dear = Capabilities(plans=False, input_price=1_000_000.0)
    own = ScriptedModel([failing(Fault.PAYMENT)], "cheap")
    second = ScriptedModel(["Never."], "dear", dear)
    async with with_models(tmp_path, own, second, turn_budget_cost=1.0) as (preceptor, conversation):
        answer, turn = await say(preceptor, conversation)
    assert (answer.status, answer.code) == (TurnStatus.FAILED, "budget_exceeded")
    assert not second.requests
    assert [call.model for call in turn.calls.values()] == ["cheap"]


@covers("S18")
async def test_what_the_first_model_used_up_before_it_failed_counts(tmp_path: Path):
    broke_off = ModelFailure(Fault.PAYMENT, "The account is empty.", usage=Usage(5_000, 0))
    own, second = ScriptedModel([broke_off], "first"), ScriptedModel(["Never."], "second")
    async with with_models(tmp_path, own, second, turn_budget_tokens=5_001) as (preceptor, conversation):
        answer, _ = await say(preceptor, conversation)
    assert (answer.status, answer.code) == (TurnStatus.FAILED, "budget_exceeded")
    assert not second.requests


@covers("R197")
async def test_each_model_is_asked_as_it_can_be_asked(tmp_path: Path):
    """The one in place of the first has no tools and a small window: it is shown neither."""
    small = Capabilities(plans=False, tools=False, forced=(), context_window=120, message_overhead=7)
    own = ScriptedModel(["One " * 100, "Two " * 100, BUSY], "first")
    second = ScriptedModel(["Small."], "second", small)
    async with with_models(tmp_path, own, second) as (preceptor, conversation):
        for text in ("First question.", "Second question."):
            await say(preceptor, conversation, text)
        answer, turn = await say(preceptor, conversation, "Third question.")
        assert answer.message is not None
        context = await preceptor.contexts.of_message(answer.message.id)
    assert answer.response == "Small."
    first, last = turn.calls.values()
    assert (first.tools is not None, last.tools) == (True, None)
    assert (first.overhead > 0, last.overhead) == (True, 7 * 2)
    assert [one.message.text for one in second.prompts[0].shown] == ["Third question."]
    assert any("the window of second" in left.why for left in context.left_out)
    assert (context.model, context.intact) == ("second", True)


async def test_a_limit_holds_for_a_model_that_writes_each_message_with_more(tmp_path: Path):
    own = ScriptedModel([*(["Well."] * 8), BUSY], "first")
    second = ScriptedModel(["Here I am."], "second", CAN_DO_ALL.model_copy(update={"message_overhead": 9}))
    async with with_models(tmp_path, own, second) as (preceptor, conversation):
        for _ in range(8):
            await say(preceptor, conversation)
        limit = own.prompts[-1].tokens + 50
        answer = await preceptor.turns.say(conversation, [Text("Hello.")], RequestParameters(max_tokens=limit))
    assert (answer.status, answer.response) == (TurnStatus.COMPLETED, "Here I am.")
    assert own.prompts[-1].tokens <= limit
    assert second.prompts[0].tokens <= limit
    assert 1 < len(second.prompts[0].shown) < len(own.prompts[-1].shown)


@covers("R197", "S18")
async def test_a_plan_is_forced_as_the_model_in_place_of_the_first_can_be_forced(tmp_path: Path):
    own = ScriptedModel([failing(Fault.PAYMENT)], "first", Capabilities(forced=(Force.NAMED,)))
    json_only = Capabilities(forced=(Force.JSON_SCHEMA,))
    second = ScriptedModel([json.dumps(PLAN), "Planned and answered."], "second", json_only)
    async with with_models(tmp_path, own, second, sgr_enabled=True) as (preceptor, conversation):
        answer, turn = await say(preceptor, conversation)
    assert answer.response == "Planned and answered."
    assert [(call.purpose, call.model, call.ask.force) for call in turn.calls.values()] == [
        ("plan", "first", Force.NAMED),
        ("plan", "second", Force.JSON_SCHEMA),
        ("answer", "second", None),
    ]
    assert turn.planned is not None
    assert not turn.planned.plan.degraded


async def test_summaries_are_written_by_the_model_in_place_of_the_first(tmp_path: Path):
    own = ScriptedModel([*["Answered."] * 6, failing(Fault.PAYMENT)], "first")
    second = ScriptedModel(["What was said so far.", "Answered, too."], "second")
    async with with_models(tmp_path, own, second) as (preceptor, conversation):
        for number in range(6):
            await say(preceptor, conversation, f"Question {number}.")
        strategy = {"type": "from_last_n_messages", "n": 2}
        await preceptor.agents.change(AgentId("assistant"), parameters={"compressionStrategy": strategy})
        answer, turn = await say(preceptor, conversation, "And now?")
    assert answer.response == "Answered, too."
    assert [(call.purpose, call.model) for call in turn.calls.values()] == [
        ("summary", "first"),
        ("summary", "second"),
        ("answer", "second"),
    ]


async def test_a_replay_asks_the_model_that_answered_then(tmp_path: Path):
    own, second = ScriptedModel([BUSY], "first"), ScriptedModel(["Then.", "Then."], "second")
    async with with_models(tmp_path, own, second) as (preceptor, conversation):
        answer, _ = await say(preceptor, conversation)
        replay = await preceptor.replays.create(turn_ids=[answer.turn_id], mode="step", replies="live")
        async for _ in preceptor.replays.follow(replay.replay_id):
            pass
        replay = await preceptor.replays.get(replay.replay_id)
    assert replay.summary.same == 1
    assert [ask.model for ask in second.asks] == ["second", "second"]
