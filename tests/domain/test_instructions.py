from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from preceptor.domain.errors import Invalid
from preceptor.domain.instructions.content import Content, patched
from preceptor.domain.instructions.instruction import (
    InstructionVersion,
    NewInstruction,
    TwoSetsOfRules,
    unusual_words,
)
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.revision import Revision, bump_for, revised
from preceptor.domain.instructions.version import Part
from tests.domain.instructions import CONTENT, SUPPORT, version

unhurried = settings(deadline=None)


def new(**fields: Any) -> NewInstruction:
    return NewInstruction.model_validate({"name": "Support", "type": "system"} | fields)


def test_a_new_instruction_is_active_general_and_private_unless_it_says_otherwise():
    made = new()
    assert (made.status, made.category, made.target_role) == (Status.ACTIVE, "general", "assistant")
    assert (made.tags, made.is_public, made.content) == ((), False, Content())


def test_constraints_read_back_as_they_were_written():
    written = [
        "plain",
        {"text": "an object"},
        {"text": "open", "locked": False},
        {"id": "c-1", "text": "shut", "locked": True},
    ]
    assert new(content={"constraints": written}).model_dump(mode="json")["content"]["constraints"] == written
    kept = version(content={"constraints": written}).model_dump_json()
    assert InstructionVersion.model_validate_json(kept).model_dump(mode="json")["content"]["constraints"] == written


def test_a_version_survives_being_stored():
    kept = version("system", SUPPORT, validation_rules={"maxResponseLength": 9}, tags=["a"])
    assert InstructionVersion.model_validate_json(kept.model_dump_json()) == kept
    assert kept.model_dump(mode="json")["version"] == "1.0.0"


REFUSED = {
    "a type that does not exist": {"type": "mood"},
    "a status that does not exist": {"status": "lost"},
    "an unknown field": {"content": {"mood": "good"}},
    "a computed field": {"usageCount": 3},
    "an empty line": {"content": {"guidelines": [" "]}},
    "a NUL": {"content": {"systemPrompt": "a\0b"}},
    "half a character": {"content": {"systemPrompt": "a\ud800b"}},
    "a tone of two lines": {"content": {"tone": "kind\n## Constraints"}},
    "a long tone": {"content": {"tone": "x" * 65}},
    "a null lock": {"content": {"constraints": [{"text": "x", "locked": None}]}},
    "variables outside a template": {"variables": [{"name": "x"}]},
    "a variable twice": {"type": "template", "variables": [{"name": "x"}, {"name": "x"}]},
    "a variable named as a field": {"type": "template", "variables": [{"name": "tone"}]},
    "an enum without options": {"type": "template", "variables": [{"name": "x", "type": "enum"}]},
}


@pytest.mark.parametrize("fields", REFUSED.values(), ids=REFUSED)
def test_what_an_instruction_cannot_be_is_refused(fields: dict[str, Any]):
    with pytest.raises(ValidationError):
        new(**fields)


def test_unusual_words_are_kept_with_a_warning():
    content = {"tone": "thân thiện", "language": "vi", "formality": "formal"}
    made = new(category="sales", content=content)
    assert made.content.tone == "thân thiện"
    assert [warning.field for warning in unusual_words(made)] == ["category", "content.tone"]
    assert "professional" in str(unusual_words(made)[1])


def test_rules_inside_content_are_moved_to_where_rules_are_kept():
    inner = new(content={"tone": "casual", "validationRules": {"maxResponseLength": 5}})
    assert inner == new(content={"tone": "casual"}, validationRules={"maxResponseLength": 5})
    same = {"maxResponseLength": 5, "mode": "report"}
    assert new(content={"validationRules": same}, validationRules={"maxResponseLength": 5}).validation_rules
    with pytest.raises(TwoSetsOfRules, match="differ") as caught:
        new(content={"validationRules": same}, validationRules={"maxResponseLength": 6})
    assert isinstance(caught.value, Invalid)


