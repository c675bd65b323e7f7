"""How well an answer keeps to its plan, and whether a conversation is stuck in apologies."""

# ruff: noqa: RUF001 - these letters are meant

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from preceptor.domain.reasoning.plan import Plan

_ORDER, _BETA = 6, 2.0
_WORD = re.compile(r"\w+")
_LONGEST = 20_000
"""Characters of a text that are compared."""
_APOLOGY = re.compile(
    r"\b(?:i(?:'|’)?m (?:very |so |really )?sorry|i am (?:very |so |really )?sorry|my apologies|i apologi[sz]e|"
    r"apologies for|"
    r"sorry (?:for|about)|извин(?:ите|яюсь|ения)|прошу прощения|приношу извинения|простите|xin lỗi|rất tiếc|"
    r"thành thật xin lỗi)",
    re.IGNORECASE,
)


class Consistency(NamedTuple):
    """From 0 to 1. Low is not wrong: an answer may say well what its plan did not foresee."""

    chrf: float
    rouge_l: float


def consistency(plan: Plan, answer: str) -> Consistency:
    planned = " ".join((plan.user_intent, *plan.subqueries, *plan.action_plan))
    return Consistency(chrf(answer, planned), rouge_l(answer, planned))


def chrf(candidate: str, reference: str) -> float:
    """The F2 score of character n-grams up to 6, without spaces: of all orders that both texts have."""
    ours, theirs = _bare(candidate), _bare(reference)
    precisions: list[float] = []
    recalls: list[float] = []
    for order in range(1, _ORDER + 1):
        found, wanted = _grams(ours, order), _grams(theirs, order)
        if not found or not wanted:
            continue
        shared = (found & wanted).total()
        precisions.append(shared / found.total())
        recalls.append(shared / wanted.total())
    if not precisions:
        return 0.0
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    weighted = _BETA**2 * precision + recall
    return (1 + _BETA**2) * precision * recall / weighted if weighted else 0.0


def rouge_l(candidate: str, reference: str) -> float:
    """The F1 score of the longest common subsequence of words."""
    ours, theirs = _words(candidate), _words(reference)
    common = longest_common(ours, theirs)
    return 2 * common / (len(ours) + len(theirs)) if common else 0.0


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence, a row of the table at a time in the bits of one number."""
    places: dict[str, int] = {}
    for place, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << place
    everything = (1 << len(first)) - 1
    row = everything
    for word in second:
        matches = row & places.get(word, 0)
        row = (row + matches | row - matches) & everything
    return len(first) - row.bit_count()


def apologises(answer: str) -> bool:
    return _APOLOGY.search(answer[:_LONGEST]) is not None


def apology_loop(answers: Iterable[str], *, limit: int = 3) -> bool:
    """Whether the last answers, the newest last, are apologies one after the other, or one is full of them."""
    given = list(answers)
    if not given:
        return False
    last = given[-limit:]
    if len(last) == limit and all(map(apologises, last)):
        return True
    return len(_APOLOGY.findall(given[-1][:_LONGEST])) >= limit


def _bare(text: str) -> str:
    return "".join(text[:_LONGEST].split())


def _grams(text: str, order: int) -> Counter[str]:
    return Counter(text[start : start + order] for start in range(len(text) - order + 1))


def _words(text: str) -> list[str]:
    return _WORD.findall(text[:_LONGEST].casefold())
