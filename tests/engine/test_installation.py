import asyncio

import orjson
import pytest

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.domain.errors import Unauthenticated
from preceptor.domain.ids import ConversationId
from preceptor.domain.log import Event
from preceptor.testing import SteadyWorld


async def start(preceptor: Preceptor, count: int) -> list[ConversationId]:
    started = await asyncio.gather(*(preceptor.conversations.start(agent_id="assistant") for _ in range(count)))
    return [conversation.conversation_id for conversation in started]


def told(event: Event | None) -> set[str]:
    assert event is not None
    assert event.payload is not None
    return {stream for _, stream, _, _ in orjson.loads(event.payload)["heads"]}


async def test_a_checkpoint_tells_of_what_grew_since_the_last_one(preceptor: Preceptor):
    first, second = await start(preceptor, 2)
    assert {first, second} <= told(await preceptor.installation.checkpoint())
    assert await preceptor.installation.checkpoint() is None
    await preceptor.conversations.change(second, title="Grown")
    assert told(await preceptor.installation.checkpoint()) == {second}


async def test_checkpoints_are_made_while_every_stream_keeps_growing(preceptor: Preceptor):
    conversations = await start(preceptor, 40)
    done = asyncio.Event()

    async def keep_writing(mine: list[ConversationId]) -> None:
        number = 0
        while not done.is_set():
            number += 1
            await preceptor.conversations.change(mine[number % len(mine)], title=str(number))

    writers = [asyncio.create_task(keep_writing(conversations[n::4])) for n in range(4)]
    try:
        made = [await preceptor.installation.checkpoint() for _ in range(5)]
    finally:
        done.set()
        await asyncio.gather(*writers)
    assert told(made[0]) >= set(conversations)
    await preceptor.installation.checkpoint()
    assert await preceptor.installation.checkpoint() is None


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_the_sweep_forgets_sign_in_links_that_no_one_used(settings: Settings):
    world = SteadyWorld()
    async with open_preceptor(settings, world=world) as preceptor:
        used, unused = await preceptor.access.new_link_token(), await preceptor.access.new_link_token()
        await preceptor.access.open_session(used)
        assert await preceptor.installation.sweep() == 0
        world.move(minutes=16)
        assert await preceptor.installation.sweep() == 1
        with pytest.raises(Unauthenticated):
            await preceptor.access.open_session(unused)
