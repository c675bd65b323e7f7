"""W3: a message arrives and a history of N messages is cut to 8,000 tokens. What it costs, and what it does to a cache.

- `limit`: the shortest code: stored counts with a running sum, one bisection, one slice; no pairs, pins or reasons.
- `preceptor`: the plan from nothing; `sticky` the plan when the last one is known, as in a conversation.
- `langchain cached`: `trim_messages` of langchain-core with a counter that remembers; `tokenizer`: count all again.
"""

import sys
from array import array
from bisect import bisect_left
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.interleaved import Maker, compare
from preceptor.adapters.tokens import counter
from preceptor.domain.history.entry import Entry
from preceptor.domain.history.limits import CompressWhen, Costs, Limits
from preceptor.domain.history.plan import Cut, plan
from preceptor.domain.history.segment import NOTHING_YET, State, basis_of, learned, segment_of
from preceptor.domain.history.strategy import FromLastNMessages
from preceptor.domain.history.tape import ArrayTape
from preceptor.domain.ids import MessageId
from preceptor.domain.messages.message import Kind, Role
from preceptor.domain.models import Vocabulary

BUDGET, OVERHEAD, SYSTEM = 8_000, 3, 60
TEXTS = (
    "Could you tell me where order 1042 is, and why it takes so long this time? I was told on Monday that it had left.",
    "It left the warehouse on Tuesday and is with the carrier now. They expect to deliver it on Friday before noon. "
    * 4,
)
NEW = (
    "And what happens if nobody is at home when they come? Can they leave it with a neighbour, and how would I know? "
    * 2
)
NOON = datetime(2026, 1, 1, tzinfo=UTC)
NO_STATE = NOTHING_YET


class History:
    def __init__(self, _folder: Path, size: int) -> None:
        self.count = counter(Vocabulary.CL100K).count
        tokens = [self.count(text) + OVERHEAD for text in TEXTS]
        self.tokens = [tokens[number % 2] for number in range(size - size % 2)]
        self.made = 0
        self.kept = 0
        self.fill()

    def fill(self) -> None: ...

    def new(self) -> str:
        self.made += 1
        return f"{self.made} {NEW}"

    def close(self) -> None: ...


class Limit(History):
    def fill(self) -> None:
        self.messages: list[Any] = [object() for _ in self.tokens]
        self.sums = array("q", [0])
        for tokens in self.tokens:
            self.sums.append(self.sums[-1] + tokens)

    def run(self, count: int) -> None:
        sums, messages = self.sums, self.messages
        for _ in range(count):
            text = self.new()
            messages.append(text)
            sums.append(sums[-1] + self.count(text) + OVERHEAD)
            start = bisect_left(sums, sums[-1] - (BUDGET - SYSTEM))
            self.kept = len(messages[start:])
            messages.pop()
            sums.pop()


class Ours(History):
    def fill(self) -> None:
        roles = (Role.USER, Role.ASSISTANT)
        entries = (entry(at, tokens - OVERHEAD, roles[at % 2]) for at, tokens in enumerate(self.tokens))
        self.tape = ArrayTape(entries, OVERHEAD)
        self.limits, self.costs = Limits(max_tokens=BUDGET, low_water=1.0), Costs(SYSTEM, SYSTEM)
        self.state: State = NO_STATE

    def cut(self) -> Cut:
        return plan(self.tape, self.limits, self.costs)

    def run(self, count: int) -> None:
        tape = self.tape
        for _ in range(count):
            tape.append(entry(len(tape), self.count(self.new()), Role.USER))
            self.kept = len(self.cut().kept)
            tape.pop()


class Hundredfold(Ours):
    """A hundred cuts for one of theirs, so that both run long enough to be measured."""

    def run(self, count: int) -> None:
        super().run(100 * count)


class Sticky(Ours):
    def fill(self) -> None:
        super().fill()
        self.tape.append(entry(len(self.tape), self.count(NEW), Role.USER))
        self.limits = Limits(max_tokens=BUDGET, low_water=0.9)
        self.state = plan(self.tape, self.limits, self.costs).state
        self.tape.pop()

    def cut(self) -> Cut:
        return plan(self.tape, self.limits, self.costs, self.state)


class LangChain(History):
    def fill(self) -> None:
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, trim_messages

        self.human, self.trim = HumanMessage, trim_messages
        kinds = (HumanMessage, AIMessage)
        texts = [f"{TEXTS[number % 2]}" for number in range(len(self.tokens))]
        self.messages = [
            SystemMessage("You are kind."),
            *(kinds[at % 2](text, id=str(at)) for at, text in enumerate(texts)),
        ]
        self.known: dict[str, int] = {}

    def told(self, messages: Any) -> int:
        return sum(self.one(message.content) for message in messages)

    def one(self, text: str) -> int:
        if (tokens := self.known.get(text)) is None:
            tokens = self.known[text] = self.count(text) + OVERHEAD
        return tokens

    def run(self, count: int) -> None:
        for _ in range(count):
            kept = self.trim(
                [*self.messages, self.human(self.new())],
                max_tokens=BUDGET,
                token_counter=self.told,
                strategy="last",
                include_system=True,
            )
            self.kept = len(kept) - 1


