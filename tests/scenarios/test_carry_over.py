"""An agent that carries over: a specialist whose words were the answer hears the next message first, and gives back."""

from pathlib import Path
from typing import Any

import pytest

from preceptor import Preceptor
from preceptor.adapters.models.scripted import Line
from preceptor.domain.agents import Budget
from preceptor.domain.conversations.compaction import Dropping
from preceptor.domain.conversations.view import Change
from preceptor.domain.delegation import ClosedBy
from preceptor.domain.ids import AgentId, ViewId
from preceptor.domain.messages.directive import INTERMEDIATE, DelegateReasoning
from preceptor.domain.messages.message import Role, Text
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.prompts.prompt import Prompt
from preceptor.domain.prompts.reply import Fault, ModelFailure
from preceptor.domain.reasoning.verdict import Level, Verdict
from preceptor.domain.turns.facts import TurnStatus
from preceptor.domain.turns.turn import Turn
from preceptor.engine.turns import Answer, answer_of
from preceptor.engine.viewing.branching import Again
from preceptor.testing import FixedGuardian, Hang
from tests.adapters.test_counters import traced
from tests.requirements import covers
from tests.scenarios.reasoned import plan, planning, reasoning
from tests.talking import RETURN, Talk, back, delegate, talking, use

ANALYST, MAIN = "You are an analyst.", "You are Assistant."
RETURNING = "<return-control>Returning to main agent</return-control>"
TO_ANALYST = delegate(ANALYST, mark_intermediate=False)


async def carrying(talk: Talk, *, on: bool = True, **more: Any) -> None:
    await talk.preceptor.agents.change(AgentId("assistant"), carry_over=on, **more)


def speakers(talk: Talk) -> list[str]:
    return [prompt.system_text for prompt in talk.model.prompts]


def closings(turn: Turn) -> list[ClosedBy]:
    assert turn.spans.keys() == turn.closed.keys()
    return [closed.closed_by for closed in turn.closed.values()]


def between_turns(preceptor: Preceptor, *, known: bool) -> None:
    """What is known by heart is forgotten, unless it is `known`: a process that has just started does not know it."""
    if not known:
        preceptor.session.means.memory.kept.clear()


@pytest.fixture(params=[True, False], ids=["by heart", "from the log"])
def known(request: pytest.FixtureRequest) -> bool:
    return request.param


@covers("R25", "R26")
async def test_who_gave_the_answer_hears_the_next_message_until_it_returns_control(
    tmp_path: Path, database_url: str, known: bool
):
    script = [TO_ANALYST, "Which year?", "And which month?", back("It is 7."), "Your number is 7."]
    async with talking(tmp_path, script, database=database_url) as talk:
        await carrying(talk)
        turns: list[Turn] = []
        for text in ("How many?", "This one.", "May."):
            turns.append(await talk.turn(await talk.say(text)))
            between_turns(talk.preceptor, known=known)
        assert speakers(talk) == [MAIN, ANALYST, ANALYST, ANALYST, MAIN]
        assert [turn.ended and turn.ended.message and turn.ended.message.text for turn in turns] == [
            "Which year?",
            "And which month?",
            "Your number is 7.",
        ]
        assert [closings(turn) for turn in turns] == [[ClosedBy.CARRIED], [ClosedBy.CARRIED], [ClosedBy.RETURNED]]
        first, second, third = (next(iter(turn.spans.values())) for turn in turns)
        assert (first.carried_from, second.carried_from, third.carried_from) == (None, first.span_id, second.span_id)
        assert len({first.span_id, second.span_id, third.span_id}) == 3
        assert not any(message.is_intermediate for message in await talk.messages())
        assert talk.model.prompts[-1].tail_text == RETURNING
        shown = [each.message.text for each in talk.model.prompts[3].shown if each.message.text]
        assert shown == ["How many?", "Which year?", "This one.", "And which month?", "May."]


