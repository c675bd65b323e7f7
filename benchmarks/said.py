"""What is said in W1 and W2, by whom, and which tools are called. Needs nothing but Python: peers run elsewhere."""

import itertools
import random
from collections.abc import Sequence
from typing import NamedTuple

WINDOW = 8000
TOOL_CALLS = 10
WORDS = ("order", "refund", "account", "invoice", "delivery", "question", "answer", "policy", "customer", "agent")


class Shape(NamedTuple):
    """What turns are like: how much was said before, what happens in them, and how many are taken at the same time."""

    history: int
    kind: str
    at_once: int = 1
    each: int | None = None
    """Turns of one conversation; as a rule so few that it stays about as long as it was."""

    def order(self, conversations: Sequence[str], count: int) -> list[str]:
        each = self.per_conversation
        return [conversation for conversation in conversations for _ in range(each)][:count]

    def conversations(self, count: int) -> int:
        return -(-count // self.per_conversation)

    @property
    def per_conversation(self) -> int:
        return self.each or max(1, self.history // 20)


def text(seed: int, length: int) -> str:
    rng = random.Random(seed)
    words = itertools.chain.from_iterable(rng.sample(WORDS, len(WORDS)) for _ in itertools.count())
    said = ""
    while len(said) < length:
        said += next(words) + " "
    return said[:length]


SYSTEM, USER, REPLY, FOUND = text(1, 800), text(2, 200), text(3, 600), text(4, 400)


def said(place: int) -> tuple[str, str]:
    role = "user" if place % 2 else "assistant"
    return role, text(place % 50, 200 if place % 2 else 600)


def steps_of(kind: str) -> int:
    return {"turn": 1, "tools": TOOL_CALLS + 1, "delegation": 3}[kind]


def calls_at(kind: str, step: int) -> list[dict[str, str]]:
    if kind == "tools" and step < TOOL_CALLS:
        return [{"id": f"c{step}", "name": "lookup", "arguments": f'{{"number": {step}}}'}]
    if kind == "delegation" and step == 0:
        return [{"id": "d", "name": "delegate_internal_reasoning", "arguments": '{"agent_prompt": "You check."}'}]
    if kind == "delegation" and step == 1:
        return [{"id": "r", "name": "return_control", "arguments": "{}"}]
    return []
