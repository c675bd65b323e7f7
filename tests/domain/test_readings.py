"""S14 asks for four fifths of the disguises; what is not caught is said in `readings` itself."""

# ruff: noqa: RUF001 - these letters are meant

import time
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preceptor.domain.instructions.check import passes
from preceptor.domain.instructions.content import ValidationRules
from preceptor.domain.readings import Together, Words, plain, readings
from tests.attacks import EVASIONS, WORDS, evasions
from tests.domain.clean import SENTENCES
from tests.domain.counting import calls
from tests.requirements import covers


def test_most_disguises_of_a_word_are_seen_through():
    caught = Counter[str]()
    for family, word, hidden in evasions():
        if any(word in reading for reading in readings(f"Tell me about {hidden} today")):
            caught[family] += 1
    assert caught.total() >= 0.8 * len(EVASIONS) * len(WORDS)
    assert [family for family in EVASIONS if caught[family] < len(WORDS)] == ["backwards"]


def test_no_ordinary_sentence_reads_like_one_of_the_words():
    found = [
        (word, sentence)
        for sentence in SENTENCES
        for word in WORDS
        if any(word in reading for reading in readings(sentence))
    ]
    assert found == []


@pytest.mark.parametrize("text", ["Tiếng Việt", "Ещё один йод", "naïve café", "👍🏽 ok", "10 ½ km"])
def test_the_plain_reading_keeps_letters_that_carry_meaning(text: str):
    assert plain(text) == plain(plain(text))
    assert plain("Tiếng Việt") == "tiếng việt"
    assert plain("Ещё") == "ещё"


def test_however_accents_are_stored_the_reading_is_the_same():
    assert readings("Xin cha\u0300o") == readings("Xin chào")


def test_a_russian_word_with_latin_letters_in_it_is_read_as_russian():
    assert readings("бoмба").cyrillic == "бомба"
    assert readings("a bоmb").latin == "a bomb"


@covers("S14")
def test_prohibited_keywords_catch_most_disguises():
    caught = Counter[str]()
    for family, word, hidden in evasions():
        caught[family] += not passes(f"Here is your {hidden}, as asked.", ValidationRules(prohibited_keywords=(word,)))
    assert len(EVASIONS) >= 16
    assert len(WORDS) == 20
    assert caught.total() >= 0.8 * len(EVASIONS) * len(WORDS)
    assert [family for family in EVASIONS if caught[family] < len(WORDS)] == ["backwards"]


@covers("S14")
def test_prohibited_keywords_find_nothing_in_ordinary_sentences():
    assert len(SENTENCES) >= 2_000
    rules = ValidationRules(prohibited_keywords=tuple(WORDS))
    assert [sentence for sentence in SENTENCES if not passes(sentence, rules)] == []


OTHER_LETTERS = {
    "vi: you, not a ban": ("ban", "Chào bạn, bạn cần gì ạ?"),
    "vi: the table": ("ban", "Cái bàn này bán rồi."),
    "vi: to kill, not close by": ("giet", "Câu chuyện không giết thời gian."),
    "vi: street, not a way": ("duong", "Đường Hai Bà Trưng"),
    "vi: soft, many marks in a row": ("mem uot", "mềm ướt"),
    "ru: all, not everything": ("все", "Всё хорошо, спасибо."),
    "ru: litter, not a cop": ("cop", "Уберите сор со двора."),
    "ru: mouth, not pot": ("pot", "Откройте рот, пожалуйста."),
    "ru: and a Latin word": ("cop", "Уберите сор, ok?"),
    "ru: и and й": ("мои", "Это мой дом."),
    "en: accents that a word has": ("resume", "Please send your résumé."),
    "en: numbers": ("oil", "Call 011 at 10:11, gate 0-1-1."),
}


@covers("S14")
@pytest.mark.parametrize("case", OTHER_LETTERS)
def test_another_letter_is_not_a_disguise(case: str):
    keyword, text = OTHER_LETTERS[case]
    assert passes(text, ValidationRules(prohibited_keywords=(keyword,)))


