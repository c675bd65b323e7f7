"""History as a processor of pydantic-ai: every request of this agent stays short, and its tool calls stay whole."""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.models.test import TestModel

from preceptor.history import FromLastNMessages, RequestParameters, SummaryRequest, history_processor


async def summarise(request: SummaryRequest) -> str:
    """Call your model here: `request.system` is the system prompt, `request.transcript` the only message."""
    return f"They exchanged {len(request.sources)} messages."


def count(text: str) -> int:
    """Use your model's tokenizer here."""
    return len(text) // 4 + 1


async def main() -> None:
    asked = RequestParameters(compression_strategy=FromLastNMessages(n=4), max_tokens=2000)
    keep_short = history_processor(asked, count, summarise)
    agent = Agent(TestModel(custom_output_text="Noted."), capabilities=[ProcessHistory(keep_short)])
    history = []
    for number in range(10):
        result = await agent.run(f"This is message {number}.", message_history=history)
        history = result.all_messages()
    for message in history:
        print(*(getattr(part, "content", "") for part in message.parts))
    assert len(history) < 20


asyncio.run(main())
