"""W1 and W2: whole turns, against the shortest code that does the same durable work with `sqlite3`.

- `bare`: a hand-written loop: read the window by running sums, call the model, append; one commit per step.
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
from typing import Any

from benchmarks.interleaved import Elsewhere, compare
from benchmarks.said import FOUND, REPLY, SYSTEM, USER, WINDOW, calls_at, said, steps_of
from benchmarks.seeding import Said, fill
from preceptor import Preceptor, Settings, open_preceptor, tool
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.domain.ids import ConversationId
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

    def __init__(self, folder: Path, history: int, kind: str) -> None:
        self.db = sqlite3.connect(folder / "bare.db", isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        self.db.execute(
            "CREATE TABLE msg(conv INTEGER, seq INTEGER, role TEXT, body TEXT, tokens INTEGER, cum INTEGER, at REAL,"
            " PRIMARY KEY(conv, seq)) WITHOUT ROWID"
        )
        self.db.execute("CREATE INDEX msg_cum ON msg(conv, cum)")
        self.history, self.kind, self.conv = history, kind, 0
        self.order: list[int] = []

    def _seed(self) -> int:
        self.conv += 1
        rows, cum = [], 0
        for place in range(1, self.history + 1):
            role, content = said(place)
            cum += len(content) // 4
            body = json.dumps({"role": role, "content": content})
            rows.append((self.conv, place, role, body, len(content) // 4, cum, 0.0))
        self.db.execute("BEGIN")
        self.db.executemany("INSERT INTO msg VALUES(?,?,?,?,?,?,?)", rows)
        self.db.execute("COMMIT")
        return self.conv

    def prepare(self, count: int) -> None:
        each = max(1, self.history // 20)
        conversations = [self._seed() for _ in range(-(-count // each))]
        self.order = [conversation for conversation in conversations for _ in range(each)][:count]

    def run(self, count: int) -> None:  # noqa: ARG002 - as many as were prepared
        for conversation in self.order:
            self._turn(conversation)

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
        for step in range(steps_of(self.kind)):
            calls = calls_at(self.kind, step)
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
    """Answers at once, from the number of messages that the turn has added."""

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
    def __init__(self, folder: Path, history: int, kind: str) -> None:
        self.loop = asyncio.new_event_loop()
        os.environ.pop("PRECEPTOR_DATABASE_URL", None)
        settings = Settings.load(
            data_dir=folder, tools=("benchmarks.turns:lookup",), guard_enabled=False, sgr_enabled=False
        )
        self.models = ModelRegistry(settings)
        self.models.add(self.models.default, InstantModel(kind))
        self.opening = open_preceptor(settings, models=self.models)
        self.preceptor: Preceptor = self.loop.run_until_complete(self.opening.__aenter__())
        self.history = history
        self.order: list[ConversationId] = []
        self.loop.run_until_complete(self._agent(kind))

    async def _agent(self, kind: str) -> None:
        permissions = ("delegate",) if kind == "delegation" else ()
        tools = ("lookup",) if kind == "tools" else ()
        await self.preceptor.agents.create(agent_id="bench", name="Bench", permissions=permissions, tools=tools)
        made = await self.preceptor.instructions.create(name="Bench", type="system", content={"systemPrompt": SYSTEM})
        await self.preceptor.assignments.assign("bench", instruction_id=made.instruction_id)

    def prepare(self, count: int) -> None:
        each = max(1, self.history // 20)
        conversations = [
            self.loop.run_until_complete(seeded(self.preceptor, self.history)) for _ in range(-(-count // each))
        ]
        self.order = [conversation for conversation in conversations for _ in range(each)][:count]

    def run(self, count: int) -> None:  # noqa: ARG002 - as many as were prepared
        self.loop.run_until_complete(self._turns())

    async def _turns(self) -> None:
        for conversation in self.order:
            await self.preceptor.turns.say(conversation, [Text(USER)])

    def close(self) -> None:
        self.loop.run_until_complete(self.opening.__aexit__(None, None, None))
        self.loop.close()


@tool(effect="read")
def lookup(number: int) -> str:  # noqa: ARG001
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


CASES = (
    ("W1 a turn after 20 messages", 20, "turn", 7, 40),
    ("W1 a turn after 2,000 messages", 2_000, "turn", 5, 40),
    ("W1 a turn after 20,000 messages", 20_000, "turn", 5, 40),
    ("W2 ten tool calls", 20, "tools", 5, 10),
    ("W2 a delegation and back", 20, "delegation", 5, 20),
)


def main(*only: str) -> Iterator[str]:
    """All cases, or those whose titles have one of these words in them."""
    if not PEERS:
        yield "PRECEPTOR_BENCH_PEERS names no Python that has the peers, so they are left out"
    for title, history, kind, rounds, count in CASES:
        if only and not any(word in title for word in only):
            continue
        with tempfile.TemporaryDirectory(prefix="preceptor-peers-") as folder:
            peers = {name: peer(name, Path(folder), history, kind) for name in _peers_for(history, kind)}
            yield from (f"{name} is not there: {one.missing}" for name, one in peers.items() if one.missing)
            found = compare(
                {
                    "bare": partial(Bare, history=history, kind=kind),
                    "preceptor": partial(Ours, history=history, kind=kind),
                },
                rounds=rounds,
                count=count,
                elsewhere={name: one for name, one in peers.items() if not one.missing},
            )
        ours, bare = found.pop("preceptor"), found.pop("bare")
        yield (
            f"{title}: {ours.median('cpu') * 1e3:.2f} ms CPU, {ours.ratio(bare, 'cpu'):.1f}x the bare loop "
            f"({bare.median('cpu') * 1e3:.2f} ms); {ours.ratio(bare, 'written'):.1f}x its bytes"
        )
        for name, one in found.items():
            yield (
                f"  {name}: {one.median('cpu') * 1e3:.2f} ms, {one.ratio(ours, 'cpu'):.1f}x ours; "
                f"{one.ratio(ours, 'written'):.1f}x our bytes"
            )


def peer(name: str, folder: Path, history: int, kind: str) -> Elsewhere:
    home = folder / name
    home.mkdir()
    return Elsewhere([str(PEERS), "-m", "benchmarks.peers", name, str(home), str(history), kind])


def _peers_for(history: int, kind: str) -> list[str]:
    """Those that can do it: agno delegates in teams, not within a turn, and makes a history only by talking."""
    if not PEERS or history > MOST_FOR_PEERS:
        return []
    return [name for name in PEER_NAMES if name != "agno" or (kind != "delegation" and history <= 20)]


if __name__ == "__main__":
    for line in main(*sys.argv[1:]):
        print(line, flush=True)
