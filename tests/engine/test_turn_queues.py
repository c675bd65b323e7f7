"""Messages that wait while another is answered: in order, not too many, and without a trace of who left."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from preceptor import Preceptor, open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.client import AsyncPreceptor
from preceptor.domain.ids import ConversationId
from preceptor.domain.messages.message import Text
from preceptor.domain.ownership import Role
from preceptor.domain.prompts.prompt import Request
from preceptor.domain.prompts.reply import Delta, Reply
from preceptor.domain.turns.audience import Audience
from preceptor.engine.means.queues import MOST, TurnInProgress
from preceptor.engine.messages import Which
from preceptor.surfaces.inward import Inward
from preceptor.testing import ScriptedModel
from tests.conftest import ADMIN_KEY, client_of
from tests.engine.test_turn_races import KEY, shape, started
from tests.engine.test_turn_streams import Reader
from tests.postgres import Cluster
from tests.requirements import covers
from tests.surfaces.helpers import app_of, bearer, insert_key
from tests.talking import settings_in

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
Sending = asyncio.Task[httpx2.Response]


@dataclass
class Paced(ScriptedModel):
    """A model that gives one answer for each time that it is let."""

    let: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        await self.let.acquire()
        async for piece in super().send(request, deadline):
            yield piece

    def answer(self, count: int = 1) -> None:
        for _ in range(count):
            self.let.release()


@dataclass
class Place:
    """One conversation, in which someone is being answered."""

    preceptor: Preceptor
    client: httpx2.AsyncClient
    model: Paced
    id: str

    @property
    def path(self) -> str:
        return f"/api/conversations/{self.id}/messages"

    def send(self, text: str, *, queue: bool = True, headers: dict[str, str] | None = None, **more: Any) -> Sending:
        said = {"content": text, "queue": queue} | more
        return asyncio.create_task(self.client.post(self.path, json=said, headers=headers))

    async def line_up(self, *texts: str) -> list[Sending]:
        """One after the other, each when the one before stands in the queue."""
        before, sending = self.waiting, list[Sending]()
        for text in texts:
            sending.append(self.send(text))
            before += 1
            await self.until(lambda wanted=before: self.waiting == wanted)
        return sending

    @property
    def waiting(self) -> int:
        queues = self.preceptor.session.means.queues.kept.values()
        return sum(queue.waiting for queue in queues)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not holds():  # noqa: ASYNC110 - whoever waits does not say so to anyone
                await asyncio.sleep(0.001)

    async def asked(self) -> list[str]:
        listed = (await self.client.get(self.path, params={"limit": 200})).json()["items"]
        return [one["parts"][0]["text"] for one in listed if one["role"] == "user"]


@asynccontextmanager
async def speaking(folder: Path, database: str | None, first: str = "First.") -> AsyncGenerator[tuple[Place, Sending]]:
    """A conversation whose first message is being answered."""
    settings = settings_in(folder, None if database is None or database.startswith("sqlite") else database)
    registry, model = ModelRegistry(settings), Paced(lambda _: "Yes.")
    registry.add("local", model)
    async with open_preceptor(settings, models=registry) as preceptor, client_of(preceptor) as client:
        place = Place(preceptor, client, model, await started(client))
        begun = place.send(first)
        await place.until(lambda: bool(preceptor.session.means.running))
        yield place, begun
        assert preceptor.session.means.queues.kept == {}


@covers("F15")
async def test_messages_wait_in_the_order_in_which_they_came_and_the_ninth_is_refused(
    tmp_path: Path, database_url: str
):
    async with speaking(tmp_path, database_url) as (place, first):
        texts = [f"Message {number}." for number in range(MOST)]
        sending = await place.line_up(*texts)
        for queue in (True, False):
            refused = await place.send("Too many.", queue=queue)
            assert shape(refused) == (409, "turn_in_progress")
            assert "/api/turns/" in refused.json()["detail"]
        assert await place.asked() == ["First."]
        place.model.answer(MOST + 1)
        answers = [await one for one in (first, *sending)]
        assert [answer.status_code for answer in answers] == [200] * (MOST + 1)
        assert [answer.json()["status"] for answer in answers] == ["completed"] * (MOST + 1)
        assert await place.asked() == ["First.", *texts]
        assert len({answer.json()["turnId"] for answer in answers}) == MOST + 1


@covers("F15")
async def test_of_sixteen_at_once_one_is_taken_eight_wait_and_none_of_them_is_lost(tmp_path: Path, database_url: str):
    async with speaking(tmp_path, database_url) as (place, first):
        place.model.answer()
        await first
        for _ in range(200 if NIGHTLY else 5):
            place.id = await started(place.client)
            sending = {place.send(f"Message {number}."): f"Message {number}." for number in range(16)}
            early = [await done for _, done in zip(range(7), asyncio.as_completed(sending), strict=False)]
            assert Counter(map(shape, early)) == {(409, "turn_in_progress"): 7}
            place.model.answer(9)
            taken = [text for task, text in sending.items() if (await task).status_code == 200]
            assert sorted(await place.asked()) == sorted(taken)
            assert len(taken) == 9


async def test_who_begins_to_wait_first_is_taken_first_whoever_asks_how_often(tmp_path: Path, database_url: str):
    async with speaking(tmp_path, database_url) as (place, first):
        turns, conversation = place.preceptor.turns, ConversationId(place.id)
        texts = [f"Message {number}." for number in range(MOST)]
        saying = [asyncio.create_task(turns.say(conversation, [Text(text)], queue=True)) for text in texts]
        await place.until(lambda: place.waiting == MOST)
        refusals = 0

        async def push_in() -> None:
            nonlocal refusals
            while True:
                try:
                    await turns.say(conversation, [Text("Me!")])
                except TurnInProgress:
                    refusals += 1
                    await asyncio.sleep(0)
                else:
                    return

        pushing = asyncio.create_task(push_in())
        place.model.answer(MOST + 2)
        await asyncio.gather(first, pushing, *saying)
        assert await place.asked() == ["First.", *texts, "Me!"]
        assert refusals


async def test_without_anyone_before_it_a_message_does_not_wait(tmp_path: Path, database_url: str):
    async with speaking(tmp_path, database_url) as (place, first):
        place.model.answer(2)
        assert (await first).status_code == 200
        answer = await place.preceptor.conversations.say("Second.", conversation=place.id, queue=True)
        assert answer.response == "Yes."


@covers("F14")
async def test_a_key_that_waits_is_in_progress_and_is_answered_again_afterwards(tmp_path: Path, database_url: str):
    async with speaking(tmp_path, database_url) as (place, first):
        key = {KEY: "one"}
        await place.line_up("Before.")
        waiting = place.send("Once.", headers=key)
        await place.until(lambda: place.waiting == 2)
        assert shape(await place.send("Once.", headers=key)) == (409, "idempotency_in_progress")
        assert shape(await place.send("Another.", headers=key)) == (422, "idempotency_mismatch")
        place.model.answer(3)
        told = await waiting
        again = await place.send("Once.", headers=key)
        assert (again.content, again.headers["idempotent-replayed"]) == (told.content, "true")
        await first
        begun = place.send("Still going.")
        await place.until(lambda: bool(place.preceptor.session.means.running))
        [later] = await place.line_up("Behind.")
        again = await place.send("Once.", headers=key)
        assert (again.content, again.headers["idempotent-replayed"]) == (told.content, "true")
        place.model.answer(2)
        await asyncio.gather(begun, later)
        assert (await place.asked()).count("Once.") == 1


@covers("F18")
async def test_who_leaves_while_waiting_leaves_nothing_behind(tmp_path: Path, database_url: str):
    async with speaking(tmp_path, database_url) as (place, first):
        [before] = await place.line_up("Before.")
        body = b'{"content":"Gone.","queue":true}'
        for accept in ("application/json", "text/event-stream"):
            reader = Reader(app_of(place.client), "POST", place.path, body, accept=accept)
            leaving = asyncio.create_task(reader.read(lambda _: False))
            await place.until(lambda: place.waiting == 2)
            reader.leave()
            await leaving
            assert place.waiting == 1
        cancelled = asyncio.create_task(place.preceptor.conversations.say("Gone.", conversation=place.id, queue=True))
        await place.until(lambda: place.waiting == 2)
        cancelled.cancel()
        await asyncio.wait({cancelled})
        [after] = await place.line_up("After.")
        place.model.answer(3)
        await asyncio.gather(first, before, after)
        assert await place.asked() == ["First.", "Before.", "After."]


@covers("F20")
async def test_when_the_server_stops_those_who_wait_are_told_and_nothing_is_kept_of_them(
    tmp_path: Path, database_url: str
):
    async with speaking(tmp_path, database_url) as (place, first):
        [waiting] = await place.line_up("Not now.")
        app_of(place.client).state.streams.stopping.set()
        assert shape(await waiting) == (503, "shutting_down")
        place.model.answer()
        await first
        said = await place.preceptor.messages.page(ConversationId(place.id), Which.ALL, Audience.USER, None, 50)
        assert [one.text for one in said["items"]] == ["First.", "Yes."]


async def test_in_the_background_it_is_accepted_once_it_is_its_turn(tmp_path: Path, database_url: str):
    async with speaking(tmp_path, database_url) as (place, first):
        waiting = place.send("Later.", background=True)
        await place.until(lambda: place.waiting == 1)
        assert await place.asked() == ["First."]
        place.model.answer()
        accepted = await waiting
        assert (accepted.status_code, (await first).status_code) == (202, 200)
        assert await place.asked() == ["First.", "Later."]
        place.model.answer()
        turn_id = accepted.json()["turnId"]
        handle = place.preceptor.session.means.running[turn_id]
        await handle.wait()
        assert (await place.client.get(f"/api/turns/{turn_id}")).json()["status"] == "completed"


async def test_a_turn_that_is_stopped_makes_way_for_who_waits(tmp_path: Path, database_url: str):
    async with speaking(tmp_path, database_url) as (place, first):
        [waiting] = await place.line_up("Me.")
        await place.client.post(f"/api/conversations/{place.id}/cancel")
        place.model.answer()
        assert [(await one).json()["status"] for one in (first, waiting)] == ["cancelled", "completed"]


async def test_an_edit_can_wait_as_well(tmp_path: Path):
    async with speaking(tmp_path, None) as (place, first):
        place.model.answer()
        question = (await first).json() and (await place.client.get(place.path)).json()["items"][0]["id"]
        begun = place.send("Second.")
        await place.until(lambda: bool(place.preceptor.session.means.running))
        edited = {"messageId": question, "content": "Edited.", "queue": True}
        path = f"/api/conversations/{place.id}/edit"
        waiting = asyncio.create_task(place.client.post(path, json=edited))
        await place.until(lambda: place.waiting == 1)
        place.model.answer(2)
        assert [(await one).status_code for one in (begun, waiting)] == [200, 200]


async def test_an_answer_that_is_given_again_can_wait_as_well(tmp_path: Path):
    async with speaking(tmp_path, None) as (place, first):
        path = f"/api/conversations/{place.id}/regenerate"
        assert shape(await place.client.post(path, json={})) == (409, "turn_in_progress")
        waiting = asyncio.create_task(place.client.post(path, json={"queue": True}))
        await place.until(lambda: place.waiting == 1)
        place.model.answer(2)
        answers = [(await one).json() for one in (first, waiting)]
        assert [one["status"] for one in answers] == ["completed", "completed"]
        assert await place.asked() == ["First."]
        assert len({one["message"]["id"] for one in answers}) == 2


async def test_a_message_of_an_mcp_client_can_wait_as_well(tmp_path: Path):
    async with speaking(tmp_path, None) as (place, first):

        def call(**more: Any) -> Sending:
            given = {"message": "Second.", "conversation_id": place.id} | more
            params = {"name": "send_message", "arguments": given}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            return asyncio.create_task(place.client.post("/mcp", json=body))

        refused = (await call()).json()["result"]
        assert (refused["isError"], refused["structuredContent"]["code"]) == (True, "turn_in_progress")
        waiting = call(queue=True)
        await place.until(lambda: place.waiting == 1)
        place.model.answer(2)
        await first
        assert (await waiting).json()["result"]["structuredContent"]["status"] == "completed"
        assert await place.asked() == ["First.", "Second."]


@covers("S1")
async def test_nobody_waits_in_a_conversation_that_is_not_theirs(tmp_path: Path, database_url: str):
    async with speaking(tmp_path, database_url) as (place, first):
        [waiting] = await place.line_up("Mine.")
        viewer = bearer(await insert_key(place.preceptor, user="eve", role=Role.VIEWER))
        for queue in (True, False):
            assert shape(await place.send("Whose?", queue=queue, headers=viewer)) == (404, "not_found")
        place.model.answer(2)
        await asyncio.gather(first, waiting)


async def test_the_client_library_waits_too(tmp_path: Path):
    async with speaking(tmp_path, None) as (place, first):
        transport = Inward(app_of(place.client))
        async with AsyncPreceptor("http://127.0.0.1", key=ADMIN_KEY, transport=transport) as client:
            saying = asyncio.create_task(client.say("Second.", conversation=place.id, queue=True))
            await place.until(lambda: place.waiting == 1)
            place.model.answer(2)
            assert ((await first).status_code, (await saying).status) == (200, "completed")


@covers("F15")
async def test_a_message_waits_for_a_turn_of_another_process(tmp_path: Path, postgres: Cluster, postgres_template: str):
    database = postgres.new_database(template=postgres_template)
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    async with (
        speaking(tmp_path / "here", database) as (here, first),
        speaking(tmp_path / "there", database) as (there, other),
    ):
        there.model.answer()
        await other
        there.id = here.id
        sending = await there.line_up("One.", "Two.")
        here.model.answer()
        there.model.answer(2)
        assert [(await one).status_code for one in (first, *sending)] == [200] * 3
        assert await there.asked() == ["First.", "One.", "Two."]
    postgres.drop(database)


@pytest.mark.parametrize("queue", ["yes", 1, None])
async def test_only_a_truth_value_says_whether_to_wait(tmp_path: Path, queue: Any):
    async with speaking(tmp_path, None) as (place, first):
        refused = await place.client.post(place.path, json={"content": "Hm.", "queue": queue})
        assert shape(refused) == (422, "invalid")
        place.model.answer()
        await first
