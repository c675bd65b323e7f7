"""Specialists of the library: an instruction is delegated to by its name, and its version is on the record."""

from pathlib import Path
from typing import Any

import pytest

from preceptor.domain.ids import InstructionId, MessageId
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.shipped import SHIPPED
from preceptor.domain.messages.message import Role
from preceptor.domain.prompts.prompt import Prompt
from preceptor.domain.prompts.source import FromSpecialist
from preceptor.testing import Called, Say
from tests.requirements import covers
from tests.talking import DELEGATE, Talk, back, talking


def named(*names: str) -> Say:
    if len(names) == 1:
        return Say("", (Called(DELEGATE, {"specialist": names[0]}),))
    return Say("", (Called(DELEGATE, {"specialists": [{"specialist": name} for name in names]}),))


async def critics(talk: Talk, *prompts: str) -> list[InstructionId]:
    """An instruction called Critic, in a version for each prompt; the second is a smaller change than the third."""
    library = talk.preceptor.instructions
    first, *later = prompts
    made = await library.create(name="Critic", type="system", content={"systemPrompt": first}, status=Status.ACTIVE)
    ids = [made.instruction_id]
    for number, prompt in enumerate(later):
        bump = "minor" if number == 0 else "major"
        changed = await library.revise(
            made.family_id, content={"systemPrompt": prompt}, status=Status.ACTIVE, bump=bump, changelog="Sharper."
        )
        ids.append(changed.instruction_id)
    return ids


SAID = ("Criticise gently.", "Criticise fairly.", "Criticise harshly.")


@covers("R21", "R44")
@pytest.mark.parametrize(
    ("name", "which"),
    [
        ("critic", 2),
        ("Critic@latest", 2),
        ("critic@^1", 1),
        ("critic@1.0.0", 0),
        ("critic@label:trusted", 0),
        ("critic@trusted", 0),
    ],
)
async def test_an_instruction_is_delegated_to_by_name_and_the_version_is_on_the_record(
    tmp_path: Path, name: str, which: int
):
    async with talking(tmp_path, [named(name), back("I object."), "All is well."]) as talk:
        ids = await critics(talk, *SAID)
        await talk.preceptor.labels.move(ids[0], "trusted", instruction_id=ids[0])
        answer = await talk.say()
        turn = await talk.turn(answer)
        [span] = turn.spans.values()
        assert (answer.response, talk.model.prompts[1].system_text) == ("All is well.", SAID[which])
        assert (span.instruction_id, span.version) == (ids[which], ["1.0.0", "1.1.0", "2.0.0"][which])
        objecting = next(one for one in await talk.messages() if one.text == "I object.")
        context = await talk.preceptor.contexts.of_message(MessageId(objecting.id))
        told = [piece.source for piece in context.segments if isinstance(piece.source, FromSpecialist)]
        assert told == [FromSpecialist(span.span_id, ids[which], span.version)]


@pytest.mark.parametrize("name", ["nobody", "critic@^7", "critic@9.9.9", "critic@wrong", "critic@", "@^1", "critic@^x"])
async def test_a_name_that_means_nobody_is_said_so_and_the_agent_goes_on(tmp_path: Path, name: str):
    async with talking(tmp_path, [named(name), "Then I say it myself."]) as talk:
        await critics(talk, *SAID)
        answer = await talk.say()
        assert (answer.response, (await talk.turn(answer)).spans) == ("Then I say it myself.", {})
        assert "There is no specialist" in (await talk.results())[0].content


async def test_a_draft_and_a_deleted_instruction_are_nobody(tmp_path: Path):
    async with talking(tmp_path, [named("draft"), named("critic"), "Alone, then."]) as talk:
        await talk.preceptor.instructions.create(
            name="Draft", type="system", content={"systemPrompt": "Not yet."}, status=Status.DRAFT
        )
        [only] = await critics(talk, SAID[0])
        await talk.preceptor.instructions.delete(only)
        answer = await talk.say()
        assert answer.response == "Alone, then."
        assert ["There is no specialist" in one.content for one in await talk.results()] == [True, True]


async def test_several_of_the_library_work_at_once_each_by_its_own_words(tmp_path: Path):
    async with talking(tmp_path, reply) as talk:
        await critics(talk, *SAID)
        answer = await talk.say()
        spans = (await talk.turn(answer)).spans.values()
        assert sorted(span.version or "" for span in spans) == ["1.1.0", "2.0.0"]
        assert "Criticise fairly." in answer.response
        assert "Criticise harshly." in answer.response


def reply(prompt: Any) -> Any:
    if prompt.system_text in SAID:
        return f"As told: {prompt.system_text}"
    results = [result for shown in prompt.shown for result in shown.message.tool_results]
    return results[-1].content if results else named("critic@^1", "critic@2.0.0")


async def test_a_specialist_that_is_at_work_above_is_not_asked_again(tmp_path: Path):
    async with talking(tmp_path, [named("critic"), named("critic@latest"), back("Done."), "So."]) as talk:
        await critics(talk, SAID[0])
        answer = await talk.say()
        assert len((await talk.turn(answer)).spans) == 1
        assert any("at work already" in one.content for one in await talk.results())


@covers("R45")
async def test_the_critics_of_the_library_debate_and_the_draft_is_refined(tmp_path: Path):
    draft, again = named("pro", "contra"), named("pro")
    script = ["I agree.", "I object.", "Better now."]

    def speak(prompt: Prompt) -> str | Say:
        if "reason that can be checked" in prompt.system_text:
            return script.pop(0)
        calls = sum(message.message.role is Role.TOOL for message in prompt.shown)
        return (draft, again, "Settled.")[calls]

    async with talking(tmp_path, speak) as talk:
        for name in ("Pro", "Contra"):
            await talk.preceptor.templates.instruct("template-critic-en", name=name, status=Status.ACTIVE)
        answer = await talk.say("Is it right?")
        assert answer.response == "Settled."
        spans = (await talk.turn(answer)).spans.values()
        assert [span.branch for span in spans] == [True, True, False]
        assert len({span.instruction_id for span in spans}) == 2


@covers("R45")
def test_the_documentation_names_the_patterns_and_the_library_has_their_specialists():
    told = Path("docs/explanation/delegation.md").read_text(encoding="utf-8")
    for source in ("2305.14325", "2303.17651", "Chain of Density"):
        assert source in told
    assert {"template-critic-en", "template-summariser-en", "template-fact-checker-en"} <= SHIPPED.keys()


async def test_a_specialist_whose_prompt_is_too_long_is_refused_with_a_sentence(tmp_path: Path):
    async with talking(tmp_path, [named("critic"), "Alone, then."], max_specialist_prompt=20) as talk:
        await critics(talk, "You find every mistake there is.")
        answer = await talk.say()
        [refused] = await talk.results()
        assert (refused.content, refused.is_error) == ("Agent prompt too long (max 20 chars)", True)
        assert answer.response == "Alone, then."