class Tokenizer(History):
    """What it costs to count again what was counted before."""

    def run(self, count: int) -> None:
        for _ in range(count):
            for number in range(len(self.tokens)):
                self.count(TEXTS[number % 2])


def entry(seq: int, tokens: int, role: Role) -> Entry:
    return Entry(seq=seq, id=MessageId(str(seq)), role=role, tokens=tokens, created_at=NOON)


def main() -> list[str]:
    return [*costs(), "", *caches()]


def costs() -> list[str]:
    lines = ["messages   limit µs  preceptor  x limit  sticky  x limit"]
    for size in (10, 1_000, 10_000, 100_000):
        light: dict[str, Maker] = {"limit": partial(Limit, size=size), "ours": partial(Ours, size=size)}
        light["sticky"] = partial(Sticky, size=size)
        found = compare(light, rounds=9, count=400)
        limit, ours, sticky = found["limit"], found["ours"], found["sticky"]
        lines.append(
            f"{size:>8}  {limit.median('cpu') * 1e6:>9.1f}  {ours.median('cpu') * 1e6:>9.1f}"
            f"  {ours.ratio(limit, 'cpu'):>7.2f}  {sticky.median('cpu') * 1e6:>6.1f}"
            f"  {sticky.ratio(limit, 'cpu'):>7.2f}"
        )
    lines += ["", "messages  langchain cached ms  x preceptor  tokenizer ms  x preceptor"]
    for size, count in ((10, 100), (1_000, 10), (10_000, 2), (100_000, 1)):
        heavy: dict[str, Maker] = {"ours": partial(Hundredfold, size=size), "langchain": partial(LangChain, size=size)}
        heavy["tokenizer"] = partial(Tokenizer, size=size)
        found = compare(heavy, rounds=5, count=count)
        ours, langchain, tokens = found["ours"], found["langchain"], found["tokenizer"]
        lines.append(
            f"{size:>8}  {langchain.median('cpu') * 1e3:>19.3f}  {100 * langchain.ratio(ours, 'cpu'):>11.0f}"
            f"  {tokens.median('cpu') * 1e3:>12.2f}  {100 * tokens.ratio(ours, 'cpu'):>11.0f}"
        )
    return lines


TURNS, PER_TURN, CAP = 120, 1_500, 40_000
CACHED = 0.1
"""What a token costs that the provider has in its cache, against one that it has not."""


def caches() -> list[str]:
    """Input tokens over 120 turns of 1,500 tokens with a cap of 40,000, a cached one counted as a tenth."""
    summarising = Limits(strategy=FromLastNMessages(n=12), compress_when=CompressWhen.OVER_BUDGET, max_tokens=CAP)
    policies: dict[str, tuple[Limits, bool]] = {
        "no limit": (Limits(), True),
        "cut every turn": (Limits(max_tokens=CAP, low_water=1.0), False),
        "preceptor, lowWater 1": (Limits(max_tokens=CAP, low_water=1.0), True),
        "preceptor, lowWater 0.75": (Limits(max_tokens=CAP, low_water=0.75), True),
        "preceptor, lowWater 0.5 (default)": (Limits(max_tokens=CAP), True),
        "preceptor, lowWater 0.3": (Limits(max_tokens=CAP, low_water=0.3), True),
        "preceptor, summaries over budget": (summarising, True),
    }
    lines = ["over 120 turns                      effective tokens  prefix breaks  said by the plan"]
    for name, (limits, remembers) in policies.items():
        spent, breaks, told = simulated(limits, remembers=remembers)
        lines.append(f"{name:<34}  {spent / 1e6:>14.3f} M  {breaks:>13}  {told:>16}")
    return lines


def simulated(limits: Limits, *, remembers: bool) -> tuple[float, int, int]:
    tape, state, before = ArrayTape(), NO_STATE, list[tuple[str, int]]()
    spent, breaks, told = 0.0, 0, 0
    for turn in range(TURNS):
        tape.append(entry(2 * turn, 300, Role.USER))
        cut = settled(tape, limits, state if remembers else NO_STATE)
        view = [(one.id, one.tokens) for one in cut.kept]
        same = next((at for at, pair in enumerate(zip(before, view, strict=False)) if pair[0] != pair[1]), len(before))
        cached = sum(tokens for _, tokens in view[: min(same, len(before))])
        breaks += same < len(before)
        told += bool(cut.invalidated)
        spent += sum(tokens for _, tokens in view) - cached * (1 - CACHED)
        before, state = view, cut.state
        tape.append(entry(2 * turn + 1, PER_TURN - 300, Role.ASSISTANT))
    return spent, breaks, told


def settled(tape: ArrayTape, limits: Limits, state: State) -> Cut:
    cut = plan(tape, limits, Costs(), state)
    while cut.spans and limits.strategy is not None:
        basis = basis_of(limits.strategy, "")
        state = learned(state, [segment_of(span, summary(span.seq), basis) for span in cut.spans])
        cut = plan(tape, limits, Costs(), state)
    return cut


def summary(seq: int) -> Entry:
    return Entry(seq=seq, id=MessageId(f"s{seq}"), role=Role.ASSISTANT, kind=Kind.SUMMARY, tokens=400, created_at=NOON)


if __name__ == "__main__":
    print("\n".join(caches() if "caches" in sys.argv else main()))