async def test_without_the_option_the_agent_answers_every_message_itself(tmp_path: Path, database_url: str):
    async with talking(tmp_path, [TO_ANALYST, "Which year?", "It is 4."], database=database_url) as talk:
        first, second = await talk.say(), await talk.say()
        assert speakers(talk) == [MAIN, ANALYST, MAIN]
        assert closings(await talk.turn(first)) == [ClosedBy.FINAL]
        assert (await talk.turn(second)).spans == {}


async def test_a_specialist_that_works_for_the_agent_is_not_carried_over(tmp_path: Path):
    async with talking(tmp_path, [delegate(ANALYST), "Four.", "It is 4.", "Yes."]) as talk:
        await carrying(talk)
        assert closings(await talk.turn(await talk.say())) == [ClosedBy.ANSWERED]
        await talk.say()
        assert speakers(talk) == [MAIN, ANALYST, MAIN, MAIN]


@covers("R41")
async def test_the_whole_stack_is_carried_over_and_returns_one_by_one(tmp_path: Path, database_url: str, known: bool):
    inner = delegate("You add.", mark_intermediate=False)
    script = [TO_ANALYST, inner, "What shall I add?", back("6."), back("It is 6."), "Six."]
    async with talking(tmp_path, script, database=database_url) as talk:
        await carrying(talk)
        assert (await talk.say()).response == "What shall I add?"
        between_turns(talk.preceptor, known=known)
        turn = await talk.turn(await talk.say("2 and 4."))
        assert speakers(talk) == [MAIN, ANALYST, "You add.", "You add.", ANALYST, MAIN]
        outer, adding = turn.spans.values()
        assert (outer.depth, outer.parent, adding.depth, adding.parent) == (1, None, 2, outer.span_id)
        assert closings(turn) == [ClosedBy.RETURNED] * 2


async def test_what_works_for_a_specialist_that_works_for_the_agent_reaches_no_user(tmp_path: Path):
    script = [delegate(ANALYST), delegate("You add.", mark_intermediate=False), "6.", "It is 6.", "Six."]
    async with talking(tmp_path, script) as talk:
        await carrying(talk)
        answer = await talk.say()
        assert (answer.response, closings(await talk.turn(answer))) == ("Six.", [ClosedBy.FINAL, ClosedBy.ANSWERED])
        _, *steps, _ = await talk.messages()
        assert [INTERMEDIATE in step.directives for step in steps] == [True] * 6


@covers("R22", "R29")
async def test_the_calls_of_a_delegation_are_counted_over_all_its_turns_so_that_it_ends(
    tmp_path: Path, database_url: str, known: bool
):
    async with talking(tmp_path, lambda prompt: TO_ANALYST if not prompt.shown[1:] else "Go on.") as talk:
        await carrying(talk)
        most = talk.preceptor.session.means.limits.calls_per_delegation
        turns: list[Turn] = []
        for _ in range(most + 1):
            turns.append(await talk.turn(await talk.say()))
            between_turns(talk.preceptor, known=known)
        assert [closings(turn) for turn in turns] == [*[[ClosedBy.CARRIED]] * most, [ClosedBy.LIMIT]]
        assert speakers(talk)[-1] == MAIN
        assert "The specialist was stopped: 20 calls were all it had." in talk.model.prompts[-1].tail_text
        assert next(iter(turns[-1].spans.values())).calls_before == most


async def test_the_next_call_is_foreseen_for_whoever_speaks_first(tmp_path: Path, database_url: str, known: bool):
    inner = delegate("You add, and you never say more than one number.", mark_intermediate=False, tools=[])
    script = [TO_ANALYST, inner, "What shall I add?", "And then?", back("6."), back("It is 6."), "Six.", "Yes."]
    async with talking(tmp_path, script, database=database_url) as talk:
        await carrying(talk)
        foreseen, began = list[int](), list[int]()
        for text in ("How many?", "2 and 4.", "No more.", "Sure?"):
            began.append(len(talk.model.prompts))
            plan = await talk.preceptor.foreseeing.plan(talk.conversation_id, RequestParameters())
            foreseen.append(plan.fixed)
            await talk.say(text)
            between_turns(talk.preceptor, known=known)
        prompts = [talk.model.prompts[number] for number in began]
        assert [prompt.system_text[:7] for prompt in prompts] == ["You are", "You add", "You add", "You are"]
        needed = [sum(piece.tokens for piece in (*prompt.system, *prompt.tools)) for prompt in prompts]
        assert {plan - fixed for plan, fixed in zip(foreseen, needed, strict=True)} == {foreseen[0] - needed[0]}
        assert foreseen[0] != foreseen[1]


