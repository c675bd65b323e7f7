"""Clocks that are wrong: what is leased or expires does so by the clock of the database, which all processes share."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.world import RealWorld
from preceptor.domain.ids import ConversationId, TurnId
from preceptor.domain.messages.message import Text
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.turns.facts import TurnStatus
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.taking.accepting import Wanted, accept
from preceptor.engine.taking.carrying import Taken
from preceptor.engine.turn.run import Run
from preceptor.testing import ScriptedModel
from tests.conftest import client_of
from tests.postgres import Cluster
from tests.requirements import covers
from tests.surfaces.helpers import bearer, insert_key, problem
from tests.talking import settings_in

JUMPS = {
    "two hours ahead": timedelta(hours=2),
    "a day behind": timedelta(days=-1),
    "in 2038": datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC) - datetime.now(UTC),
}
LONG, NONE = timedelta(minutes=5), timedelta(0)


class Shifted(RealWorld):
    def __init__(self, by: timedelta) -> None:
        self.by = by

    def now(self) -> datetime:
        return super().now() + self.by


@pytest.fixture
def shared(postgres: Cluster, postgres_template: str, tmp_path: Path) -> Iterator[Settings]:
    """On SQLite there is one process, and its clock is the database's."""
    url = postgres.new_database(template=postgres_template)
    yield settings_in(tmp_path, url)
    postgres.drop(url)


def models(settings: Settings) -> ModelRegistry:
    registry = ModelRegistry(settings)
    registry.add("local", ScriptedModel(["Done."]))
    return registry


async def left_behind(preceptor: Preceptor) -> tuple[ConversationId, TurnId]:
    """A turn that was accepted by a process that does nothing more."""
    session, turn_id = preceptor.session, TurnId(preceptor.session.world.new_id())
    conversation_id = (await preceptor.conversations.start(agent_id="assistant")).conversation_id

    async def program(work: Work) -> tuple[Run, int]:
        conversation = await found(work, session.caller, conversation_id)
        return await accept(work, session, Wanted(conversation, (Text("Hi."),), RequestParameters()), turn_id)

    await session.write(program)
    return conversation_id, turn_id


@covers("F13")
@pytest.mark.parametrize("jump", JUMPS.values(), ids=JUMPS)
async def test_a_process_with_a_wrong_clock_takes_no_turn_from_one_that_holds_it(shared: Settings, jump: timedelta):
    async with (
        open_preceptor(shared, take_up=False, lease=LONG) as holder,
        open_preceptor(shared, models=models(shared), world=Shifted(jump), take_up=False, lease=LONG) as other,
    ):
        _, turn_id = await left_behind(holder)
        assert await other.turns.take_over(alone=False) == 0
        row, _ = await holder.turns.get(turn_id)
        assert row.takeovers == 0


@covers("F13")
@pytest.mark.parametrize("jump", JUMPS.values(), ids=JUMPS)
async def test_a_turn_that_nobody_holds_is_taken_up_whatever_the_clocks_say(shared: Settings, jump: timedelta):
    async with (
        open_preceptor(shared, world=Shifted(jump), take_up=False, lease=NONE) as gone,
        open_preceptor(shared, models=models(shared), world=Shifted(-jump / 2), take_up=False, lease=LONG) as other,
    ):
        conversation_id, turn_id = await left_behind(gone)
        assert await other.turns.take_over(alone=False) == 1
        ended = await other.turns.settled(Taken(turn_id, conversation_id))
        assert ended.status is TurnStatus.COMPLETED


@covers("F13")
@pytest.mark.parametrize("jump", JUMPS.values(), ids=JUMPS)
async def test_a_key_and_a_session_end_by_the_databases_clock(shared: Settings, jump: timedelta):
    async with (
        open_preceptor(shared, world=Shifted(jump), take_up=False) as preceptor,
        client_of(preceptor, {}) as client,
    ):
        over = await insert_key(preceptor, expires_at=datetime.now(UTC) - timedelta(minutes=1))
        good = await insert_key(preceptor, expires_at=datetime.now(UTC) + timedelta(minutes=5))
        problem(await client.get("/api/agents", headers=bearer(over)), 401, "unauthenticated")
        assert (await client.get("/api/agents", headers=bearer(good))).status_code == 200
        cookie = await preceptor.access.open_session((await preceptor.access.new_link()).token)
    async with open_preceptor(shared, take_up=False) as right:
        assert (await right.access.by_session(cookie)).owner.user_id == "admin"
