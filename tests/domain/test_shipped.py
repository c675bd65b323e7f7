from typing import Any

import pytest

from preceptor.domain.instructions.content import is_locked
from preceptor.domain.instructions.instruction import InstructionType, unusual_words
from preceptor.domain.instructions.lint import lint
from preceptor.domain.instructions.merge import merge
from preceptor.domain.instructions.render import render
from preceptor.domain.instructions.shipped import LANGUAGES, SHIPPED, Shipped
from preceptor.domain.instructions.template import MissingVariable, fill
from tests.domain.instructions import speaking
from tests.requirements import covers

each = pytest.mark.parametrize("template", SHIPPED.values(), ids=SHIPPED)
ROLES = ("support", "coding", "code-review", "analysis", "general", "critic", "summariser", "fact-checker")
SCRIPTS = {"en": "abcdefgh", "ru": "абвгдеёж", "vi": "ăâđêôơưạ"}


def given(template: Shipped) -> dict[str, Any]:
    """What whoever uses the template must say; the rest has defaults."""
    return {one.name: "ACME Corp" for one in template.variables if one.required and one.default is None}


@covers("R126")
def test_there_are_templates_for_every_kind_of_work_in_every_language():
    assert set(SHIPPED) == {f"template-{role}-{language}" for role in ROLES for language in ("en", "ru", "vi")}
    assert {template.category for template in SHIPPED.values()} == {"support", "coding", "analysis", "general"}
    assert {template.target_role for template in SHIPPED.values()} == {"assistant", "analyst", "reviewer"}


@each
def test_a_template_is_complete(template: Shipped):
    content = template.content
    assert template.type is InstructionType.TEMPLATE
    assert template.description
    assert content.system_prompt
    assert all((content.guidelines, content.do_list, content.dont_list, content.examples, template.variables))
    assert any(map(is_locked, content.constraints))
    assert all(variable.description for variable in template.variables)
    assert unusual_words(template) == ()


@each
def test_a_template_speaks_the_language_it_is_named_for(template: Shipped):
    language = template.content.language
    assert language is not None
    assert language in LANGUAGES
    assert template.template_id.endswith(f"-{language}")
    assert any(letter in (template.content.system_prompt or "").casefold() for letter in SCRIPTS[language])


@each
def test_a_template_uses_every_variable_it_declares(template: Shipped):
    said = template.content.model_dump_json()
    assert [variable.name for variable in template.variables if f"{{{{{variable.name}}}}}" not in said] == []


@each
def test_a_template_filled_in_leaves_no_gap_and_nothing_to_remark(template: Shipped):
    content = fill(template.content, template.variables, given(template))
    effective = merge([speaking("a", "system", content)])
    assert "{{" not in render(effective).prompt
    assert lint(effective) == ()
    assert effective.conflicts == effective.warnings == ()


def test_a_template_that_speaks_for_a_company_asks_which_one():
    support = SHIPPED["template-support-en"]
    with pytest.raises(MissingVariable, match="companyName"):
        fill(support.content, support.variables, {})


def test_a_template_has_the_same_gaps_and_the_same_shape_in_every_language():
    def shape(template: Shipped) -> Any:
        content = template.content
        lists = (content.guidelines, content.constraints, content.suggestions, content.steps, content.examples)
        gaps = [(one.name, one.type, one.required, len(one.options)) for one in template.variables]
        return gaps, [len(items) for items in lists], template.tags[:-1], template.version

    for role in ROLES:
        english, *others = [shape(SHIPPED[f"template-{role}-{language}"]) for language in LANGUAGES]
        assert others == [english, english]


def test_the_library_cannot_be_changed():
    with pytest.raises(TypeError):
        SHIPPED["template-mine-en"] = SHIPPED["template-support-en"]  # pyright: ignore[reportIndexIssue]
