"""A process that takes turns, with a model behind a socket and tools of every kind, and dies where it is told to."""

import asyncio
import itertools
import os
import signal
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp

from preceptor import Preceptor, Settings, ToolRun, open_preceptor, tool
from preceptor.adapters.models.openai_compatible import OpenAICompatible
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.storage import faults
from preceptor.adapters.storage.faults import reach
from preceptor.adapters.storage.postgres import PostgresStore
from preceptor.adapters.storage.sqlite import SqliteStore
from preceptor.domain.errors import DiskFull, Unavailable
from preceptor.domain.history.strategy import WholeHistory
from preceptor.domain.ids import AgentId, ConversationId
from preceptor.domain.messages.message import Text
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.prompts.prompt import Ask, Prompt, Request
from preceptor.domain.prompts.reply import Delta, Reply
from preceptor.domain.reasoning.verdict import Judged
from preceptor.engine.conversations import Wanted
from preceptor.engine.means.queues import TurnInProgress
from preceptor.testing import FixedGuardian
from tests.durability.provider import Ledger
from tests.durability.worker import STORES, History

assert {SqliteStore, PostgresStore} == {*STORES}, "imported before the first fork"
assert aiohttp
MODEL = "openai-compatible:fake"
MOMENTS = ("model.before", "model.during", "model.after", "tool.before", "tool.after")
"""Where a process may die besides those around its commits."""
JUDGING = ("guard.before", "guard.after")
_ledger: list[Ledger] = []


@dataclass(frozen=True, slots=True)
class Order:
    """Take so many turns and die at the `nth` moment, counted from when what was left behind has ended, or from
    the very start; without one, finish and leave."""

    database: str
    folder: str
    model: str
    name: str = "process"
    nth: int = 0
    recovering: int = 0
    point: str = ""
    """Of which moments the nth is meant; of all if not said."""
    freeze: int = 0
    """Not die then, but stand still until someone wakes the process up."""
    patient: int = 1
    """Wait for what was left behind before anything else."""
    turns: int = 5
    lease: float = 30.0
    compress: int = 0
    """Have older messages summarised first."""
    reasoned: int = 0
    """Have everything judged by a guardian, and each turn planned; turns are short then."""
    runner: str = "inline"
    worker: int = 0
    """Carry out what waits in queues."""
    room: int = 16


def _act(kind: str, what: str, run: ToolRun) -> str:
    reach("tool.before")
    _ledger[0].write(did="effect", tool=kind, what=what, key=run.key)
    reach("tool.after")
    return f"{kind} {what}"


@tool(effect="read")
async def look(what: str, run: ToolRun) -> str:
    """Look at something."""
    return _act("look", what, run)


@tool(effect="idempotent")
async def put(what: str, run: ToolRun) -> str:
    """Put something somewhere; the same key puts it there once."""
    return _act("put", what, run)


@tool(effect="once")
async def send(what: str, run: ToolRun) -> str:
    """Send something to someone."""
    return _act("send", what, run)


TOOLS = [look, put, send]


@dataclass(frozen=True, slots=True)
class Mortal:
    """A model during whose calls the process may die."""

    inner: OpenAICompatible
    name: str = "fake"
    capabilities: Any = field(default=None)

    def render(self, prompt: Prompt, ask: Ask) -> Request:
        return self.inner.render(prompt, ask)

    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        reach("model.before")
        async for piece in self.inner.send(request, deadline):
            reach("model.after" if isinstance(piece, Reply) else "model.during")
            yield piece


class MortalGuardian(FixedGuardian):
    """Finds everything safe. The process may die while it is asked."""

    async def judge(self, text: str) -> Judged:
        reach("guard.before")
        _ledger[0].write(did="judged", text=text)
        judged = await super().judge(text)
        reach("guard.after")
        return judged


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(nth: int, point: str, seen: Counter[str], end: Callable[[], None] | None = None) -> None:
    moments = itertools.count(1)

    def hook(name: str) -> None:
        seen[name] += 1
        if name.startswith(point) and next(moments) == nth:
            (end or die)()

    faults.hook = hook


