"""W1 and W2: whole turns, against the shortest code that does the same durable work with `sqlite3`.

- `bare`: a hand-written loop: read the window by running sums, call the model, append; one commit per step. It takes
  one turn after the other, however many are wanted at once.
- `preceptor`: the same turn, with its manifest, chained log, pins, lease and accounting.
- `peers/`: langgraph, openai-agents, pydantic-ai and agno, where `PRECEPTOR_BENCH_PEERS` names a Python that has them;
  each with the storage that it brings, or for want of one `sqlite3`.

The model is scripted in process, so that only what a framework adds is measured.
"""

import asyncio
import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.interleaved import Elsewhere, compare
from benchmarks.said import FOUND, REPLY, SYSTEM, USER, WINDOW, Shape, calls_at, said, steps_of
from benchmarks.seeding import Said, at_rest, fill
from benchmarks.slow_disk import FLUSH, slower_disk
from preceptor import Preceptor, Settings, open_preceptor, tool
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.domain.ids import AgentId, ConversationId
from preceptor.domain.messages.message import Text, ToolCall
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Ask, Prompt, Request
from preceptor.domain.prompts.reply import Finish, Reply, Usage
from preceptor.wire.openai_chat import render

PEERS = os.environ.get("PRECEPTOR_BENCH_PEERS")
PEER_NAMES = ("langgraph", "openai_agents", "pydantic_ai", "agno")
MOST_FOR_PEERS = 2_000
"""Messages: with more, they take minutes to prepare."""


