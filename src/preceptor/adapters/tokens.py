"""Counting tokens as models do, without asking anyone: the vocabularies are part of the installation."""

from functools import cache
from typing import Any

import msgspec

from preceptor.domain.models import Vocabulary

_NAMES = {
    Vocabulary.O200K: "o200k_base",
    Vocabulary.CL100K: "cl100k_base",
    Vocabulary.LLAMA3: "llama3",
    Vocabulary.QWEN: "qwen2.5",
    Vocabulary.GEMMA: "gemma3",
    Vocabulary.MISTRAL: "mistral_v3",
    Vocabulary.DEEPSEEK: "deepseek_v3",
}


class Counter(msgspec.Struct, frozen=True):
    """Text is text: what looks like a special token counts as the characters it is written with."""

    vocabulary: Vocabulary
    estimated: bool = False

    def count(self, text: str) -> int:
        if not text:
            return 0
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