@unhurried
@given(CONTENT, CONTENT)
def test_a_patch_with_all_of_another_content_gives_that_content(one: Content, other: Content):
    assert patched(one, {}) == one
    assert patched(one, one.model_dump(mode="json")) == one
    assert patched(one, other.model_dump(mode="json")) == other


@unhurried
@given(CONTENT, CONTENT, st.sampled_from(sorted(Content.model_fields.keys() - {"validation_rules"})))
def test_a_patch_replaces_what_it_names_and_null_takes_it_away(one: Content, other: Content, name: str):
    alias = Content.model_fields[name].alias or name
    after = patched(one, {alias: other.model_dump(mode="json")[alias]})
    assert after == one.model_copy(update={name: getattr(other, name)})
    assert patched(one, {alias: None}) == one.model_copy(update={name: getattr(Content(), name)})


@pytest.mark.parametrize("patch", [{"mood": "x"}, {"mood": None}, {"guidelines": "x"}, {"guidelines": {"0": "x"}}])
def test_a_patch_that_cannot_be_is_invalid_and_says_where(patch: dict[str, Any]):
    with pytest.raises(Invalid, match=r"mood|guidelines"):
        patched(Content(), patch)


BEFORE = {
    "systemPrompt": "Help.",
    "guidelines": ["Greet"],
    "constraints": ["No refunds", {"text": "No secrets", "locked": True}],
}
LOCKED = {"text": "No secrets", "locked": True}
STEPS = {
    "a prompt rewritten": ({"content": {"systemPrompt": "Sell."}}, Part.MAJOR, "rewritten"),
    "a prompt removed": ({"content": {"systemPrompt": None}}, Part.MAJOR, "removed"),
    "a constraint removed": ({"content": {"constraints": [LOCKED]}}, Part.MAJOR, "constraint was removed"),
    "a constraint rewritten": ({"content": {"constraints": ["no refunds", LOCKED]}}, Part.MAJOR, "rewritten"),
    "a constraint unlocked": ({"content": {"constraints": ["No refunds", "No secrets"]}}, Part.MAJOR, "unlocked"),
    "another type": ({"type": "task"}, Part.MAJOR, "from system to task"),
    "a constraint added": ({"content": {"constraints": ["New", "No refunds", LOCKED]}}, Part.MINOR, "constraints"),
    "a guideline added": ({"content": {"guidelines": ["Greet", "Smile"]}}, Part.MINOR, "guidelines"),
    "rules": ({"validationRules": {"maxResponseLength": 9}}, Part.MINOR, "validationRules"),
    "rules in content": ({"content": {"validationRules": {"maxResponseLength": 9}}}, Part.MINOR, "validationRules"),
    "a name": ({"name": "Help", "tags": ["x"]}, Part.PATCH, "name, tags"),
}


@pytest.mark.parametrize(("change", "part", "reason"), STEPS.values(), ids=STEPS)
def test_the_step_is_as_large_as_what_it_breaks(change: dict[str, Any], part: Part, reason: str):
    before = version("system", BEFORE)
    bump = bump_for(before, revised(before, Revision.model_validate(change)))
    assert bump is not None
    assert bump.part is part
    assert reason in bump.reason


@pytest.mark.parametrize(
    "change", [{}, {"name": "Support"}, {"content": {}}, {"content": BEFORE}, {"changelog": "nothing"}]
)
def test_a_change_that_changes_nothing_is_noticed(change: dict[str, Any]):
    before = version("system", BEFORE)
    assert bump_for(before, revised(before, Revision.model_validate(change))) is None


def test_a_new_gap_that_must_be_filled_breaks_those_who_fill_a_template():
    before = version("template", variables=[{"name": "company"}])
    required = Revision.model_validate({"variables": [{"name": "company"}, {"name": "city"}]})
    optional = Revision.model_validate({"variables": [{"name": "company"}, {"name": "city", "default": "Huế"}]})
    steps = [bump_for(before, revised(before, change)) for change in (required, optional)]
    assert [step and step.part for step in steps] == [Part.MAJOR, Part.MINOR]
