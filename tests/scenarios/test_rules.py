"""Validation rules on real turns: what an answer must keep, and what becomes of one that does not."""

from pathlib import Path
from typing import Any

import pytest

from preceptor.domain.ids import AgentId, TurnId
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.messages.message import Text
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.turns.facts import TurnStatus
from preceptor.engine.turns import Answer
from preceptor.testing import Say
from tests.requirements import covers
from tests.talking import Talk, delegate, talking, use

RUDE, KIND = "No. Go away, stupid.", "I am sorry, we cannot. Thank you."
SHOWN = "The answer did not keep the rules that answers have here, so it is not shown. Ask again."


async def ruled(talk: Talk, mode: str, **rules: Any) -> None:
    """The agent is told to be polite, and its answers are held to it."""
    given = rules or {"requiredKeywords": ["thank you"], "prohibitedKeywords": ["STUPID"], "maxResponseLength": 200}
    made = await talk.preceptor.instructions.create(
        name="Polite",
        type="behavior",
        content={"guidelines": ["Be polite."]},
        status=Status.ACTIVE,
        validation_rules=given | {"mode": mode},
    )
    await talk.preceptor.assignments.assign(AgentId("assistant"), instruction_id=made.instruction_id)


async def checks(talk: Talk, answer: Answer) -> list[tuple[str, list[str]]]:
    """Of each answer of a turn that was checked: what followed, and which rules it broke."""
    told = (await talk.preceptor.turns.record(TurnId(answer.turn_id)))["checks"]
    return [(one["then"], [each["rule"] for each in one["reports"] if not each["passed"]]) for one in told or ()]


BROKEN = ["requiredKeywords", "prohibitedKeywords"]


@covers("R91", "R129")
@pytest.mark.parametrize("mode", ["report", "retry", "block"])
async def test_an_answer_that_keeps_the_rules_is_the_answer_and_that_is_on_the_record(tmp_path: Path, mode: str):
    async with talking(tmp_path, [KIND]) as talk:
        await ruled(talk, mode)
        answer = await talk.say()
        assert (answer.status, answer.response) == (TurnStatus.COMPLETED, KIND)
        assert await checks(talk, answer) == [("kept", [])]


@covers("R129")
async def test_in_report_a_broken_rule_is_on_the_record_and_the_answer_stands(tmp_path: Path):
    async with talking(tmp_path, [RUDE]) as talk:
        await ruled(talk, "report")
        answer = await talk.say()
        assert (answer.status, answer.response) == (TurnStatus.COMPLETED, RUDE)
        assert await checks(talk, answer) == [("kept", BROKEN)]


@covers("R129")
async def test_in_retry_the_model_is_told_what_it_broke_and_asked_once_more(tmp_path: Path):
    async with talking(tmp_path, [RUDE, KIND, "Understood. Thank you."]) as talk:
        await ruled(talk, "retry")
        answer = await talk.say()
        assert (answer.response, await checks(talk, answer)) == (KIND, [("retried", BROKEN), ("kept", [])])
        first, second = talk.model.prompts
        assert (first.tail_text, [one.message.text for one in second.shown]) == ("", ["Hello."])
        assert "requiredKeywords: missing: thank you" in second.tail_text
        await talk.say("And?")
        assert RUDE not in str([one.message.text for one in talk.model.prompts[-1].shown])
        assert talk.model.prompts[-1].tail_text == ""


async def test_being_told_what_it_broke_is_not_held_to_a_limit_that_the_question_just_keeps(tmp_path: Path):
    async with talking(tmp_path, [KIND, KIND, RUDE, KIND]) as talk:
        await ruled(talk, "retry")
        await talk.say()
        await talk.say()
        limit = RequestParameters(max_tokens=talk.model.prompts[1].tokens, low_water=1.0)
        answer = await talk.preceptor.turns.say(talk.conversation_id, [Text("Hello.")], limit)
        assert talk.model.prompts[2].tokens == limit.max_tokens
        assert (answer.response, await checks(talk, answer)) == (KIND, [("retried", BROKEN), ("kept", [])])


async def test_an_answer_that_breaks_them_again_stands_with_what_it_broke(tmp_path: Path):
    async with talking(tmp_path, [RUDE, RUDE]) as talk:
        await ruled(talk, "retry")
        answer = await talk.say()
        assert (answer.response, await checks(talk, answer)) == (RUDE, [("retried", BROKEN), ("kept", BROKEN)])


@covers("R129")
async def test_in_block_nobody_is_shown_it_and_the_conversation_goes_on(tmp_path: Path):
    async with talking(tmp_path, [RUDE, KIND]) as talk:
        await ruled(talk, "block")
        answer = await talk.say()
        assert (answer.status, answer.response) == (TurnStatus.BLOCKED, SHOWN)
        assert await checks(talk, answer) == [("blocked", BROKEN)]
        assert RUDE not in [one.text for one in await talk.messages()]
        assert (await talk.say("Once more?")).response == KIND
        assert [one.message.text for one in talk.model.prompts[-1].shown] == ["Hello.", SHOWN, "Once more?"]


@pytest.mark.parametrize("mode", ["retry", "block"])
async def test_nothing_of_an_answer_is_streamed_that_may_still_be_kept_back(tmp_path: Path, mode: str):
    async with talking(tmp_path, [RUDE, KIND]) as talk:
        await ruled(talk, mode)
        await talk.say()
        seen = [event for event in await talk.events() if event.kind.startswith("message.")]
        assert not [event for event in seen if "stupid" in (event.payload or "")]


async def test_only_the_last_word_is_held_to_the_rules_not_tools_and_not_specialists(tmp_path: Path):
    script = [use("calculator", expression="2+2"), delegate(), RUDE, KIND]
    async with talking(tmp_path, script) as talk:
        await ruled(talk, "block")
        answer = await talk.say()
        assert (answer.response, await checks(talk, answer)) == (KIND, [("kept", [])])


async def test_a_specialist_whose_words_are_the_answer_is_held_to_them(tmp_path: Path):
    async with talking(tmp_path, [delegate(mark_intermediate=False), RUDE]) as talk:
        await ruled(talk, "block")
        answer = await talk.say()
        assert (answer.status, answer.response) == (TurnStatus.BLOCKED, SHOWN)


@covers("R129")
async def test_a_specialist_whose_words_are_the_answer_is_told_what_it_broke(tmp_path: Path):
    async with talking(tmp_path, [delegate(mark_intermediate=False), RUDE, KIND]) as talk:
        await ruled(talk, "retry")
        answer = await talk.say()
        assert (answer.response, await checks(talk, answer)) == (KIND, [("retried", BROKEN), ("kept", [])])
        assert "requiredKeywords: missing: thank you" in talk.model.prompts[-1].tail_text


@pytest.mark.parametrize("outer", [True, False])
async def test_what_another_specialist_reads_first_is_not_held_to_them(tmp_path: Path, outer: bool):
    inner = delegate("You add.", mark_intermediate=False)
    async with talking(tmp_path, [delegate(mark_intermediate=outer), inner, RUDE, KIND, KIND]) as talk:
        await ruled(talk, "block")
        answer = await talk.say()
        assert (answer.response, await checks(talk, answer)) == (KIND, [("kept", [])])


async def test_without_rules_nothing_is_checked(tmp_path: Path):
    async with talking(tmp_path, [Say(RUDE)]) as talk:
        assert (await checks(talk, await talk.say())) == []