@asynccontextmanager
async def opening(order: Order) -> AsyncGenerator[Preceptor]:
    settings = Settings.load(
        data_dir=order.folder,
        database_url=order.database,
        admin_key="key",
        secret_key="s" * 32,
        model=MODEL,
        model_url=order.model,
        tools=["tests.durability.turning:TOOLS"],
        guard_enabled=bool(order.reasoned),
        guard_answers=True,
        guard_tool_results=True,
        sgr_enabled=bool(order.reasoned),
        runner=order.runner,
        worker_concurrency=order.room,
    )
    registry = ModelRegistry(settings)
    inner = registry.find(MODEL)
    assert isinstance(inner, OpenAICompatible)
    registry.add(MODEL, Mortal(inner, capabilities=inner.capabilities))
    means: Any = {"models": registry, "guardian": MortalGuardian() if order.reasoned else None}
    lease = timedelta(seconds=order.lease)
    try:
        async with open_preceptor(settings, lease=lease, worker=bool(order.worker), **means) as preceptor:
            yield preceptor
    finally:
        await registry.close()


async def work(order: Order) -> None:
    history = History(Path(order.folder, "history.jsonl"))
    async with opening(order) as preceptor:
        await preceptor.agents.change(AgentId("assistant"), tools=("look", "put", "send"))
        if order.patient:
            await left_behind(preceptor)
        if order.recovering:
            return

        def freeze() -> None:
            history.write(did="frozen", name=order.name, pid=os.getpid())
            os.kill(os.getpid(), signal.SIGSTOP)

        seen: Counter[str] = Counter()
        die_at(order.nth, order.point, seen, freeze if order.freeze else die)
        old = (await preceptor.conversations.page(Wanted(), limit=max(1, order.turns // 2))).items
        if order.compress:  # where most was said
            old = (await preceptor.conversations.page(Wanted(), limit=100)).items[::-1]
        known = [one.conversation_id for one in old]
        new = [(await preceptor.conversations.start(agent_id="assistant")).conversation_id for _ in range(order.turns)]
        places = [*known, *new][: order.turns]
        wanted = RequestParameters(compression_strategy=WholeHistory() if order.compress else None)
        name = f"short-{order.name}" if order.reasoned else order.name
        saying = (say(preceptor, history, f"{name}-{n}", place, wanted) for n, place in enumerate(places))
        await asyncio.gather(*saying)
        faults.hook = None
        await left_behind(preceptor)
        history.write(did="reached", moments=dict(seen))


async def left_behind(preceptor: Preceptor) -> None:
    """Until every turn that others left has ended."""
    while await preceptor.session.read(lambda work: work.turns.expired(far_away(work.now), "", 1)):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def far_away(now: Any) -> Any:
    return now + timedelta(days=1)


async def say(
    preceptor: Preceptor,
    history: History,
    name: str,
    place: ConversationId,
    parameters: RequestParameters | None = None,
) -> None:
    history.write(did="invoke", name=name, conversation=place)
    try:
        taken = await preceptor.turns.begin(place, [Text(f"go {name}")], parameters)
    except (Unavailable, DiskFull, TurnInProgress):
        return  # said nowhere, or someone else speaks there
    history.write(did="ok", name=name, conversation=place, turn=taken.turn_id)
    ended = await preceptor.turns.settled(taken)
    history.write(did="settled", turn=taken.turn_id, status=ended.status)


def setup(order: Order, ledger: Ledger | None = None) -> None:
    """Where this process's tools write down what they did."""
    _ledger[:] = [ledger or Ledger(Path(order.folder, "ledger.jsonl"))]


def carry_out(**order: Any) -> None:
    told = Order(**order)
    setup(told)
    if told.recovering:
        die_at(told.recovering, told.point, Counter())
    asyncio.run(work(told))
