"""Ten lines that run: no server, no key, nothing to configure."""

import asyncio

from preceptor import open_preceptor


async def main() -> None:
    async with open_preceptor() as preceptor:
        rules = await preceptor.instructions.create(
            name="Support", type="system", content={"systemPrompt": "You help customers of a bookshop. Be brief."}
        )
        agent = await preceptor.agents.create(name="Support")
        await preceptor.assignments.assign(agent.agent_id, instruction_id=rules.instruction_id)
        turn = await preceptor.conversations.say("Hello! What can you do for me?", agent=agent.agent_id)
        print(turn.response)
        assert turn.message
        shown = await preceptor.contexts.of_message(turn.message.id)
        print(f"{shown.tokens} tokens, {shown.unattributed_tokens} of unknown origin, intact: {shown.intact}")


asyncio.run(main())
