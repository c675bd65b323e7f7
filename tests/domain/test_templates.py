from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from preceptor.domain.errors import Invalid
from preceptor.domain.instructions.content import Constraint, Content
from preceptor.domain.instructions.instruction import Variable
from preceptor.domain.instructions.template import (
    BadVariable,
    FilledTooLong,
    MissingVariable,
    UndeclaredVariable,
    fill,
    require_declared,
)
from tests.domain.instructions import CONTENT

unhurried = settings(deadline=None)
COMPANY = Variable(name="companyName")
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


def saying(text: str) -> Content:
    return Content(system_prompt=text)


def test_a_template_is_filled_in_everywhere_and_its_fields_are_overridden():
    template = Content.model_validate(
        {
            "systemPrompt": "You speak for {{companyName}}.",
            "constraints": [{"id": "c", "text": "Never insult {{companyName}}", "locked": True}],
            "examples": [{"input": "Who?", "expectedOutput": "{{companyName}}!"}],
            "steps": [{"order": 1, "name": "Greet for {{companyName}}"}],
            "language": "en",
        }
    )
    filled = fill(template, [COMPANY], {"language": "vi", "companyName": "ACME Corp", "tone": "friendly"})
    assert filled.system_prompt == "You speak for ACME Corp."
    assert filled.constraints == (Constraint(id="c", text="Never insult ACME Corp", locked=True),)
    assert (filled.examples[0].expected_output, filled.steps[0].name) == ("ACME Corp!", "Greet for ACME Corp")
    assert (filled.language, filled.tone) == ("vi", "friendly")


TYPED: dict[str, tuple[dict[str, Any], object, str]] = {
    "text": ({"type": "string"}, "Đà Nẵng", "Đà Nẵng"),
    "a whole number": ({"type": "number"}, 7, "7"),
    "a number": ({"type": "number"}, 0.5, "0.5"),
    "yes": ({"type": "boolean"}, True, "true"),
    "no": ({"type": "boolean"}, False, "false"),
    "one of several": ({"type": "enum", "options": ["a", "b"]}, "b", "b"),
}


@pytest.mark.parametrize(("declared", "value", "text"), TYPED.values(), ids=TYPED)
def test_a_value_of_the_declared_type_is_inserted(declared: dict[str, Any], value: object, text: str):
    variable = Variable.model_validate({"name": "x"} | declared)
    assert fill(saying("<{{x}}>"), [variable], {"x": value}).system_prompt == f"<{text}>"


MISTYPED: dict[str, tuple[dict[str, Any], object]] = {
    "a number for text": ({"type": "string"}, 7),
    "text for a number": ({"type": "number"}, "7"),
    "a truth for a number": ({"type": "number"}, True),
    "infinity": ({"type": "number"}, float("inf")),
    "an endless number": ({"type": "number"}, 10**5000),
    "text for a truth": ({"type": "boolean"}, "yes"),
    "none of those": ({"type": "enum", "options": ["a"]}, "b"),
    "nothing": ({"type": "string"}, None),
    "a list": ({"type": "string"}, ["x"]),
    "too long": ({"type": "string", "maxLength": 3}, "four"),
    "a NUL": ({"type": "string"}, "a\0"),
}


@pytest.mark.parametrize(("declared", "value"), MISTYPED.values(), ids=MISTYPED)
def test_a_value_of_another_type_is_invalid(declared: dict[str, Any], value: object):
    with pytest.raises(BadVariable, match="'x' must be"):
        fill(saying("<{{x}}>"), [Variable.model_validate({"name": "x"} | declared)], {"x": value})


def test_defaults_fill_what_is_not_given_and_what_is_required_is_asked_for():
    gap = saying("<{{x}}>")
    assert fill(gap, [Variable(name="x", default="d")], {}).system_prompt == "<d>"
    assert fill(gap, [Variable(name="x", required=False)], {}).system_prompt == "<>"
    with pytest.raises(MissingVariable, match="'x' is required"):
        fill(gap, [Variable(name="x")], {})


