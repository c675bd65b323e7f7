import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preceptor.domain.instructions.check import check, passes
from preceptor.domain.instructions.content import Mode, ValidationRules
from preceptor.domain.instructions.folding import line_key
from preceptor.domain.instructions.instruction import NewInstruction
from tests.domain.instructions import REVIEW

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def rules(**fields: object) -> ValidationRules:
    return ValidationRules.model_validate(fields)


def test_a_review_shows_its_signs_and_is_not_waved_through():
    review = NewInstruction.model_validate({"name": "Review", "type": "task", "content": REVIEW})
    assert review.validation_rules is not None
    assert passes("✅ tests\n❌ secrets in code\n⚠️ slow query", review.validation_rules)
    reports = check("✅ lgtm WITHOUT review", review.validation_rules)
    assert [(report.rule, report.passed, report.detail) for report in reports] == [
        ("requiredKeywords", False, "missing: ❌, ⚠️"),
        ("prohibitedKeywords", False, "found: LGTM without review"),
    ]


def test_an_emoji_is_the_same_with_its_selector_or_without():
    assert passes("\u26a0 careful", rules(requiredKeywords=["\u26a0\ufe0f"]))
    assert passes("\u26a0\ufe0f careful", rules(requiredKeywords=["\u26a0"]))
    assert not passes("careful", rules(requiredKeywords=["\ufe0f"]))


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_accents_match_however_they_are_stored(form: Literal["NFC", "NFD"]):
    answer = unicodedata.normalize(form, "Xin CHÀO anh/chị")
    assert passes(answer, rules(requiredKeywords=["xin chào"], maxResponseLength=16))
    assert not passes(answer, rules(prohibitedKeywords=[unicodedata.normalize("NFD", "Chào")]))


def test_letters_that_fold_to_several_match_too():
    assert passes("STRASSE", rules(requiredKeywords=["straße"]))


def test_length_is_counted_in_characters():
    [report] = check("⚠️❌", rules(maxResponseLength=2))
    assert (report.rule, report.passed, report.detail) == (
        "maxResponseLength",
        False,
        "3 characters, at most 2 allowed",
    )
    assert passes("❌" * 2, rules(maxResponseLength=2))


def test_only_rules_that_are_set_are_reported_and_the_mode_is_report():
    assert check("anything", ValidationRules()) == ()
    assert ValidationRules().mode is Mode.REPORT


@given(TEXT, TEXT, TEXT.filter(lambda text: bool(text.strip("\0 \n\t\r\ufeff"))))
def test_a_keyword_that_was_said_between_spaces_is_found(before: str, after: str, keyword: str):
    set_rules = ValidationRules.model_construct(required_keywords=(keyword,), prohibited_keywords=(keyword,))
    required, prohibited = check(f"{before} {keyword} {after}", set_rules)
    assert required.passed is not prohibited.passed


@given(TEXT)
def test_a_line_says_the_same_as_itself_in_any_form(text: str):
    assert line_key(line_key(text)) == line_key(text)
    assert line_key(unicodedata.normalize("NFD", text)) == line_key(text) == line_key(f" {text}\n")
