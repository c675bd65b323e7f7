"""Long conversations and full databases: what they cost in sizes and statements, which no machine can change."""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.crowd.people import Group, meet
from benchmarks.crowd.seeding import seeded
from benchmarks.crowd.stage import stage
from benchmarks.crowd.upstream import speaking
from benchmarks.crowd.watching import watched
from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.storage.sqlite import SqliteStore
from preceptor.domain.messages.message import Text
from preceptor.testing import ScriptedModel
from tests.adapters.test_counters import in_two_words
from tests.conftest import only
from tests.requirements import covers

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
MESSAGES = 10_000
OTHERS = 100 if NIGHTLY else 2
"""Conversations of as many messages each, beside the one that is looked at."""
MEGABYTES = 50
WINDOW = '{"openai-compatible:m": {"context_window": 2000000}}'
LARGE = re.compile(r"\b(SCAN|SEARCH) (events|messages|turns|conversations|streams|blobs)\b(.*)")


@covers("L4")
async def test_ten_thousand_messages_in_every_prompt_take_less_than_fifty_megabytes(tmp_path: Path):
    conversation = await seeded(tmp_path / "server-0", MESSAGES)
    models = tmp_path / "models.json"
    models.write_text(WINDOW)
    told = {"PRECEPTOR_MODEL_CAPABILITIES": str(models)}
    with speaking(4, 20) as model, stage(tmp_path, model, 1, None, **told) as place:
        someone = Group("someone", place.ports, place.key, 1, 300.0, most=2, conversation=conversation)
        elsewhere = meet(Group("someone", place.ports, place.key, 4, 300.0, most=2))["someone"]
        with watched(place.pids, 0.05) as seen:
            here = meet(someone)["someone"]
    assert elsewhere.errors == here.errors == []
    assert (len(elsewhere.turns), len(here.turns)) == (8, 2)
    sizes = [one.megabytes for one in seen[place.pids[0]]]
    assert max(sizes) - sizes[0] <= MEGABYTES


@covers("L4")
async def test_a_turn_asks_a_full_database_no_more_than_an_empty_one_and_nothing_that_reads_it_all(tmp_path: Path):
    await seeded(tmp_path / "full", MESSAGES, OTHERS - 1)
    spent = {name: await _turns(tmp_path / name) for name in ("empty", "full")}
    assert spent["full"] == spent["empty"]
    assert len(spent["full"]) == 2


async def _turns(folder: Path) -> list[list[str]]:
    """What the database is told to do by a conversation's first turn and by its next."""
    settings = Settings.load(data_dir=folder, guard_enabled=False, sgr_enabled=False)
    models = only(ScriptedModel(lambda _: "Here."), settings)
    async with open_preceptor(settings, models=models, take_up=False) as preceptor:
        warm = (await preceptor.conversations.start(agent_id="assistant")).conversation_id
        await preceptor.turns.say(warm, [Text("Well?")])
        conversation = (await preceptor.conversations.start(agent_id="assistant")).conversation_id
        found = list[list[str]]()
        for _ in range(2):
            with told(preceptor) as statements:
                await preceptor.turns.say(conversation, [Text("Well?")])
            assert [one for each in set(statements) for one in _reads_it_all(preceptor, each)] == []
            found.append([in_two_words(each) for each in statements])
        return found


@contextmanager
def told(preceptor: Preceptor) -> Generator[list[str]]:
    """The whole statements, with their values."""
    store = preceptor.session.store
    assert isinstance(store, SqliteStore)
    connections = (store._writing, store._reader())  # pyright: ignore[reportPrivateUsage]
    seen: list[str] = []
    for connection in connections:
        connection.set_trace_callback(seen.append)
    yield seen
    for connection in connections:
        connection.set_trace_callback(None)


def _reads_it_all(preceptor: Preceptor, statement: str) -> list[str]:
    """Where SQLite would walk through a whole table that grows, or all of it that is one organisation's."""
    store = preceptor.session.store
    assert isinstance(store, SqliteStore)
    if not re.match(r"SELECT|UPDATE|DELETE|WITH", statement):
        return []
    plan = store._reader().execute(f"EXPLAIN QUERY PLAN {statement}")  # pyright: ignore[reportPrivateUsage]
    found = [LARGE.search(str(row[3])) for row in plan]
    return [
        f"{each[0]}: {statement}"
        for each in found
        if each and (each[1] == "SCAN" or not re.search(r"\(org=\? AND ", each[3]))
    ]
