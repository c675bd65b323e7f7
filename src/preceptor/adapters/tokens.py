"""Counting tokens as models do, without asking anyone: the vocabularies are part of the installation."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from preceptor.domain.models import Vocabulary
from preceptor.domain.turns.control import DELEGATE_SPEC, RETURN_SPEC

_NAMES = {
    Vocabulary.O200K: "o200k_base",
    Vocabulary.CL100K: "cl100k_base",
    Vocabulary.LLAMA3: "llama3",
    Vocabulary.QWEN: "qwen2.5",
    Vocabulary.GEMMA: "gemma3",
    Vocabulary.MISTRAL: "mistral_v3",
    Vocabulary.DEEPSEEK: "deepseek_v3",
}

SHIPPED: Mapping[str, Mapping[Vocabulary, int]] = {
    DELEGATE_SPEC.told: dict(zip(Vocabulary, (306, 303, 303, 306, 315, 319, 319), strict=True)),
    RETURN_SPEC.told: dict(zip(Vocabulary, (57, 56, 56, 56, 58, 58, 58), strict=True)),
}
"""What our own tools cost, which nearly every call offers: the first word that is no token by itself makes a vocabulary
ready to take words apart, and that takes longer than all the rest of a short reply."""


class Counter(msgspec.Struct, frozen=True):
    """Text is text: what looks like a special token counts as the characters it is written with."""

    vocabulary: Vocabulary
    estimated: bool = False

    def count(self, text: str) -> int:
        if not text:
            return 0
        known = SHIPPED.get(text)
        return self.measure(text) if known is None else known[self.vocabulary]

    def measure(self, text: str) -> int:
        tokenizer = _tokenizer(self.vocabulary)
        try:
            return len(tokenizer.encode_ordinary(text))
        except UnicodeEncodeError:
            return len(tokenizer.encode_ordinary(text.encode("utf-8", "replace").decode()))


@cache
def counter(vocabulary: Vocabulary, *, estimated: bool = False) -> Counter:
    return Counter(vocabulary, estimated)


@cache
def _tokenizer(vocabulary: Vocabulary) -> Any:
    import splintr  # loading a vocabulary takes some milliseconds, and `import preceptor` has no use for it

    return splintr.Tokenizer.from_pretrained(_NAMES[vocabulary])