FAILURE = ModelFailure(Fault.REJECTED, "The model does not take that.")


@covers("R29")
async def test_a_specialist_that_cannot_be_asked_gives_control_back_in_a_later_turn_as_well(tmp_path: Path):
    async with talking(tmp_path, [TO_ANALYST, "Which year?", FAILURE, "I cannot say.", "Yes."]) as talk:
        await carrying(talk)
        await talk.say()
        turn = await talk.turn(await talk.say())
        assert (closings(turn), speakers(talk)[-1]) == ([ClosedBy.ERROR], MAIN)
        await talk.say()
        assert speakers(talk)[-1] == MAIN


@covers("R29")
async def test_a_turn_that_fails_ends_what_was_carried_into_it(tmp_path: Path, database_url: str, known: bool):
    async with talking(tmp_path, [TO_ANALYST, "Which year?", "It is 4."], database=database_url) as talk:
        await carrying(talk)
        await talk.say()
        await carrying(talk, budget=Budget(tokens=1))
        turn = await talk.turn(await talk.say())
        assert (turn.ended and turn.ended.status, closings(turn)) == (TurnStatus.FAILED, [ClosedBy.TURN_END])
        await carrying(talk, budget=None)
        between_turns(talk.preceptor, known=known)
        assert (await talk.turn(await talk.say())).spans == {}
        assert speakers(talk) == [MAIN, ANALYST, MAIN]


async def test_a_turn_that_is_cancelled_ends_what_was_carried_into_it(tmp_path: Path, database_url: str):
    async with talking(tmp_path, [TO_ANALYST, "Which year?", Hang(), "It is 4."], database=database_url) as talk:
        await carrying(talk)
        await talk.say()
        turns = talk.preceptor.turns
        begun = await turns.begin(talk.conversation_id, [Text("May.")])
        assert (await turns.cancel(talk.conversation_id)).turn_id == begun.turn_id
        _, stopped = await turns.get(begun.turn_id)
        assert closings(stopped) == [ClosedBy.CANCELLED]
        await talk.say()
        assert speakers(talk)[-1] == MAIN


async def test_the_agent_answers_itself_once_the_option_is_switched_off(tmp_path: Path, database_url: str, known: bool):
    async with talking(tmp_path, [TO_ANALYST, "Which year?", "Yes.", "Yes."], database=database_url) as talk:
        await carrying(talk)
        await talk.say()
        await carrying(talk, on=False)
        between_turns(talk.preceptor, known=known)
        await talk.say()
        await carrying(talk)
        await talk.say()
        assert speakers(talk) == [MAIN, ANALYST, MAIN, MAIN]


@covers("R22")
async def test_the_agent_answers_itself_and_is_told_why_once_it_may_not_delegate(
    tmp_path: Path, database_url: str, known: bool
):
    async with talking(tmp_path, [TO_ANALYST, "Which year?", "Yes.", "Yes."], database=database_url) as talk:
        await carrying(talk)
        await talk.say()
        await carrying(talk, permissions=())
        between_turns(talk.preceptor, known=known)
        turn = await talk.turn(await talk.say())
        [closed] = turn.closed.values()
        assert (closed.closed_by, closed.why) == (ClosedBy.LIMIT, "the agent may not delegate any more")
        assert speakers(talk)[-1] == MAIN
        assert talk.model.prompts[-1].tail_text.endswith(
            "The specialist was stopped: the agent may not delegate any more."
        )


