"""Ten lines that run: no server, no key, nothing to configure."""

import asyncio

from preceptor import open_preceptor


async def main() -> None:
    async with open_preceptor() as preceptor:
        agent = await preceptor.agents.create(name="Support")
        talk = await preceptor.conversations.start(agent_id=agent.agent_id, title="Where is my order?")
        await preceptor.conversations.change(talk.conversation_id, title="Order 1042")
        async for events in preceptor.conversations.follow(talk.conversation_id):
            print(*(f"{event.seq} {event.kind} {event.hash.hex()[:12]}" for event in events), sep="\n")
            break


asyncio.run(main())
