"""W3: a message arrives and a history of N messages is cut to 8,000 tokens. What it costs, and what it does to a cache.

- `limit`: the shortest code: counts with a running sum, one bisection, one list to send; no pairs, pins or reasons.
- `preceptor`: the plan from nothing; `sticky` the plan when the last one is known, as in a conversation.
- `langchain cached`: `trim_messages` of langchain-core with a counter that remembers; `tokenizer`: count all again.
- `pydantic-ai`: a whole run of an agent with a processor that walks back from the end, with counts that it remembers.
"""

import asyncio
import statistics
import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.interleaved import Figures, Maker, compare
from preceptor.adapters.tokens import counter
from preceptor.domain.history.entry import Entry
from preceptor.domain.history.limits import LOW_WATER, CompressWhen, Costs, Limits
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

    def run(self, count: int) -> None:
        raise NotImplementedError

    def new(self) -> str:
        self.made += 1
        return f"{self.made} {NEW}"

    def close(self) -> None: ...


class Limit(History):
    def fill(self) -> None:
        self.messages: list[Any] = [{"role": "user", "content": TEXTS[at % 2]} for at in range(len(self.tokens))]
        self.sums = array("q", [0])
        for tokens in self.tokens:
            self.sums.append(self.sums[-1] + tokens)

    def run(self, count: int) -> None:
        sums, messages = self.sums, self.messages
        for _ in range(count):
            text = self.new()
            messages.append({"role": "user", "content": text})
            sums.append(sums[-1] + self.count(text) + OVERHEAD)
            start = bisect_left(sums, sums[-1] - (BUDGET - SYSTEM))
            self.kept = len([{"role": "system", "content": "You are kind."}, *messages[start:]]) - 1
            messages.pop()
            sums.pop()


def take_back(tape: ArrayTape) -> None:
    """As it was before its newest entry, which is not pinned."""
    for sums in (tape.loose, tape.counts, tape.spans, tape.payloads, tape.lean, tape.analyses, tape.tools):
        sums.pop()
    tape.pop()
    tape.said -= 1


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
            take_back(tape)


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
        take_back(self.tape)

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


class PydanticAi(LangChain):
    def fill(self) -> None:
        from pydantic_ai import Agent
        from pydantic_ai.capabilities import ProcessHistory
        from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
        from pydantic_ai.models.function import FunctionModel
        from pydantic_ai.usage import RequestUsage

        async def answer(messages: Any, _: Any) -> Any:
            self.kept = len(messages)
            return ModelResponse(parts=[TextPart("Yes.")], usage=RequestUsage(input_tokens=10, output_tokens=10))

        self.known = {}
        texts = [TEXTS[number % 2] for number in range(len(self.tokens))]
        self.messages = [
            ModelResponse(parts=[TextPart(text)]) if at % 2 else ModelRequest(parts=[UserPromptPart(text)])
            for at, text in enumerate(texts)
        ]
        self.agent: Any = Agent(
            FunctionModel(answer), instructions="You are kind.", capabilities=[ProcessHistory(self.within)]
        )

    def within(self, messages: list[Any]) -> list[Any]:
        left, start = BUDGET - SYSTEM, len(messages)
        while start:
            left -= sum(self.one(part.content) for part in messages[start - 1].parts)
            if left < 0:
                break
            start -= 1
        return messages[start:]

    def run(self, count: int) -> None:
        asyncio.run(self.asked(count))

    async def asked(self, count: int) -> None:
        for _ in range(count):
            await self.agent.run(self.new(), message_history=self.messages)


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
    lines = ["messages   limit µs  preceptor  x limit (lowest)  sticky  x limit (lowest)"]
    for size in (10, 1_000, 10_000, 100_000):
        light: dict[str, Maker] = {"limit": partial(Limit, size=size), "ours": partial(Ours, size=size)}
        light["sticky"] = partial(Sticky, size=size)
        found = compare(light, rounds=21, count=400)
        limit, ours, sticky = found["limit"], found["ours"], found["sticky"]
        lines.append(
            f"{size:>8}  {limit.median('cpu') * 1e6:>9.1f}  {ours.median('cpu') * 1e6:>9.1f}"
            f"  {_times(ours, limit)}  {sticky.median('cpu') * 1e6:>6.1f}  {_times(sticky, limit)}"
        )
    lines += ["", "messages  langchain cached ms  x preceptor  pydantic-ai ms  x preceptor  tokenizer ms  x preceptor"]
    for size, count in ((10, 100), (1_000, 10), (10_000, 2), (100_000, 1)):
        heavy: dict[str, Maker] = {"ours": partial(Hundredfold, size=size)}
        peers: dict[str, type[History]] = {"langchain": LangChain, "pydantic-ai": PydanticAi, "tokenizer": Tokenizer}
        for name, peer in peers.items():
            heavy[name] = partial(peer, size=size)
        found = compare(heavy, rounds=5, count=count)
        ours = found["ours"]
        lines.append(
            f"{size:>8}"
            + "".join(
                f"  {found[name].median('cpu') * 1e3:>{width}.3f}  {100 * found[name].ratio(ours, 'cpu'):>11.0f}"
                for name, width in (("langchain", 19), ("pydantic-ai", 14), ("tokenizer", 12))
            )
        )
    return lines


