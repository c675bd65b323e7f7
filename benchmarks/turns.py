"""W1 and W2: whole turns, against the shortest code that does the same durable work with `sqlite3`.

- `bare`: a hand-written loop: read the window by running sums, call the model, append; one commit per step.
- `preceptor`: the same turn, with its manifest, chained log, pins, lease and accounting.

The model is scripted in process, so that only what a framework adds is measured.
"""

import asyncio
import itertools
import json
import os
import random
import sqlite3
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.interleaved import compare
from preceptor import Preceptor, Settings, open_preceptor, tool
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.domain.ids import ConversationId, MessageId, StreamId, TurnId
from preceptor.domain.log import NewEvent
from preceptor.domain.messages.message import Kind, Message, Role, Text, ToolCall, encode
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Ask, Prompt, Request
from preceptor.domain.prompts.reply import Finish, Reply, Usage
from preceptor.engine.ports import Work
from preceptor.engine.talk import MessagePlace
from preceptor.wire.openai_chat import render

WINDOW = 8000
TOOL_CALLS = 10
WORDS = ("order", "refund", "account", "invoice", "delivery", "question", "answer", "policy", "customer", "agent")


def text(seed: int, length: int) -> str:
    rng = random.Random(seed)
    words = itertools.chain.from_iterable(rng.sample(WORDS, len(WORDS)) for _ in itertools.count())
    said = ""
    while len(said) < length:
        said += next(words) + " "
    return said[:length]


SYSTEM, USER, REPLY, FOUND = text(1, 800), text(2, 200), text(3, 600), text(4, 400)


def said(place: int) -> tuple[str, str]:
    role = "user" if place % 2 else "assistant"
    return role, text(place % 50, 200 if place % 2 else 600)


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
        for step in range(_steps(self.kind)):
            calls = _calls(self.kind, step)
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


def _steps(kind: str) -> int:
    return {"turn": 1, "tools": TOOL_CALLS + 1, "delegation": 3}[kind]


def _calls(kind: str, step: int) -> list[dict[str, str]]:
    if kind == "tools" and step < TOOL_CALLS:
        return [{"id": f"c{step}", "name": "lookup", "arguments": f'{{"number": {step}}}'}]
    if kind == "delegation" and step == 0:
        return [{"id": "d", "name": "delegate_internal_reasoning", "arguments": '{"agent_prompt": "You check."}'}]
    if kind == "delegation" and step == 1:
        return [{"id": "r", "name": "return_control", "arguments": "{}"}]
    return []


class InstantModel:
    """Answers at once, from the number of messages that the turn has added."""

    name = "instant"
    capabilities = Capabilities(context_window=1_000_000)

    def __init__(self, kind: str) -> None:
        self.kind, self.step = kind, 0

    def render(self, prompt: Prompt, ask: Ask) -> Request:
        return render(prompt, ask)

    async def send(self, request: Request, deadline: float):  # noqa: ARG002
        step, self.step = self.step, (self.step + 1) % _steps(self.kind)
        calls = [
            ToolCall(f"{request.sha256[:8]}{call['id']}", call["name"], json.loads(call["arguments"]))
            for call in _calls(self.kind, step)
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
    conversation = await preceptor.conversations.start(agent_id="bench", parameters={"maxTokens": WINDOW})
    world, conversation_id = preceptor.session.world, conversation.conversation_id

    async def program(work: Work) -> None:
        places = range(1, history + 1)
        messages = [_message(conversation_id, MessageId(world.new_id()), place, work) for place in places]
        events = await work.log.append(
            StreamId(conversation_id), [NewEvent("message.completed", encode(message).decode()) for message in messages]
        )
        sums = itertools.accumulate(message.tokens for message in messages)
        rows = [
            (MessagePlace(place, event.seq, cum), message)
            for place, (event, cum, message) in enumerate(zip(events, sums, messages, strict=True), 1)
        ]
        await work.messages.add(conversation_id, rows)

    if history:
        await preceptor.session.write(program)
    return conversation_id


def _message(conversation_id: ConversationId, message_id: MessageId, place: int, work: Work) -> Message:
    role, content = said(place)
    return Message(
        id=message_id,
        conversation_id=conversation_id,
        turn_id=TurnId("before"),
        role=Role(role),
        kind=Kind.MESSAGE,
        parts=(Text(content),),
        instructions=(),
        tokens=len(content) // 4,
        created_at=work.now,
    )


def main() -> list[str]:
    lines = []
    for title, history, kind, rounds, count in (
        ("W1 a turn after 20 messages", 20, "turn", 7, 40),
        ("W1 a turn after 2,000 messages", 2_000, "turn", 5, 40),
        ("W1 a turn after 20,000 messages", 20_000, "turn", 5, 40),
        ("W2 ten tool calls", 20, "tools", 5, 10),
        ("W2 a delegation and back", 20, "delegation", 5, 20),
    ):
        found = compare(
            {"bare": partial(Bare, history=history, kind=kind), "preceptor": partial(Ours, history=history, kind=kind)},
            rounds=rounds,
            count=count,
        )
        ours, bare = found["preceptor"], found["bare"]
        lines.append(
            f"{title}: {ours.median('cpu') * 1e3:.2f} ms CPU, {ours.ratio(bare, 'cpu'):.1f}x the bare loop "
            f"({bare.median('cpu') * 1e3:.2f} ms); {ours.ratio(bare, 'written'):.1f}x its bytes"
        )
    return lines


if __name__ == "__main__":
    print("\n".join(main()))
