"""Trying a model: one short question, and how long the answer took."""

import time
from contextlib import aclosing
from typing import Any

import msgspec

from preceptor.adapters.models.registry import ModelRegistry
from preceptor.domain.messages.message import Text
from preceptor.domain.prompts.prompt import Ask, Prompt, Sampling, Segment
from preceptor.domain.prompts.reply import Fault, ModelFailure, Reply
from preceptor.domain.prompts.source import FromEngine
from preceptor.engine.ports import ChatModel
from preceptor.settings import Settings

QUESTION = "Say hello in one short sentence."
SYSTEM = "You are a helpful assistant."
LONGEST = 64


class Tried(msgspec.Struct, frozen=True):
    model: str
    text: str
    seconds: float
    first: float
    """Seconds until the first word."""
    tokens: int
    cost: float
    note: str

    @property
    def tokens_per_second(self) -> float:
        spoken = self.seconds - self.first
        return self.tokens / spoken if spoken > 0.01 and self.tokens > 1 else 0.0

    def told(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "text": self.text,
            "seconds": round(self.seconds, 3),
            "firstWordAfter": round(self.first, 3),
            "tokens": self.tokens,
            "cost": self.cost,
            "note": self.note,
        }


async def try_model(settings: Settings, name: str | None, deadline: float, longest: int = LONGEST) -> Tried:
    """Ask a model of these settings. What it fails with is raised."""
    registry = ModelRegistry(settings)
    try:
        await registry.prepare()
        return await _asked(registry.find(name), deadline, longest)
    finally:
        await registry.close()


async def _asked(model: ChatModel, deadline: float, longest: int) -> Tried:
    prompt = Prompt(
        system=(Segment(SYSTEM, FromEngine("trial"), 0),), shown=(), tail=(Segment(QUESTION, FromEngine("trial"), 0),)
    )
    request = model.render(prompt, Ask(model.name, Sampling(max_completion_tokens=longest)))
    began, first = time.monotonic(), None
    heard: Any = model.send(request, deadline)
    async with aclosing(heard):
        async for piece in heard:
            first = first or time.monotonic() - began
            if isinstance(piece, Reply):
                return _tried(model, piece, time.monotonic() - began, first)
    raise ModelFailure(Fault.BROKEN_STREAM, f"The model {model.name} broke off before the end of its answer.")


def _tried(model: ChatModel, reply: Reply, seconds: float, first: float) -> Tried:
    text = "".join(part.text for part in reply.parts if isinstance(part, Text)).strip()
    usage = reply.usage
    return Tried(reply.model, text, seconds, first, usage.output_tokens, usage.cost, model.capabilities.note)
