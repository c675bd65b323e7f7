"""S14 asks for four fifths of the disguises; what is not caught is said in `readings` itself."""

# ruff: noqa: RUF001 - these letters are meant

from collections import Counter

import pytest

from preceptor.domain.readings import plain, readings
from tests.attacks import EVASIONS, WORDS, evasions
from tests.domain.clean import SENTENCES


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
