"""The model of the demo: it says what was written down for a few questions, at the pace of a real one.

It needs no key, no server and no weights, and it is no model: whatever else it is asked, it says that.
"""

import asyncio
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from preceptor.adapters.tokens import counter
from preceptor.domain.delegation import DELEGATE, RETURN
from preceptor.domain.messages.message import Role, Text, ToolCall
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Ask, Force, Prompt, Request
from preceptor.domain.prompts.reply import Delta, Finish, Reply, Usage
from preceptor.domain.reasoning.plan import TOOL_NAME
from preceptor.wire.openai_chat import arguments_of, render

NAME = "demo"
PACE = 0.04
"""Seconds between two words."""
REMEMBERED = 100
CAN_DO = Capabilities(forced=tuple(Force), prefill=True, note="A recording for the demo, not a model.")
LATE = "Where is my order 4711? It should have been here on Friday."
REFUND = "Can I have the shipping cost back for order 4711?"
VAGUE = "It does not work."
SPECIALIST = (
    "You are a logistics specialist. Find out where the parcel of order 4711 is, when it will arrive and what its "
    "delay means for the shipping cost. Work out the delay in days. Report findings only, in short sentences."
)
_INTENTS = {
    "4711": "Find out where order 4711 is and when it will arrive",
    "shipping": "Get the shipping cost of the late order 4711 refunded",
}
_ARRIVAL = (
    "I'm sorry that your order is late. I looked into order **4711**:\n\n"
    "- It left our hub on 12 November and is now with the local carrier.\n"
    "- It will arrive **tomorrow before 18:00**, three days after the promised date.\n\n"
    "A delay of more than two days makes the shipping cost refundable. I cannot promise the refund myself: I have "
    "passed it to the billing team, who answer within one working day."
)
_REFUND = (
    "Yes, most likely: order 4711 is three days late, and from two days on the shipping cost is refundable. "
    "The billing team decides; your case is **B-20931**."
)
_OTHER = (
    "This demo answers from a recording, so it knows only its own questions: try *Where is my order 4711?*. "
    "To talk to a real model, set one up and choose it for an agent."
)


class Said(msgspec.Struct, frozen=True):
    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


@dataclass
class RecordedModel:
    name: str = NAME
    capabilities: Capabilities = CAN_DO
    pace: float = PACE
    _asked: dict[str, Prompt] = field(default_factory=dict[str, Prompt], init=False)

    def render(self, prompt: Prompt, ask: Ask) -> Request:
        request = render(prompt, ask, prefill=self.capabilities.prefill)
        while len(self._asked) >= REMEMBERED:
            self._asked.pop(next(iter(self._asked)))
        self._asked[request.sha256] = prompt
        return request

    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:  # noqa: ARG002 - it is quick
        said = answer(self._asked[request.sha256])
        for word in re.findall(r"\s*\S+", said.text):
            await asyncio.sleep(self.pace)
            yield Delta(word)
        calls = tuple(
            ToolCall(f"call_{request.sha256[:12]}_{place}", name, arguments)
            for place, (name, arguments) in enumerate(said.calls)
        )
        tokens = counter(self.capabilities.vocabulary)
        written = tokens.count(said.text) + sum(tokens.count(call.name + arguments_of(call)) for call in calls)
        finish = Finish.TOOL_CALLS if calls else Finish.STOP
        text = (Text(said.text),) if said.text else ()
        yield Reply((*text, *calls), finish, Usage(request.tokens, written), self.name)


def answer(prompt: Prompt) -> Said:
    """What was written down for this prompt."""
    questions = [shown.message for shown in prompt.shown if shown.message.role is Role.USER]
    question = questions[-1].text if questions else ""
    tools = [tool.name for tool in prompt.tools]
    called = {call.name for shown in prompt.shown for call in shown.message.tool_calls}
    if tools == [TOOL_NAME]:
        return Said(calls=((TOOL_NAME, _plan(question)),))
    if "logistics specialist" in prompt.system_text:
        return _specialist(called)
    if "4711" in question and "shipping" in question:
        return Said(_REFUND)
    if "4711" in question and DELEGATE in tools and DELEGATE not in called:
        asked = {"agent_prompt": SPECIALIST, "reason": "Where is the parcel, and what does its delay mean?"}
        return Said(calls=((DELEGATE, asked),))
    return Said(_ARRIVAL if "4711" in question else _OTHER)


def _specialist(called: set[str]) -> Said:
    if "calculator" not in called:
        said = "The carrier says: packed on 11 November, left the hub on 12 November, with the local carrier now."
        return Said(said, (("calculator", {"expression": "17 - 14"}),))
    said = "Promised on 14 November, expected on 17 November: three days late. From two days on shipping is refundable."
    return Said(said, ((RETURN, {}),))


def _plan(question: str) -> dict[str, Any]:
    known = "4711" in question
    intent = next((intent for word, intent in reversed(_INTENTS.items()) if word in question), "Get something to work")
    plan: dict[str, Any] = {
        "spam_score": 0.1,
        "spam_reason": "A customer asks the shop's support for help with something they bought or use.",
        "user_intent": intent,
        "topic": "order 4711" if known else "an unnamed problem",
        "category": "question" if known else "problem",
        "subqueries": ["order 4711 status", "late delivery refund"] if known else [],
        "action_plan": ["Ask the logistics specialist", "Tell the customer what was found"] if known else [],
        "intent_confidence": 0.93 if known else 0.35,
        "uncertainties": [] if known else ["what does not work", "since when"],
        "action": "normal" if known else "clarify",
        "clarification_question": None if known else "What is it that does not work, and what happens when you try?",
    }
    return plan