def test_a_default_of_the_wrong_type_is_refused_when_the_template_is_saved():
    with pytest.raises(BadVariable):
        require_declared(saying("x"), [Variable.model_validate({"name": "x", "type": "number", "default": "many"})])


ATTACKS = [
    "{{other}}",
    "{{companyName.__class__}}",
    "{{companyName[0]}}",
    "{{companyName|safe}}",
    "{{companyName:>1000000000}}",
    "{{ companyName }}",
    "{{0}}",
    "{{",
    "{{}}",
    "{{{{companyName}}}}",
    "{{{companyName}}}",
    "{{#each}}",
    "{{PRECEPTOR_ADMIN_KEY}}",
    "{% for x in y %}",
    "{{COMPANYNAME}}",
    "{{\uff43ompanyName}}",
]


@pytest.mark.parametrize("text", ATTACKS)
def test_whatever_is_not_a_declared_simple_name_is_refused_before_anything_is_filled(text: str):
    for template in (saying(text), Content(constraints=(Constraint(text=text, locked=True),))):
        with pytest.raises(UndeclaredVariable) as caught:
            require_declared(template, [COMPANY])
        assert caught.value.code == "undeclared_variable"
        with pytest.raises(UndeclaredVariable):
            fill(template, [COMPANY], {"companyName": "ACME"})


@pytest.mark.parametrize("text", ["{a.b}", "{a[b]}", "{0}", "%s", "%(x)s", "${x}", "}}", '{"a": {"b": 1}}', "\\1"])
def test_what_other_languages_would_run_is_plain_text_here(text: str):
    require_declared(saying(text), [])
    assert (
        fill(saying(f"{text} {{{{companyName}}}}"), [COMPANY], {"companyName": text}).system_prompt == f"{text} {text}"
    )


@pytest.mark.parametrize("name", ["other", "systemPrompt", "constraints", "guidelines", "locked", "__class__", ""])
def test_customizations_set_nothing_that_was_not_declared(name: str):
    with pytest.raises(UndeclaredVariable):
        fill(saying("x"), [COMPANY], {"companyName": "ACME", name: "x"})


@pytest.mark.parametrize("word", ["two\nlines", "", None, 7, "x" * 65])
def test_an_overridden_field_is_held_to_the_same_rules(word: object):
    with pytest.raises(Invalid):
        fill(saying("x"), [], {"tone": word})


def test_a_value_cannot_name_another_variable():
    both = [Variable(name="a"), Variable(name="b")]
    assert fill(saying("{{a}}{{b}}"), both, {"a": "{{b}}", "b": "{{a}}"}).system_prompt == "{{b}}{{a}}"


def test_values_cannot_make_a_text_endless():
    many = saying("{{x}}" * 9_000)
    with pytest.raises(FilledTooLong, match="50000"):
        fill(many, [Variable(name="x", max_length=10_000)], {"x": "y" * 10_000})


def test_a_line_that_would_be_left_empty_is_invalid():
    with pytest.raises(Invalid, match="guidelines"):
        fill(Content(guidelines=("{{x}}",)), [Variable(name="x", required=False)], {})


@given(TEXT, TEXT, TEXT)
def test_a_value_is_inserted_once_and_as_it_is(before: str, after: str, value: str):
    before, after = before.replace("{", ""), after.replace("{", "").replace("}", "")
    filled = fill(saying(f"!{before}{{{{x}}}}{after}"), [Variable(name="x")], {"x": value})
    assert filled.system_prompt == f"!{before}{value}{after}"


@unhurried
@given(CONTENT)
def test_a_template_without_gaps_is_filled_with_itself(content: Content):
    said = content.model_dump_json()
    assume("{{" not in said.replace("{%", "{{"))
    assert fill(content, [], {}) == content


@given(st.text(st.sampled_from("{}%x_ .|"), min_size=1, max_size=20))
def test_any_text_is_filled_or_refused_and_never_anything_else(text: str):
    try:
        filled = fill(saying(f"!{text}"), [Variable(name="x")], {"x": "v"})
    except UndeclaredVariable:
        return
    assert filled.system_prompt == f"!{text}".replace("{{x}}", "v")
