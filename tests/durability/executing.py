"""A process that carries out executions, with real turns in them, and dies where it is told to."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from preceptor import Preceptor
from preceptor.adapters.storage import faults
from preceptor.domain.ids import AgentId, TaskId
from tests.durability.turning import Order, die_at, far_away, left_behind, opening, setup
from tests.durability.worker import History

AGENT = {"type": "agent", "id": "assistant"}
LOAD = {"type": "agent.loadInstructions", "resource": AGENT}
HERE = {"$from": {"step": 1, "path": "conversationId"}}


def steps(name: str) -> list[dict[str, Any]]:
    """Load, talk with tools of every effect, tidy up; and something beside that."""
    talk = {"type": "agent.execute", "resource": AGENT, "data": {"userMessage": f"go {name}"}}
    tidy = {"intermediate": True, "strategy": "drop"}
    compact = {"type": "conversation.compact", "resource": {"type": "conversation", "id": HERE}, "data": tidy}
    return [
        {"index": 0, "name": "load", "command": LOAD},
        {"index": 1, "name": "talk", "command": talk, "dependsOn": [0]},
        {"index": 2, "name": "tidy", "command": compact, "dependsOn": [1]},
        {"index": 3, "name": "beside", "command": LOAD},
    ]


async def work(order: Order) -> None:
    history = History(Path(order.folder, "history.jsonl"))
    async with opening(order) as preceptor:
        await preceptor.agents.change(AgentId("assistant"), tools=("look", "put", "send"))
        await nothing_left(preceptor)
        if order.recovering:
            return
        seen: Counter[str] = Counter()
        die_at(order.nth, order.point, seen)
        await asyncio.gather(*(carry(preceptor, history, f"{order.name}-{n}") for n in range(order.turns)))
        faults.hook = None
        await nothing_left(preceptor)
        history.write(did="reached", moments=dict(seen))


async def nothing_left(preceptor: Preceptor) -> None:
    """Until every execution and every turn that others left has ended."""
    while await preceptor.session.read(lambda work: work.tasks.expired(far_away(work.now), "", 1)):  # noqa: ASYNC110
        await asyncio.sleep(0.002)
    await left_behind(preceptor)


async def carry(preceptor: Preceptor, history: History, name: str) -> None:
    history.write(did="invoke", name=name)
    accepted = await preceptor.executions.create(steps=steps(name))
    history.write(did="accepted", name=name, execution=accepted.execution_id)
    await preceptor.tasks.settled(TaskId(accepted.execution_id))
    history.write(did="ended", execution=accepted.execution_id)


def carry_out(**order: Any) -> None:
    told = Order(**order)
    setup(told)
    if told.recovering:
        die_at(told.recovering, told.point, Counter())
    asyncio.run(work(told))
