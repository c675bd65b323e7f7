"""How many turns are taken at once, and how organisations share them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.domain.ids import OrgId, TurnId
from preceptor.domain.messages.message import Text
from preceptor.engine.means.places import Places, TooManyTurns
from preceptor.testing import ScriptedModel
from tests.conftest import client_of, only
from tests.requirements import covers
from tests.surfaces.helpers import new_org, problem

ANSWER = "Here."
AGENT = {"agentId": "assistant", "name": "Assistant"}


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """Places are counted in the process: one kind of database is enough."""
    return f"sqlite:///{tmp_path / 'preceptor.db'}"


class Patient(ScriptedModel):
    """Answers nobody before it is told to."""

    def __init__(self) -> None:
        super().__init__(lambda _: ANSWER)
        self.told = asyncio.Event()

    async def send(self, *asked: object):  # pyright: ignore[reportIncompatibleMethodOverride]
        await self.told.wait()
        async for piece in super().send(*asked):  # pyright: ignore[reportArgumentType]
            yield piece


@asynccontextmanager
async def crowded(settings: Settings, most: int) -> AsyncGenerator[tuple[Preceptor, httpx2.AsyncClient, Patient]]:
    few, model = settings.model_copy(update={"max_turns_at_once": most}), Patient()
    async with open_preceptor(few, models=only(model, few)) as preceptor, client_of(preceptor) as client:
        yield preceptor, client, model


async def begun(client: httpx2.AsyncClient, headers: dict[str, str] | None = None) -> httpx2.Response:
    """A turn that goes on, in a conversation of its own."""
    made = await client.post("/api/conversations", json={"agentId": "assistant"}, headers=headers)
    path = f"/api/conversations/{made.json()['conversationId']}/messages"
    return await client.post(path, json={"content": "Well?", "background": True}, headers=headers)


async def ended(preceptor: Preceptor, *turns: httpx2.Response) -> list[str]:
    """How they ended, once the process is done with them."""
    found = [TurnId(one.json()["turnId"]) for one in turns]
    for handle in [preceptor.session.means.running[one] for one in found]:
        await handle.wait()
    return [(await preceptor.turns.get(one))[0].status for one in found]


@covers("L6")
async def test_a_turn_too_many_is_refused_leaves_nothing_behind_and_is_welcome_later(settings: Settings):
    async with crowded(settings, 2) as (preceptor, client, model):
        first, second = await begun(client), await begun(client)
        assert (first.status_code, second.status_code) == (202, 202)
        refused = await begun(client)
        told = problem(refused, 429, "rate_limited")
        assert "PRECEPTOR_MAX_TURNS_AT_ONCE" in told["detail"]
        assert refused.headers["retry-after"] == "1"
        where = refused.request.url.path
        assert (await client.get(where)).json()["items"] == []
        chat = {"model": "assistant", "messages": [{"role": "user", "content": "Well?"}]}
        assert (await client.post("/v1/chat/completions", json=chat)).status_code == 429
        assert len((await client.get("/api/conversations")).json()["items"]) == 3
        model.told.set()
        assert await ended(preceptor, first, second) == ["completed"] * 2
        answered = await client.post(where, json={"content": "And now?"})
        assert answered.json()["ui"]["response"] == ANSWER
        assert preceptor.session.means.places == Places(2)


@covers("L6")
async def test_a_refused_key_may_be_used_again(settings: Settings):
    async with crowded(settings, 1) as (preceptor, client, model):
        running = await begun(client)
        made = await client.post("/api/conversations", json={"agentId": "assistant"})
        path, key = f"/api/conversations/{made.json()['conversationId']}/messages", {"Idempotency-Key": "once"}
        problem(await client.post(path, json={"content": "Well?"}, headers=key), 429, "rate_limited")
        model.told.set()
        await ended(preceptor, running)
        answers = [await client.post(path, json={"content": "Well?"}, headers=key) for _ in range(2)]
        assert [one.status_code for one in answers] == [200, 200]
        assert answers[0].json()["turnId"] == answers[1].json()["turnId"]


@covers("L6")
async def test_what_was_never_accepted_holds_no_place(settings: Settings):
    async with crowded(settings, 1) as (preceptor, client, model):
        model.told.set()
        for _ in range(3):
            missing = await client.post("/api/conversations/nowhere/messages", json={"content": "Well?"})
            problem(missing, 404, "not_found")
        assert preceptor.session.means.places == Places(1)
        assert await ended(preceptor, await begun(client)) == ["completed"]


@covers("L7")
async def test_one_organisation_cannot_take_every_place(settings: Settings):
    async with crowded(settings, 10) as (preceptor, client, model):
        quiet = await new_org(client, "quiet")
        await client.post("/api/agents", json=AGENT, headers=quiet)
        noisy = [await begun(client) for _ in range(20)]
        assert [one.status_code for one in noisy] == [202] * 8 + [429] * 12
        assert (await begun(client, quiet)).status_code == 202
        model.told.set()
        assert await ended(preceptor, *noisy[:8]) == ["completed"] * 8


@covers("L7")
@pytest.mark.parametrize(("most", "alone"), [(1, 1), (2, 2), (4, 4), (5, 4), (10, 8), (256, 205)])
def test_alone_an_organisation_has_four_fifths_and_with_one_place_that_one(most: int, alone: int):
    places, org = Places(most), OrgId("a")
    assert taken(places, org) == alone
    assert alone == most or taken(places, OrgId("b")) >= 1


@covers("L7")
def test_two_organisations_that_want_everything_get_the_same():
    places, orgs = Places(256), (OrgId("a"), OrgId("b"))
    for number in range(512):
        _take(places, orgs[number % 2])
    assert abs(places.held[orgs[0]] - places.held[orgs[1]]) <= 1
    assert taken(places, OrgId("c")) >= 20


def taken(places: Places, org: OrgId) -> int:
    """How many it is given before it is refused."""
    count = 0
    while _take(places, org):
        count += 1
    return count


def _take(places: Places, org: OrgId) -> bool:
    try:
        places.take(TurnId(f"{org}-{len(places.turns)}"), org)
    except TooManyTurns:
        return False
    return True


@covers("L6")
async def test_a_conversation_whose_first_words_were_refused_was_never_begun(settings: Settings):
    async with crowded(settings, 1) as (preceptor, client, model):
        await begun(client)
        with pytest.raises(TooManyTurns):
            await preceptor.turns.open([Text("Well?")], agent_id="assistant")
        assert len((await client.get("/api/conversations")).json()["items"]) == 1
        model.told.set()