@covers("R22")
async def test_a_specialist_has_no_tool_that_its_agent_has_lost_since(tmp_path: Path, database_url: str):
    script = [TO_ANALYST, "Which year?", use("calculator", expression="2+2"), "Four."]
    async with talking(tmp_path, script, database=database_url) as talk:
        await carrying(talk)
        await talk.say()
        await carrying(talk, tools=())
        turn = await talk.turn(await talk.say())
        assert [span.tools for span in turn.spans.values()] == [()]
        assert [tool.name for tool in talk.model.prompts[-1].tools][-1] == RETURN
        [refused] = [result for result in await talk.results() if result.name == "calculator"]
        assert refused.is_error


async def test_an_answer_is_given_again_by_who_heard_the_question_first(tmp_path: Path, database_url: str, known: bool):
    async with talking(tmp_path, [TO_ANALYST, "Which year?", "Four.", "Five.", "Six."], database=database_url) as talk:
        await carrying(talk)
        await talk.say()
        second = await talk.turn(await talk.say("This one."))
        again = await _again(talk, known=known)
        assert (again.response, speakers(talk)[-1]) == ("Five.", ANALYST)
        turn = await talk.turn(again)
        assert [span.carried_from for span in turn.spans.values()] == [
            span.carried_from for span in second.spans.values()
        ]
        assert [span.calls_before for span in turn.spans.values()] == [1]
        await talk.say("And then?")
        assert speakers(talk)[-1] == ANALYST


async def test_going_back_behind_the_delegation_ends_it(tmp_path: Path, database_url: str, known: bool):
    async with talking(tmp_path, [TO_ANALYST, "Which year?", "Yes.", "Yes."], database=database_url) as talk:
        await carrying(talk)
        first = await talk.say("How many?")
        question = next(one for one in await talk.messages() if one.role is Role.USER)
        assert question.turn_id == first.turn_id
        await _again(talk, known=known)
        assert speakers(talk) == [MAIN, ANALYST, MAIN]
        views = await talk.preceptor.views.page(talk.conversation_id)
        await talk.preceptor.views.restore(talk.conversation_id, ViewId(views.items[-1].view_id))
        await talk.say("And now?")
        assert speakers(talk)[-1] == MAIN


async def test_restoring_a_view_of_another_line_does_not_bring_a_specialist_with_it(tmp_path: Path, known: bool):
    async with talking(tmp_path, ["Yes.", TO_ANALYST, "Which year?", "Yes."]) as talk:
        await carrying(talk)
        await talk.say("How many?")
        assert (await _again(talk, known=known)).response == "Which year?"
        views = await talk.preceptor.views.page(talk.conversation_id)
        await talk.preceptor.views.restore(talk.conversation_id, ViewId(views.items[-1].view_id))
        await talk.say("And now?")
        assert speakers(talk) == [MAIN, MAIN, ANALYST, MAIN]


async def test_cleaning_up_does_not_end_a_delegation(tmp_path: Path, database_url: str):
    script = [delegate("You look."), "Seen.", TO_ANALYST, "Which year?", "Four."]
    async with talking(tmp_path, script, database=database_url) as talk:
        await carrying(talk)
        await talk.say()
        drop = Dropping.model_validate({"strategy": "drop", "intermediate": True})
        await talk.preceptor.views.compact(talk.conversation_id, drop)
        await talk.say()
        assert speakers(talk)[-2:] == [ANALYST, ANALYST]


async def test_a_message_that_names_another_specialist_ends_the_one_that_was_carried_over(tmp_path: Path):
    async with talking(tmp_path, [TO_ANALYST, "Which year?", "I count four.", "Which?"]) as talk:
        await carrying(talk)
        await talk.say()
        counting = DelegateReasoning(agent_prompt="You count.", mark_intermediate=False)
        turns = talk.preceptor.turns
        taken = await turns.begin(talk.conversation_id, [Text("Count.")], directives=[counting])
        assert answer_of(talk.conversation_id, await turns.settled(taken)).response == "I count four."
        await talk.say()
        assert speakers(talk) == [MAIN, ANALYST, "You count.", "You count."]