class Bare:
    """What anyone would write first: one table, running sums, one commit per step."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        self.db = sqlite3.connect(folder / "bare.db", isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        self.db.execute(
            "CREATE TABLE msg(conv INTEGER, seq INTEGER, role TEXT, body TEXT, tokens INTEGER, cum INTEGER, at REAL,"
            " PRIMARY KEY(conv, seq)) WITHOUT ROWID"
        )
        self.db.execute("CREATE INDEX msg_cum ON msg(conv, cum)")
        self.shape, self.conv = shape, 0
        self.order: list[str] = []

    def _seed(self) -> str:
        self.conv += 1
        rows, cum = [], 0
        for place in range(1, self.shape.history + 1):
            role, content = said(place)
            cum += len(content) // 4
            body = json.dumps({"role": role, "content": content})
            rows.append((self.conv, place, role, body, len(content) // 4, cum, 0.0))
        self.db.execute("BEGIN")
        self.db.executemany("INSERT INTO msg VALUES(?,?,?,?,?,?,?)", rows)
        self.db.execute("COMMIT")
        return str(self.conv)

    def prepare(self, count: int) -> None:
        self.order = self.shape.order([self._seed() for _ in range(self.shape.conversations(count))], count)

    def run(self, count: int) -> None:  # noqa: ARG002 - as many as were prepared
        for conversation in self.order:
            self._turn(int(conversation))

    def _turn(self, conv: int) -> None:
        db = self.db
        seq, cum = db.execute("SELECT seq, cum FROM msg WHERE conv=? ORDER BY seq DESC LIMIT 1", (conv,)).fetchone()
        rows = db.execute("SELECT body FROM msg WHERE conv=? AND cum>? ORDER BY cum", (conv, cum - WINDOW))
        messages = [{"role": "system", "content": SYSTEM}, *(json.loads(body) for (body,) in rows)]
        pending: list[tuple[Any, ...]] = []

        def add(message: dict[str, Any]) -> None:
            nonlocal seq, cum
            body = json.dumps(message)
            seq, cum = seq + 1, cum + len(body) // 4
            messages.append(message)
            pending.append((conv, seq, message["role"], body, len(body) // 4, cum, time.time()))

        def flush() -> None:
            db.execute("BEGIN IMMEDIATE")
            db.executemany("INSERT INTO msg VALUES(?,?,?,?,?,?,?)", pending)
            db.execute("COMMIT")
            pending.clear()

        add({"role": "user", "content": USER})
        for step in range(steps_of(self.shape.kind)):
            calls = calls_at(self.shape.kind, step)
            add({"role": "assistant", "content": REPLY, **({"tool_calls": calls} if calls else {})})
            if not calls:
                break
            for call in calls:
                json.loads(call["arguments"])
                add({"role": "tool", "tool_call_id": call["id"], "content": FOUND})
            flush()
        flush()

    def close(self) -> None:
        self.db.close()


class InstantModel:
    """Answers at once, from the number of times that it was asked in this turn."""

    name = "instant"
    capabilities = Capabilities(context_window=1_000_000)

    def __init__(self, kind: str) -> None:
        self.kind, self.step = kind, 0

    def render(self, prompt: Prompt, ask: Ask) -> Request:
        return render(prompt, ask)

    async def send(self, request: Request, deadline: float):  # noqa: ARG002
        step, self.step = self.step, (self.step + 1) % steps_of(self.kind)
        calls = [
            ToolCall(f"{request.sha256[:8]}{call['id']}", call["name"], json.loads(call["arguments"]))
            for call in calls_at(self.kind, step)
        ]
        finish = Finish.TOOL_CALLS if calls else Finish.STOP
        yield Reply((Text(REPLY), *calls), finish, Usage(1000, 100), self.name)


class Ours:
    def __init__(self, folder: Path, shape: Shape) -> None:
        self.loop = asyncio.new_event_loop()
        os.environ.pop("PRECEPTOR_DATABASE_URL", None)
        settings = Settings.load(
            data_dir=folder, tools=("benchmarks.turns:lookup",), guard_enabled=False, sgr_enabled=False
        )
        self.models = ModelRegistry(settings)
        self.models.add(self.models.default, InstantModel(shape.kind))
        self.opening = open_preceptor(settings, models=self.models)
        self.preceptor: Preceptor = self.loop.run_until_complete(self.opening.__aenter__())
        self.shape = shape
        self.order: list[str] = []
        self.loop.run_until_complete(self._agent(shape.kind))

    async def _agent(self, kind: str) -> None:
        permissions = ("delegate",) if kind == "delegation" else ()
        tools = ("lookup",) if kind == "tools" else ()
        await self.preceptor.agents.create(agent_id="bench", name="Bench", permissions=permissions, tools=tools)
        made = await self.preceptor.instructions.create(name="Bench", type="system", content={"systemPrompt": SYSTEM})
        await self.preceptor.assignments.assign(AgentId("bench"), instruction_id=made.instruction_id)

    def prepare(self, count: int) -> None:
        wanted = self.shape.conversations(count)
        conversations = [
            self.loop.run_until_complete(seeded(self.preceptor, self.shape.history)) for _ in range(wanted)
        ]
        self.order = self.shape.order(conversations, count)
        self.loop.run_until_complete(at_rest(self.preceptor))

    def run(self, count: int) -> None:  # noqa: ARG002 - as many as were prepared
        self.loop.run_until_complete(self._turns())

    async def _turns(self) -> None:
        at_once = self.shape.at_once
        for first in range(0, len(self.order), at_once):
            some = [self._say(one) for one in self.order[first : first + at_once]]
            await (some[0] if at_once == 1 else asyncio.gather(*some))

    async def _say(self, conversation: str) -> None:
        await self.preceptor.turns.say(ConversationId(conversation), [Text(USER)])

    def close(self) -> None:
        self.loop.run_until_complete(self.opening.__aexit__(None, None, None))
        self.loop.close()


@tool(effect="read")
async def lookup(number: int) -> str:  # noqa: ARG001
    """Look something up."""
    return FOUND


async def seeded(preceptor: Preceptor, history: int) -> ConversationId:
    """A conversation in which so much was said already."""
    started = await preceptor.conversations.start(agent_id="bench", parameters={"maxTokens": WINDOW})
    await fill(preceptor, started.conversation_id, history, _said)
    return started.conversation_id


def _said(place: int) -> Said:
    _, content = said(place)
    return Said(content, len(content) // 4)


class Case(NamedTuple):
    title: str
    shape: Shape
    rounds: int
    operations: int


CASES = (
    Case("W1 a turn after 20 messages", Shape(20, "turn"), 7, 40),
    Case("W1 a turn after 2,000 messages", Shape(2_000, "turn"), 5, 40),
    Case("W1 a turn after 20,000 messages", Shape(20_000, "turn"), 5, 40),
    Case("W1g a conversation of 200 turns", Shape(2, "turn", each=200), 3, 200),
    Case("W1c 32 conversations at once", Shape(20, "turn", at_once=32), 5, 192),
    Case("W2 ten tool calls", Shape(20, "tools"), 5, 10),
    Case("W2 a delegation and back", Shape(20, "delegation"), 5, 20),
)


def main(*only: str) -> Iterator[str]:
    """All cases, or those whose titles have one of these words in them; those at once on a slower disk as well."""
    if not PEERS:
        yield "PRECEPTOR_BENCH_PEERS names no Python that has the peers, so they are left out"
    wanted = [case for case in CASES if not only or any(word in case.title for word in only)]
    for case in wanted:
        yield from compared(case)
    with slower_disk() as slow:
        for case in wanted if slow else ():
            if case.shape.at_once > 1:
                yield from compared(case._replace(title=f"{case.title}, flush + {FLUSH / 1000:.0f} ms"))


def compared(case: Case) -> Iterator[str]:
    title, shape, rounds, count = case
    with tempfile.TemporaryDirectory(prefix="preceptor-peers-") as folder:
        peers = {name: peer(name, Path(folder), shape) for name in _peers_for(shape)}
        yield from (f"{name} is not there: {one.missing}" for name, one in peers.items() if one.missing)
        found = compare(
            {"bare": partial(Bare, shape=shape), "preceptor": partial(Ours, shape=shape)},
            rounds=rounds,
            count=count,
            elsewhere={name: one for name, one in peers.items() if not one.missing},
        )
    ours, bare = found.pop("preceptor"), found.pop("bare")
    yield (
        f"{title}: {ours.median('cpu') * 1e3:.2f} ms CPU, {ours.ratio(bare, 'cpu'):.1f}x the bare loop "
        f"({bare.median('cpu') * 1e3:.2f} ms); {ours.ratio(bare, 'wall'):.1f}x its time; "
        f"{ours.ratio(bare, 'written'):.1f}x its bytes"
    )
    for name, one in found.items():
        yield (
            f"  {name}: {one.median('cpu') * 1e3:.2f} ms, {one.ratio(ours, 'cpu'):.1f}x ours; "
            f"{one.ratio(ours, 'wall'):.1f}x our time; {one.ratio(ours, 'written'):.1f}x our bytes"
        )


def peer(name: str, folder: Path, shape: Shape) -> Elsewhere:
    home = folder / name
    home.mkdir()
    return Elsewhere([str(PEERS), "-m", "benchmarks.peers", name, str(home), json.dumps(shape)])


def _peers_for(shape: Shape) -> list[str]:
    """Those that can do it: agno delegates in teams, not within a turn, and makes a history only by talking."""
    if not PEERS or shape.history > MOST_FOR_PEERS:
        return []
    talks = shape.kind != "delegation" and shape.history <= 20 and shape.at_once == 1
    return [name for name in PEER_NAMES if name != "agno" or talks]


if __name__ == "__main__":
    for line in main(*sys.argv[1:]):
        print(line, flush=True)
