"""What is known of well-known models. What is not known is assumed with care: a small window, no price."""

import re
from functools import lru_cache

from preceptor.domain.models import Capabilities, Vocabulary
from preceptor.domain.prompts.prompt import Force

ALL = tuple(Force)
UNKNOWN = Capabilities(
    forced=(Force.REQUIRED, Force.JSON_SCHEMA),
    context_window=32_768,
    estimated=True,
    note="Nothing is known of this model: counts are estimates and its price is taken as 0.",
)


def _openai(
    window: int, prices: tuple[float, float, float] | None, vocabulary: Vocabulary = Vocabulary.O200K
) -> Capabilities:
    """`prices` of a million tokens in US dollars: in, out, in from the cache."""
    paid, earned, cached = prices or (0.0, 0.0, None)
    return Capabilities(
        forced=ALL,
        images=vocabulary is Vocabulary.O200K,
        context_window=window,
        vocabulary=vocabulary,
        input_price=paid,
        output_price=earned,
        cached_price=cached,
    )


def _open(vocabulary: Vocabulary, window: int = 32_768) -> Capabilities:
    """A model with public weights: how it is served decides what it costs and how strictly it can be held."""
    return Capabilities(forced=(Force.REQUIRED, Force.JSON_SCHEMA), context_window=window, vocabulary=vocabulary)


def _claude(prices: tuple[float, float, float] | None) -> Capabilities:
    """Their vocabulary is not public: counts are those of another."""
    paid, earned, cached = prices or (0.0, 0.0, None)
    return Capabilities(
        forced=(Force.NAMED, Force.REQUIRED),
        images=True,
        context_window=200_000,
        estimated=True,
        input_price=paid,
        output_price=earned,
        cached_price=cached,
        note="Counts are estimates: the vocabulary of these models is not public.",
    )


_DATED = r"(-20\d\d-\d\d-\d\d)?\Z"
_FAMILIES: tuple[tuple[str, Capabilities], ...] = (
    (rf"gpt-5-nano{_DATED}", _openai(400_000, (0.05, 0.40, 0.005))),
    (rf"gpt-5-mini{_DATED}", _openai(400_000, (0.25, 2.00, 0.025))),
    (rf"gpt-5{_DATED}", _openai(400_000, (1.25, 10.00, 0.125))),
    (rf"gpt-4\.1-nano{_DATED}", _openai(1_047_576, (0.10, 0.40, 0.025))),
    (rf"gpt-4\.1-mini{_DATED}", _openai(1_047_576, (0.40, 1.60, 0.10))),
    (rf"gpt-4\.1{_DATED}", _openai(1_047_576, (2.00, 8.00, 0.50))),
    (rf"gpt-4o-mini{_DATED}", _openai(128_000, (0.15, 0.60, 0.075))),
    (r"gpt-4o(-2024-(08|11)-\d\d)?\Z", _openai(128_000, (2.50, 10.00, 1.25))),
    (r"gpt-4(o|\.1|-turbo)", _openai(128_000, None)),
    (r"gpt-4", _openai(8_192, None, Vocabulary.CL100K)),
    (r"gpt-3\.5-turbo", _openai(16_385, None, Vocabulary.CL100K)),
    (r"gpt-oss", _open(Vocabulary.O200K, 131_072)),
    (r"(gpt-[5-9]|o[134](-|\Z))", _openai(128_000, None)),
    (r"claude-haiku-4-5", _claude((1.00, 5.00, 0.10))),
    (r"claude-3-5-haiku", _claude((0.80, 4.00, 0.08))),
    (r"claude-opus-4-[5-8]", _claude((5.00, 25.00, 0.50))),
    (r"claude-opus-4(-[01])?(-20\d{6})?\Z", _claude((15.00, 75.00, 1.50))),
    (r"claude-(sonnet-4|3-7-sonnet|3-5-sonnet)", _claude((3.00, 15.00, 0.30))),
    (r"claude", _claude(None)),
    (r"(meta-)?llama-?3", _open(Vocabulary.LLAMA3)),
    (r"(qwen|qwq)", _open(Vocabulary.QWEN)),
    (r"gemma", _open(Vocabulary.GEMMA)),
    (r"(mistral|ministral|mixtral|magistral|devstral|codestral)", _open(Vocabulary.MISTRAL)),
    (r"deepseek", _open(Vocabulary.DEEPSEEK)),
)


@lru_cache(maxsize=1024)
def capabilities_of(model: str) -> Capabilities:
    """By the last part of its name: `org/Llama-3.1-8B` is a Llama 3."""
    name = model.rsplit("/", 1)[-1]
    return next((record for pattern, record in _FAMILIES if re.match(pattern, name, re.IGNORECASE)), UNKNOWN)