def _times(ours: Figures, limit: Figures) -> str:
    ratios = ours.ratios(limit, "cpu")
    return f"{statistics.median(ratios):>7.2f} ({min(ratios):>6.2f})"


TURNS, PER_TURN, CAP = 120, 1_500, 40_000
CACHED = 0.1
"""What a token costs that the provider has in its cache, against one that it has not."""


def caches() -> list[str]:
    """Input tokens over 120 turns of 1,500 tokens with a cap of 40,000, a cached one counted as a tenth."""
    summarising = Limits(strategy=FromLastNMessages(n=12), compress_when=CompressWhen.OVER_BUDGET, max_tokens=CAP)
    lines = ["over 120 turns                      effective tokens  prefix breaks  said by the plan  x by hand"]

    def told(name: str, found: tuple[float, int, int], hand: float | None = None) -> None:
        spent, breaks, said = found
        times = "" if hand is None else f"{spent / hand:>9.2f}"
        lines.append(f"{name:<34}  {spent / 1e6:>14.3f} M  {breaks:>13}  {said:>16}  {times}")

    told("no limit", simulated(planned(Limits())))
    told("cut every turn", simulated(planned(Limits(max_tokens=CAP, low_water=1.0), remembers=False)))
    for share in (1.0, 0.75, 0.5, 0.3):
        hand = simulated(by_hand(share))
        ours = simulated(planned(Limits(max_tokens=CAP, low_water=share)))
        told(f"by hand, at the cap to {share:.0%}", hand)
        told(f"preceptor, lowWater {share}{' (default)' if share == LOW_WATER else ''}", ours, hand[0])
    told("preceptor, summaries over budget", simulated(planned(summarising)))
    return lines


Shown = list[tuple[str, int]]
"""Each message that a request shows, with its tokens."""
Policy = Callable[[ArrayTape], tuple[Shown, int]]
"""What of a history is shown, and how many tokens of what was shown before it says a cache has lost."""


def planned(limits: Limits, *, remembers: bool = True) -> Policy:
    state = NO_STATE

    def policy(tape: ArrayTape) -> tuple[Shown, int]:
        nonlocal state
        cut = settled(tape, limits, state if remembers else NO_STATE)
        state = cut.state
        return [(one.id, one.tokens) for one in cut.kept], cut.invalidated

    return policy


def by_hand(share: float) -> Policy:
    """Compaction in batches, as simply as it can be written: at the cap, drop whole turns down to a share of it."""
    start = 0

    def policy(tape: ArrayTape) -> tuple[Shown, int]:
        nonlocal start
        if sum(one.tokens for one in tape[start:]) > CAP:
            while sum(one.tokens for one in tape[start:]) > CAP * share:
                start += 2
        return [(one.id, one.tokens) for one in tape[start:]], 0

    return policy


def simulated(policy: Policy) -> tuple[float, int, int]:
    tape, before = ArrayTape(), Shown()
    spent, breaks, told = 0.0, 0, 0
    for turn in range(TURNS):
        tape.append(entry(2 * turn, 300, Role.USER))
        view, invalidated = policy(tape)
        same = next((at for at, pair in enumerate(zip(before, view, strict=False)) if pair[0] != pair[1]), len(before))
        cached = sum(tokens for _, tokens in view[: min(same, len(before))])
        breaks += same < len(before)
        told += bool(invalidated)
        spent += sum(tokens for _, tokens in view) - cached * (1 - CACHED)
        before = view
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
