import ast
import subprocess
import sys
from pathlib import Path

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from preceptor.domain.ids import ConversationId, MessageId, TurnId
from preceptor.domain.messages import directive as module
from preceptor.domain.messages.directive import (
    INTERMEDIATE,
    RETURN_CONTROL,
    DelegateReasoning,
    Directive,
    IntermediateReasoning,
    ReturnControl,
    UnknownDirective,
    read,
    written,
)
from preceptor.domain.messages.message import Kind, Message, Role, Text, decode, encode, marked
from preceptor.testing import EPOCH
from tests.requirements import covers

PROMPT = "You are a careful reviewer. List every claim without a source."
EVERY: tuple[Directive, ...] = (DelegateReasoning(agent_prompt=PROMPT), RETURN_CONTROL, INTERMEDIATE)
prompts = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=300)


def message(*directives: Directive) -> Message:
    return Message(
        id=MessageId("m"),
        conversation_id=ConversationId("c"),
        turn_id=TurnId("t"),
        role=Role.ASSISTANT,
        kind=Kind.MESSAGE,
        parts=(Text("Hello."),),
        instructions=tuple(map(written, directives)),
        tokens=2,
        created_at=EPOCH,
    )


@covers("R1", "R3", "R18")
@given(prompts.filter(lambda text: text.strip()), st.booleans())
def test_a_delegation_comes_back_from_a_stored_message_as_it_was(prompt: str, mark: bool):
    directive = DelegateReasoning(agent_prompt=prompt, mark_intermediate=mark)
    assert decode(encode(message(directive))).directives == (directive,)
    assert orjson.loads(bytes(written(directive))) == {
        "type": "delegate_reasoning",
        "agentPrompt": prompt,
        "markIntermediate": mark,
    }


@covers("R3")
def test_a_delegation_needs_a_prompt_and_marks_unless_told_otherwise():
    assert DelegateReasoning(agent_prompt=PROMPT).mark_intermediate is True
    with pytest.raises(ValidationError, match="agentPrompt"):
        DelegateReasoning.model_validate({})


@covers("R4", "R18")
@pytest.mark.parametrize("prompt", ["", " ", "\n\t \u2003"])
def test_a_blank_prompt_is_refused_when_made_and_when_loaded(prompt: str):
    with pytest.raises(ValidationError, match="Agent prompt cannot be blank"):
        DelegateReasoning(agent_prompt=prompt)
    with pytest.raises(ValidationError, match="Agent prompt cannot be blank"):
        read(orjson.dumps({"type": "delegate_reasoning", "agentPrompt": prompt, "markIntermediate": True}))


@covers("R4", "R18")
def test_a_prompt_of_50_000_characters_is_accepted_and_one_more_is_not():
    longest = DelegateReasoning(agent_prompt="ü" * 50_000)
    assert read(bytes(written(longest))) == longest
    with pytest.raises(ValidationError, match=r"Agent prompt too long \(max 50,000 chars\)"):
        DelegateReasoning(agent_prompt="ü" * 50_001)
    with pytest.raises(ValidationError, match=r"Agent prompt too long \(max 50,000 chars\)"):
        read(orjson.dumps({"type": "delegate_reasoning", "agentPrompt": "x" * 50_001, "markIntermediate": True}))


@covers("R5", "R6", "R7", "R18")
def test_a_delegation_says_these_very_things():
    directive = DelegateReasoning(agent_prompt=PROMPT * 5)
    assert directive.title == "Delegate Reasoning"
    assert directive.description == "Switch to specialized agent for internal reasoning"
    assert directive.to_xml_line() == "<delegate-reasoning>Specialist active (310 chars)</delegate-reasoning>"
    assert directive.serialize_content() == f"delegate_reasoning:310:{PROMPT * 5}"
    assert directive.preview() == directive.preview(200) == (PROMPT * 5)[:200]
    assert PROMPT not in directive.to_xml_line()


@covers("R8", "R9", "R10", "R18")
@pytest.mark.parametrize(
    ("directive", "title", "description", "content", "xml"),
    [
        (
            RETURN_CONTROL,
            "Return Control",
            "Return control to main agent",
            "return_control",
            "<return-control>Returning to main agent</return-control>",
        ),
        (
            INTERMEDIATE,
            "Intermediate",
            "Internal reasoning step (can be cleaned up)",
            "intermediate",
            "<intermediate>Internal reasoning</intermediate>",
        ),
    ],
)
def test_the_directives_without_data_say_these_very_things(
    directive: ReturnControl | IntermediateReasoning, title: str, description: str, content: str, xml: str
):
    assert (directive.title, directive.description) == (title, description)
    assert (directive.serialize_content(), directive.to_xml_line()) == (content, xml)
    assert bytes(written(directive)) == orjson.dumps({"type": content})
    assert read(bytes(written(directive))) is directive


@covers("R2", "R18")
@pytest.mark.parametrize("directive", [*EVERY, UnknownDirective(b'{"type":"later"}')])
def test_every_directive_has_every_member(directive: Directive):
    for said in (directive.title, directive.description, directive.serialize_content(), directive.to_xml_line()):
        assert isinstance(said, str)
    assert read(bytes(written(directive))) == directive


@covers("R12")
def test_one_message_keeps_several_directives_in_order_and_each_once():
    kept = decode(encode(message(INTERMEDIATE, RETURN_CONTROL)))
    assert kept.directives == (INTERMEDIATE, RETURN_CONTROL)
    assert kept.is_intermediate
    assert marked(kept, INTERMEDIATE) is kept
    assert marked(message(), RETURN_CONTROL, INTERMEDIATE).directives == (RETURN_CONTROL, INTERMEDIATE)
    assert not message().is_intermediate


@covers("R1")
@pytest.mark.parametrize(
    "raw",
    [
        b'{"type":"summon",  "whom":[1, 2.50, "\\u00e9"]}',
        b'{"type":"delegate_reasoning","agentPrompt":"x","markIntermediate":true,"urgency":9}',
        b"{}",
    ],
)
def test_a_directive_of_a_later_version_is_kept_to_the_byte_and_says_nothing(raw: bytes):
    stored = encode(msgspec.structs.replace(message(), instructions=(msgspec.Raw(raw),)))
    again = decode(stored)
    assert raw in stored
    assert encode(again) == stored
    assert again.directives == (UnknownDirective(raw),)
    assert again.directives[0].to_xml_line() == ""
    assert bytes(written(again.directives[0])) == raw


@covers("R17", "R18", "R38")
def test_directives_are_domain_values_that_load_on_their_own():
    path = Path(module.__file__ or "")
    imported = {node.module or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)}
    ours = {name for name in imported if name.startswith("preceptor")}
    assert ours
    assert all(name.startswith("preceptor.domain.") for name in ours)
    code = f"import {module.__name__}, sys; print([m for m in sys.modules if m.startswith('preceptor.')])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "preceptor.engine" not in loaded
    assert "preceptor.adapters" not in loaded
