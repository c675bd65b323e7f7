"""Many at once: the same message again, several messages to one conversation, and stopping in the middle."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from preceptor import Preceptor, open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.storage import faults
from preceptor.domain.ids import AgentId
from preceptor.domain.messages.message import Text
from preceptor.domain.prompts.prompt import Request
from preceptor.domain.prompts.reply import Delta, Reply
from preceptor.domain.turns.facts import TurnStatus
from preceptor.testing import ScriptedModel
from tests.conftest import client_of, new_sqlite
from tests.durability.checker import lines
from tests.durability.provider import provider
from tests.durability.turn_checker import check_turns
from tests.durability.turning import Order, die_at, opening, setup
from tests.durability.worker import History
from tests.requirements import covers
from tests.talking import settings_in

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
KEY = "Idempotency-Key"


@dataclass
class Held(ScriptedModel):
    """A model that answers when it is let."""

    let: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        await self.let.wait()
        async for piece in super().send(request, deadline):
            yield piece


@asynccontextmanager
async def served(
    folder: Path, database: str | None, model: Held
) -> AsyncGenerator[tuple[Preceptor, httpx2.AsyncClient]]:
    settings = settings_in(folder, database)
    registry = ModelRegistry(settings)
    registry.add("local", model)
    async with open_preceptor(settings, models=registry) as preceptor, client_of(preceptor) as client:
        yield preceptor, client


async def started(client: httpx2.AsyncClient) -> str:
    answer = await client.post("/api/conversations", json={"agentId": "assistant"})
    return answer.json()["conversationId"]


def shape(answer: httpx2.Response) -> tuple[int, str | None]:
    return answer.status_code, answer.json().get("code")


@covers("F14")
async def test_the_same_message_sent_fifty_times_at_once_is_one_turn_and_one_call(database_url: str, tmp_path: Path):
    model = Held(lambda _: "Once.")
    database = None if database_url.startswith("sqlite") else database_url
    async with served(tmp_path, database, model) as (_, client):
        for round_number in range(40 if NIGHTLY else 4):
            path = f"/api/conversations/{await started(client)}/messages"
            asked = len(model.prompts)
            model.let.clear()

            def send(number: int = round_number, path: str = path) -> Any:
                return client.post(path, json={"content": "Hello."}, headers={KEY: f"key-{number}"})

            sending = [asyncio.create_task(send()) for _ in range(50)]
            for _, done in zip(range(49), asyncio.as_completed(sending), strict=False):
                assert shape(await done) == (409, "idempotency_in_progress")
            model.let.set()
            [told] = [answer for answer in await asyncio.gather(*sending) if answer.status_code == 200]
            again = [await send() for _ in range(3)]
            assert {answer.content for answer in again} == {told.content}
            assert {answer.headers["idempotent-replayed"] for answer in again} == {"true"}
            other = await client.post(path, json={"content": "Bye."}, headers={KEY: f"key-{round_number}"})
            assert shape(other) == (422, "idempotency_mismatch")
            assert len(model.prompts) == asked + 1
            listed = (await client.get(path)).json()["items"]
            assert [message["role"] for message in listed] == ["user", "assistant"]


@covers("F15")
async def test_of_sixteen_messages_at_once_one_is_taken_and_the_others_are_told_so(database_url: str, tmp_path: Path):
    model = Held(lambda _: "Here.")
    database = None if database_url.startswith("sqlite") else database_url
    async with served(tmp_path, database, model) as (_, client):
        for _ in range(200 if NIGHTLY else 5):
            model.let.clear()
            places = [await started(client) for _ in range(2)]
            rushes = await asyncio.gather(*(rush(client, place) for place in places))
            model.let.set()
            for place, sending in zip(places, rushes, strict=True):
                await one_taken(client, place, sending)


Sending = dict["asyncio.Task[httpx2.Response]", int]


async def rush(client: httpx2.AsyncClient, place: str) -> Sending:
    """Sixteen at once, of whom all but one were refused before any is answered."""
    path = f"/api/conversations/{place}/messages"
    sending = {asyncio.create_task(client.post(path, json={"content": f"Message {n}."})): n for n in range(16)}
    refused = [await done for _, done in zip(range(15), asyncio.as_completed(sending), strict=False)]
    assert Counter(map(shape, refused)) == {(409, "turn_in_progress"): 15}
    assert all("/api/turns/" in answer.text for answer in refused)
    return sending


async def one_taken(client: httpx2.AsyncClient, place: str, sending: Sending) -> None:
    path = f"/api/conversations/{place}/messages"
    [(taken, number)] = [(task.result(), n) for task, n in sending.items() if (await task).status_code == 200]
    listed = (await client.get(path)).json()["items"]
    assert [message["parts"][0]["text"] for message in listed] == [f"Message {number}.", "Here."]
    assert taken.json()["status"] == "completed"


@covers("F20")
async def test_a_turn_can_be_stopped_at_any_moment_and_does_nothing_after_it_was(tmp_path: Path):
    path = tmp_path / "preceptor.db"
    path.write_bytes(new_sqlite())
    history = History(tmp_path / "history.jsonl")
    with provider(tmp_path / "ledger.jsonl") as url:
        order = Order(f"sqlite:///{path}", str(tmp_path), url)
        setup(order)
        async with opening(order) as preceptor:
            await preceptor.agents.change(AgentId("assistant"), tools=("look", "put", "send"))
            last = sum((await stopped_at(preceptor, history, 0)).values())
            for nth in range(1, last, 1 if NIGHTLY else 4):
                await stopped_at(preceptor, history, nth)
    found = check_turns(order.database, tmp_path)
    assert found.statuses["cancelled"] > found.turns // 3
    assert found.statuses["failed"] == 0
    told = {line["turn"]: line["at"] for line in lines(tmp_path / "history.jsonl") if line["did"] == "stopped"}
    late = [
        line
        for line in lines(tmp_path / "ledger.jsonl")
        if line["did"] == "effect" and line["at"] > told.get(line["key"].partition(":")[0], line["at"])
    ]
    assert late == []


async def stopped_at(preceptor: Preceptor, history: History, nth: int) -> Counter[str]:
    """Take a turn and stop it at its nth moment."""
    seen: Counter[str] = Counter()
    now = asyncio.Event()
    start = await preceptor.conversations.start(agent_id="assistant")
    name, place = f"turn {nth}", start.conversation_id
    history.write(did="invoke", name=name, conversation=place)
    die_at(nth, "", seen, now.set)
    taken = await preceptor.turns.begin(place, [Text(f"go {name}")])
    history.write(did="ok", name=name, conversation=place, turn=taken.turn_id)
    ending = asyncio.create_task(preceptor.turns.settled(taken))
    waiting = asyncio.create_task(now.wait())
    await asyncio.wait({ending, waiting}, return_when=asyncio.FIRST_COMPLETED)
    faults.hook = None
    if now.is_set():
        async with asyncio.timeout(20):
            ended = (await preceptor.turns.cancel(place)).ended
        assert ended is not None
        history.write(did="stopped", turn=taken.turn_id, at=microseconds())
        assert ended.status in {TurnStatus.CANCELLED, TurnStatus.COMPLETED}
        assert ended == await ending
        again = await preceptor.turns.say(place, [Text(f"go {name} again")])
        history.write(did="invoke", name=f"{name} again", conversation=place)
        assert again.status is TurnStatus.COMPLETED
    waiting.cancel()
    await asyncio.wait({ending, waiting})
    return seen


def microseconds() -> int:
    return time.time_ns() // 1000