async def test_it_is_on_the_record_of_both_turns_and_in_their_events(tmp_path: Path, database_url: str):
    script = [TO_ANALYST, "Which year?", back("4."), "It is 4."]
    async with reasoning(tmp_path, database_url, script, sgr_enabled=False) as talk:
        changed = (await talk.client.patch("/api/agents/assistant", json={"carryOver": True})).json()
        assert changed["carryOver"] is True
        _, first = await talk.stream("How many?")
        _, second = await talk.stream("This one.")
        opened = [[data for name, data in told if name == "delegation.opened"] for told in (first, second)]
        closed = [[data for name, data in told if name == "delegation.closed"] for told in (first, second)]
        assert [[data["closedBy"] for data in of_turn] for of_turn in closed] == [["carried"], ["returned"]]
        assert "carriedFrom" not in opened[0][0]
        assert opened[1][0]["carriedFrom"] == opened[0][0]["spanId"]
        records = [await talk.record(told[-1][1]["turnId"]) for told in (first, second)]
        [before], [after] = (record["spans"] for record in records)
        assert (before["closed"]["closedBy"], records[0]["pins"]["carryOver"]) == ("carried", True)
        assert (after["carriedFrom"], after["callsBefore"]) == (before["spanId"], 1)


async def test_a_question_back_before_the_specialist_spoke_leaves_the_next_message_to_it(
    tmp_path: Path, database_url: str, known: bool
):
    flows = iter([plan(), plan(intent_confidence=0.2), plan()])
    said = iter([TO_ANALYST, "Which year?", "It is 4."])

    def script(prompt: Prompt) -> Line:
        return next(flows if planning(prompt) else said)

    async with reasoning(tmp_path, database_url, script) as talk:
        await talk.client.patch("/api/agents/assistant", json={"carryOver": True})
        statuses: list[str] = []
        for text in ("How many?", "Hm.", "This one."):
            statuses.append((await talk.say(text))["status"])
            between_turns(talk.preceptor, known=known)
        assert statuses == ["completed", "clarify", "completed"]
        assert talk.model.prompts[-1].system_text == ANALYST


@covers("S11")
async def test_the_guardian_ends_it_and_reads_whom_a_user_asked_for_in_every_turn(tmp_path: Path, database_url: str):
    guardian = FixedGuardian(when={"bomb": Verdict(Level.UNSAFE, ("Violent",))})
    script = ["Which one?", "I cannot help.", "No."]
    async with reasoning(tmp_path, database_url, script, guardian, sgr_enabled=False) as talk:
        await talk.client.patch("/api/agents/assistant", json={"carryOver": True, "guard": {"enabled": False}})
        unsafe = {"type": "delegate_reasoning", "agentPrompt": "You explain a bomb.", "markIntermediate": False}
        said = {"content": "Tell me.", "instructions": [unsafe]}
        first = await talk.client.post(f"{talk.path}/messages", json=said)
        assert first.json()["status"] == "completed"
        await talk.client.patch("/api/agents/assistant", json={"guard": None})
        blocked = await talk.say("Go on.")
        turn = await talk.turn(blocked["turnId"])
        assert (blocked["status"], closings(turn)) == ("blocked", [ClosedBy.TURN_END])
        assert (await talk.say("And now?"))["status"] == "completed"
        assert talk.model.prompts[-1].system_text == MAIN


async def test_a_turn_that_carries_nothing_over_reads_no_more_for_having_the_option_by_heart(tmp_path: Path):
    async with talking(tmp_path, lambda _: "Yes.") as talk:
        seen: list[list[str]] = []
        for on in (False, True):
            await carrying(talk, on=on)
            await talk.say()
            with traced(talk.preceptor) as statements:
                await talk.say()
            seen.append(list(statements))
        assert seen[0] == seen[1]


async def _again(talk: Talk, *, known: bool) -> Answer:
    between_turns(talk.preceptor, known=known)
    turns = talk.preceptor.turns
    taken = await turns.begin(talk.conversation_id, (), None, Again(Change.REGENERATED))
    answer = answer_of(talk.conversation_id, await turns.settled(taken))
    between_turns(talk.preceptor, known=known)
    return answer
