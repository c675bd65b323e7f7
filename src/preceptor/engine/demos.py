"""The demo: a support agent with three instructions, and conversations that are labelled as what they are."""

from typing import Any

import msgspec

from preceptor.domain.errors import NotFound
from preceptor.domain.ids import AgentId, ConversationId
from preceptor.domain.messages.message import Text
from preceptor.engine.agents import Agents
from preceptor.engine.conversations import Conversations
from preceptor.engine.instructions import Instructions
from preceptor.engine.session import Session
from preceptor.engine.turns import Turns

AGENT = AgentId("demo-support")
MODEL = "demo"
MARK = {"demo": True}

INSTRUCTIONS: tuple[dict[str, Any], ...] = (
    {
        "name": "Demo: who you are",
        "type": "system",
        "category": "support",
        "content": {
            "system_prompt": "You are a professional customer support agent of ACME Corp.",
            "constraints": [
                "Never share customers' passwords or payment details.",
                "Do not promise refunds: the billing team decides.",
            ],
        },
        "tags": ("demo",),
    },
    {
        "name": "Demo: answering about orders",
        "type": "task",
        "category": "support",
        "content": {
            "guidelines": [
                "Find out where an order is before you say anything about it.",
                "Ask a specialist when something has to be looked up or worked out.",
            ]
        },
        "tags": ("demo",),
    },
    {
        "name": "Demo: how you sound",
        "type": "behavior",
        "category": "support",
        "content": {
            "tone": "friendly",
            "do_list": ["Say sorry once when something went wrong."],
            "dont_list": ["Blame the carrier."],
        },
        "tags": ("demo",),
    },
)


class Demos(msgspec.Struct, frozen=True):
    session: Session

    async def there(self) -> bool:
        try:
            await Agents(self.session).get(AGENT)
        except NotFound:
            return False
        return True

    async def set_up(self, talks: tuple[tuple[str, tuple[str, ...]], ...]) -> list[ConversationId]:
        """Make the agent, if it is not there, and begin these conversations: each a title and what is asked in it.

        The last question of each goes on by itself, so that whoever looks sees it being answered.
        """
        if not await self.there():
            await self._agent()
        return [await self._talk(title, questions) for title, questions in talks]

    async def _agent(self) -> None:
        made = [await Instructions(self.session).create(**fields) for fields in INSTRUCTIONS]
        system, task, behavior = (one.family_id for one in made)
        await Agents(self.session).create(
            agent_id=AGENT,
            name="Support (demo)",
            role="support",
            permissions=("delegate",),
            model=MODEL,
            tools=("calculator",),
            sgr={"enabled": "true"},
            instructions={
                "system_instruction_id": system,
                "task_instruction_ids": (task,),
                "behavior_instruction_id": behavior,
            },
        )

    async def _talk(self, title: str, questions: tuple[str, ...]) -> ConversationId:
        talk = await Conversations(self.session).start(agent_id=AGENT, title=title, metadata=MARK)
        turns = Turns(self.session)
        for question in questions[:-1]:
            await turns.say(talk.conversation_id, [Text(question)])
        await turns.begin(talk.conversation_id, [Text(questions[-1])])
        return talk.conversation_id
