import asyncio
import os
import time
from itertools import count
from pathlib import Path

import pytest

from preceptor import Hearers, Preceptor, Settings, open_preceptor
from preceptor.adapters.storage.sqlite import PATIENCE_MS
from preceptor.domain.conversations.conversation import ConversationChange, NewConversation
from preceptor.domain.errors import CannotStart, Unavailable
from tests.conftest import ADMIN_KEY, client_of
from tests.durability.checker import Line, check
from tests.durability.holder import holding
from tests.requirements import covers

PRODUCERS = 64
SECONDS = 60.0 if os.environ.get("PRECEPTOR_NIGHTLY") else 2.5
NEW = NewConversation(agent_id="assistant")


@pytest.fixture
def settings(sqlite_template: bytes, tmp_path: Path) -> Settings:
    path = tmp_path / "preceptor.db"
    path.write_bytes(sqlite_template)
    return Settings.load(data_dir=tmp_path, database_url=f"sqlite:///{path}", admin_key=ADMIN_KEY, access_log=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "preceptor.db"


async def produce(preceptor: Preceptor, name: str, until: float, history: list[Line]) -> list[float]:
    """Change one conversation after another until the time is up; return how long each acknowledgement took."""
    waits: list[float] = []
    shared = await preceptor.conversations.start(NEW)
    for number in count():
        title, began = f"{name}.{number}", time.perf_counter()
        if began > until:
            return waits
        history.append({"did": "invoke", "title": title})
        if number % 4:
            done = await preceptor.conversations.change(shared.conversation_id, ConversationChange(title=title))
        else:
            done = shared = await preceptor.conversations.start(NEW.model_copy(update={"title": title}))
        history.append({"did": "ok", "title": title, "id": done.conversation_id, "seq": done.revision})
        waits.append(time.perf_counter() - began)
    raise AssertionError


@covers("F8")
async def test_64_producers_share_commits_and_see_no_error_and_no_long_wait(settings: Settings):
    history: list[Line] = []
    batches: list[int] = []
    async with open_preceptor(settings, hearers=Hearers(lambda size, _: batches.append(size))) as preceptor:
        until = time.perf_counter() + SECONDS
        waits = await asyncio.gather(*(produce(preceptor, f"p{n}", until, history) for n in range(PRODUCERS)))
    acknowledged = check(settings.database, history)
    slowest = sorted(wait for each in waits for wait in each)
    p99 = slowest[int(len(slowest) * 0.99)]
    print(
        f"{acknowledged / SECONDS:.0f} a second, {sum(batches) / len(batches):.1f} per commit, p99 {p99 * 1000:.0f} ms"
    )
    assert acknowledged == len(slowest)
    assert sum(batches) >= 8 * len(batches)
    assert slowest[-1] < PATIENCE_MS / 1000


@covers("F8")
@pytest.mark.parametrize("seconds", [0.1, 1.0])
async def test_a_lock_that_another_process_holds_for_a_while_is_only_a_wait(
    settings: Settings, path: Path, seconds: float
):
    async with open_preceptor(settings) as preceptor:
        before = await preceptor.conversations.start(NEW)
        with holding("lock", path):
            writing = asyncio.gather(*(preceptor.conversations.start(NEW) for _ in range(PRODUCERS)))
            _, waiting = await asyncio.wait({writing}, timeout=seconds)
            assert await preceptor.conversations.get(before.conversation_id) == before
            assert waiting
        assert len(await writing) == PRODUCERS


@covers("F8")
async def test_a_lock_held_for_longer_is_a_503_until_it_is_gone(settings: Settings, path: Path):
    commits: list[int] = []
    opening = open_preceptor(settings, hearers=Hearers(lambda size, _: commits.append(size)))
    async with opening as preceptor, client_of(preceptor) as client:
        with holding("lock", path):
            commits.clear()
            began = time.perf_counter()
            refusing = asyncio.create_task(client.post("/api/conversations", json={"agentId": "assistant"}))
            with pytest.raises(Unavailable):
                await preceptor.conversations.start(NEW)
            refused = await refusing
            waited = time.perf_counter() - began
            listed = await client.get("/api/conversations")
        accepted = await client.post("/api/conversations", json={"agentId": "assistant"})
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert (listed.status_code, listed.json()["items"]) == (200, [])
    assert accepted.status_code == 201
    assert commits == [1]
    assert 5 <= waited < 12


async def test_a_second_process_is_refused_by_name_and_a_third_opens_once_the_first_was_killed(
    settings: Settings, path: Path
):
    with holding("open", path) as first:
        with pytest.raises(CannotStart, match=rf"is in use by process {first.pid}; SQLite serves one process\."):
            async with open_preceptor(settings):
                raise AssertionError
        first.kill()
        first.wait(timeout=10)
        began = time.perf_counter()
        async with open_preceptor(settings) as third:
            await third.conversations.start(NEW)
        assert time.perf_counter() - began < 2
