"""Turns whose storage goes away and comes back while they are taken."""

import asyncio
import errno
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from preceptor.adapters.storage import faults
from preceptor.domain.ids import AgentId
from tests.durability.provider import provider
from tests.durability.turn_checker import check_turns
from tests.durability.turning import Order, left_behind, opening, say, setup
from tests.durability.worker import History

TURNS = 6


@pytest.fixture
def order(sqlite_template: bytes, tmp_path: Path) -> Iterator[Order]:
    path = tmp_path / "preceptor.db"
    path.write_bytes(sqlite_template)
    with provider(tmp_path / "ledger.jsonl") as url:
        yield Order(f"sqlite:///{path}", str(tmp_path), url, turns=TURNS, lease=0.3)
    faults.hook = None


def fail_at(point: str, every: int, number: int) -> None:
    reached = itertools.count(1)

    def hook(name: str) -> None:
        if name == point and next(reached) % every == 0:
            raise OSError(number, "as the test wishes")

    faults.hook = hook


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
async def test_commits_that_fail_now_and_then_lose_nothing_and_do_nothing_twice(order: Order, number: int):
    history = History(Path(order.folder, "history.jsonl"))
    setup(order)
    async with opening(order) as preceptor:
        await preceptor.agents.change(AgentId("assistant"), tools=("look", "put", "send"))
        for every in (17, 13, 11, 7, 5):
            starting = [preceptor.conversations.start(agent_id="assistant") for _ in range(TURNS)]
            started = await asyncio.gather(*starting)
            accepted = asyncio.gather(
                *(say(preceptor, history, f"{every}-{n}", one.conversation_id) for n, one in enumerate(started)),
                return_exceptions=True,
            )
            await asyncio.sleep(0)
            fail_at("sqlite.before-commit", every, number)
            await accepted
            faults.hook = None
            await left_behind(preceptor)
    found = check_turns(order.database, Path(order.folder))
    assert found.turns > 3 * TURNS
    assert found.statuses["completed"] > 2 * TURNS
    assert {*found.statuses} <= {"completed", "failed"}
