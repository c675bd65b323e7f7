from collections.abc import AsyncGenerator
from typing import Any

import orjson
import pytest

from preceptor import Settings
from preceptor.domain.ids import StreamId
from preceptor.surfaces.rest.telling import for_users
from tests.requirements import covers
from tests.surfaces.helpers import problem
from tests.surfaces.talking import DELEGATION, Talk, talking


@pytest.fixture
async def talk(settings: Settings) -> AsyncGenerator[Talk]:
    async with talking(settings) as opened:
        await opened.say("One?", "One.")
        yield opened


async def test_a_conversation_starts_with_a_view_of_everything_that_is_named_like_it(talk: Talk):
    [view] = await talk.views()
    assert (view["viewId"], view["current"], view["change"], view["messages"]) == (talk.id, True, "started", 2)
    assert (view["parentViewId"], view["compaction"], view["createdAt"]) == (None, None, None)
    assert (await talk.client.get(f"{talk.path}/views")).headers["etag"] == f'"{talk.id}"'


@covers("R191")
async def test_restoring_undoes_a_compaction_exactly_and_is_itself_a_step_that_can_be_undone(settings: Settings):
    async with talking(settings) as talk:
        await talk.say("What is 2+2?", *DELEGATION)
        before = await talk.messages()
        made = await talk.compact(intermediate=True, strategy="summarize", text="It was worked out.")
        compacted = await talk.messages()
        back = await talk.restore(talk.id)
        assert await talk.messages() == before
        assert (back["change"], back["restoredViewId"], back["parentViewId"]) == ("restored", talk.id, made["viewId"])
        assert [view["current"] for view in await talk.views()] == [True, False, False]
        await talk.restore(made["viewId"])
        assert await talk.messages() == compacted
        changes = [fact["view"]["change"] for kind, fact in await talk.events() if kind == "view.changed"]
        assert changes == ["compacted", "restored", "restored"]


async def test_what_was_said_since_stays_when_a_compaction_is_undone_and_models_see_it(talk: Talk):
    ids = [message["id"] for message in await talk.messages()]
    await talk.compact(messageIds=ids, strategy="concat")
    await talk.say("Two?", "Two.")
    await talk.restore(talk.id)
    await talk.say("Three?", "Three.")
    assert await talk.texts() == ["One?", "One.", "Two?", "Two.", "Three?", "Three."]
    assert talk.script.shown == ["One?", "One.", "Two?", "Two.", "Three?"]


async def test_saying_something_makes_no_new_view(talk: Talk):
    ids = [message["id"] for message in await talk.messages()]
    made = await talk.compact(messageIds=ids, strategy="drop")
    await talk.say("Two?", "Two.")
    current = (await talk.views())[0]
    assert (current["viewId"], current["messages"], made["messages"]) == (made["viewId"], 2, 0)
    assert len(await talk.views()) == 2


async def test_views_and_the_messages_of_one_come_in_pages(talk: Talk):
    for number in range(4):
        await talk.say(f"Number {number}?")
        await talk.compact(messageIds=[(await talk.messages())[-1]["id"]], strategy="drop")
    for what, size in (("views", 5), ("messages", 6)):
        whole = (await talk.client.get(f"{talk.path}/{what}", params={"limit": "200"})).json()["items"]
        found: list[Any] = []
        query = {"limit": "2"}
        while "cursor" in query or not found:
            page = (await talk.client.get(f"{talk.path}/{what}", params=query)).json()
            assert len(page["items"]) <= 2
            found += page["items"]
            query = {"limit": "2"} | ({"cursor": page["nextCursor"]} if page["nextCursor"] else {})
        assert found == whole
        assert len(found) == size
    for cursor in ("1", "17a", "1" + b"-1".hex(), "1" + b"9999999999999999".hex()):
        problem(await talk.client.get(f"{talk.path}/views", params={"cursor": cursor}), 400, "bad_cursor")


async def test_a_view_that_is_not_of_this_conversation_is_not_found(talk: Talk):
    other = (await talk.client.post("/api/conversations", json={"agentId": "assistant"})).json()["conversationId"]
    for view_id in ("nothing", other):
        problem(await talk.post(f"views/{view_id}/restore"), 404, "not_found")
    assert len(await talk.views()) == 1


async def test_users_are_told_of_a_new_view_and_nothing_of_what_is_inside_it(talk: Talk):
    made = await talk.compact(messageIds=[(await talk.messages())[0]["id"]], strategy="drop")
    stream = StreamId(talk.id)
    [*_, row] = await talk.preceptor.session.read(lambda work: work.log.after(stream, 0, 100))
    told = orjson.loads(for_users(row).split(b"data: ")[1])
    assert {name: told[name] for name in told if name not in {"seq", "at"}} == {
        "turnId": None,
        "viewId": made["viewId"],
        "change": "compacted",
    }