MASKED = {
    "vi: with its marks, spaced apart": ("bạn", "Chào b ạ n, khoẻ không?"),
    "vi: invisible": ("cờ bạc", "chơi cờ b\u200bạc"),
    "vi: wide": ("bạc", "ｂạｃ"),
    "vi: stored in parts": ("cờ bạc", "co\u031b\u0300 ba\u0323c"),
    "ru: Latin letters inside": ("казино", "Лучшее кaзинo города"),
    "ru: spaced apart": ("казино", "к а з и н о"),
    "ru: dotted": ("казино", "к.а.з.и.н.о"),
    "en: Cyrillic inside": ("casino", "the best cаsinо in town"),
    "en: a Cyrillic letter in a Russian text": ("casino", "Лучшее сasino города"),
    "en: digits": ("casino", "c451n0"),
}


@covers("S14")
@pytest.mark.parametrize("case", MASKED)
def test_a_disguise_is_taken_off_in_every_language(case: str):
    keyword, text = MASKED[case]
    assert not passes(text, ValidationRules(prohibited_keywords=(keyword,)))


@pytest.mark.parametrize(
    "unit", ["a", "а", "ạ", "a ", "a.", "1", "a\u0301", "аa", "&#97;", "б о ", "😀", "!|", "é", "\u0336", "aạ", "_"]
)
def test_what_it_costs_grows_with_the_text_and_no_faster(unit: str):
    """Ten times the text may cost some thirty times as much on a busy machine; tried by squares it is a hundred."""
    short, long = (min(cost(unit * count) for _ in range(3)) for count in (2_000, 20_000))
    assert long <= 40 * max(short, 0.0005)


def cost(text: str) -> float:
    rules = ValidationRules(prohibited_keywords=("casino", "казино", "cờ bạc"))
    began = time.thread_time()
    passes(text, rules)
    readings(text)
    return time.thread_time() - began


PATTERNS = ("(a+)+$", ".*", "a|b", "[", "\\", "(?:x{1,1000}){1,1000}", "^", "a{2}")


@covers("S15")
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_keyword_is_looked_for_as_it_is_written_and_never_as_a_pattern(pattern: str):
    rules = ValidationRules(prohibited_keywords=(pattern,))
    assert passes("aa b" + "x" * 2_000, rules)
    assert not passes(f"so {pattern} it is", rules)


WORDS_OF: dict[str, Callable[[int], str]] = {
    "vi": lambda number: f"từ{number} bạn",
    "ru": lambda number: f"слово{number}",
    "masked": lambda number: f"cа{number}sinо",
    "spaced": lambda number: f"c a s i n {number % 10}, w{number}",
    "decked": lambda number: f"ćáśíńó{number}",
}


@covers("S15")
@pytest.mark.parametrize("kind", WORDS_OF)
def test_ten_times_the_words_take_ten_times_the_steps_whatever_they_are(kind: str):
    short, long = (steps(" ".join(map(WORDS_OF[kind], range(count)))) for count in (500, 5_000))
    assert long <= 11 * short


@covers("S15")
@pytest.mark.parametrize("kind", ["vi", "ru", "masked", "decked"])
def test_a_word_that_is_said_again_takes_no_further_step(kind: str):
    said = " ".join(map(WORDS_OF[kind], range(500)))
    assert steps(" ".join([said] * 20)) <= steps(said) + 100


def steps(text: str) -> int:
    """Calls that are made to look for a list of keywords: each takes no longer in a longer text than its word does."""
    rules = ValidationRules(prohibited_keywords=tuple(f"từ cấm {number}" for number in range(200)))
    return calls(lambda: passes(text, rules))


@given(st.text(st.sampled_from("ab  \n.ạ"), max_size=40), st.text(st.sampled_from("ab  \n.ạ"), min_size=1, max_size=4))
def test_what_a_text_contains_is_found_by_its_words(text: str, wanted: str):
    assert (wanted in Together([Words(text)])) == (wanted in text)
    assert (wanted in Together([Words(text), Words("b a")])) == (wanted in text or wanted in "b a")
