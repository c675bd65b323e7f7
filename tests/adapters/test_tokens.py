import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preceptor.adapters.tokens import SHIPPED, counter
from preceptor.domain.models import Vocabulary
from tests.requirements import covers


@pytest.mark.parametrize(
    ("vocabulary", "text", "tokens"),
    [
        (Vocabulary.O200K, "hello world", 2),
        (Vocabulary.CL100K, "hello world", 2),
        (Vocabulary.CL100K, "tiktoken is great!", 6),
        (Vocabulary.CL100K, "antidisestablishmentarianism", 6),
        (Vocabulary.CL100K, "2 + 2 = 4", 7),
        (Vocabulary.CL100K, "お誕生日おめでとう", 9),
        (Vocabulary.O200K, "お誕生日おめでとう", 8),
        (Vocabulary.O200K, "2 + 2 = 4", 7),
    ],
)
def test_counts_are_those_that_the_vocabularies_makers_publish(vocabulary: Vocabulary, text: str, tokens: int):
    assert counter(vocabulary).count(text) == tokens


@pytest.mark.parametrize("vocabulary", list(Vocabulary))
def test_every_vocabulary_is_at_hand_without_a_network(vocabulary: Vocabulary):
    tokens = counter(vocabulary)
    assert tokens.count("") == 0
    assert 1 <= tokens.count("Xin chào, thế giới") <= 20
    assert tokens.count("word " * 1000) >= 1000


@given(st.sampled_from(list(Vocabulary)), st.lists(st.integers(0, 0x10FFFF).map(chr), max_size=30).map("".join))
def test_any_text_can_be_counted_and_counts_at_least_once_and_at_most_once_a_byte(vocabulary: Vocabulary, text: str):
    tokens = counter(vocabulary).count(text)
    assert bool(text) <= tokens <= len(text.encode("utf-8", "surrogatepass")) + 1


def test_text_that_looks_like_a_special_token_is_text():
    assert counter(Vocabulary.O200K).count("<|endoftext|>") > 1
    assert counter(Vocabulary.LLAMA3).count("<|begin_of_text|>") > 1


@pytest.mark.parametrize("vocabulary", list(Vocabulary))
def test_what_our_own_tools_cost_is_written_down_as_it_is_counted(vocabulary: Vocabulary):
    tokens = counter(vocabulary)
    assert [tokens.count(text) for text in SHIPPED] == [tokens.measure(text) for text in SHIPPED]


@covers("R199")
@pytest.mark.parametrize("text", ["Việt Nam đất nước tôi", "Привет, как дела?", "👩‍👩‍👧‍👦 🏳️‍🌈"])
def test_every_language_is_counted_as_a_whole_and_never_breaks(text: str):
    tokens = counter(Vocabulary.O200K)
    assert 0 < tokens.count(text) <= tokens.count(text[:5]) + tokens.count(text[5:])


def test_a_count_says_when_it_is_an_estimate():
    assert counter(Vocabulary.O200K, estimated=True).estimated
    assert not counter(Vocabulary.O200K).estimated


def test_a_vocabulary_is_loaded_when_something_is_counted_and_not_before():
    code = (
        "import sys; from preceptor.adapters.tokens import counter; from preceptor.domain.models import Vocabulary; "
        "tokens = counter(Vocabulary.O200K); before = 'splintr' in sys.modules; tokens.count('x'); "
        "print(before, 'splintr' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False True\n"
    )
