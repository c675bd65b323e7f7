from collections.abc import AsyncGenerator
from typing import Any

import pytest

from preceptor import Settings
from tests.surfaces.helpers import problem
from tests.surfaces.talking import DELEGATION, Talk, talking, text_of


@pytest.fixture
async def talk(settings: Settings) -> AsyncGenerator[Talk]:
    async with talking(settings) as opened:
        await opened.say("One?", "First.")
        await opened.say("Two?", "Second.")
        yield opened


async def id_of(talk: Talk, text: str) -> str:
    return next(message["id"] for message in await talk.messages("all") if text_of(message) == text)


async def again(talk: Talk, *lines: Any, **body: Any) -> dict[str, Any]:
    talk.script.lines += lines
    answer = await talk.post("regenerate", body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_last_question_is_answered_again_and_the_model_is_shown_it_once(talk: Talk):
    told = await again(talk, "Second, but better.")
    assert (told["status"], text_of(told["message"])) == ("completed", "Second, but better.")
    assert talk.script.shown == ["One?", "First.", "Two?"]
    assert await talk.texts() == ["One?", "First.", "Two?", "Second, but better."]
    await talk.say("Three?")
    assert talk.script.shown == ["One?", "First.", "Two?", "Second, but better.", "Three?"]


async def test_the_answer_that_was_there_before_is_kept_and_can_be_restored(talk: Talk):
    await again(talk, "Second, but better.")
    [new, old] = await talk.views()
    assert (new["change"], new["parentViewId"], old["viewId"]) == ("regenerated", talk.id, talk.id)
    await talk.restore(old["viewId"])
    assert await talk.texts() == ["One?", "First.", "Two?", "Second."]
    await talk.restore(new["viewId"])
    assert await talk.texts() == ["One?", "First.", "Two?", "Second, but better."]


@pytest.mark.parametrize("named", ["One?", "First."])
async def test_an_earlier_answer_is_given_again_by_naming_it_or_its_question(talk: Talk, named: str):
    await again(talk, "First, but better.", messageId=await id_of(talk, named))
    assert talk.script.shown == ["One?"]
    assert await talk.texts() == ["One?", "First, but better."]


async def test_a_step_in_the_middle_of_a_turn_stands_for_the_whole_turn(talk: Talk):
    await talk.say("What is 2+2?", *DELEGATION)
    await again(talk, "Four.", messageId=await id_of(talk, "thinking it over"))
    assert (await talk.texts())[-2:] == ["What is 2+2?", "Four."]


async def test_without_a_body_the_last_question_is_meant(talk: Talk):
    talk.script.lines.append("Again.")
    answer = await talk.client.post(f"{talk.path}/regenerate")
    assert (answer.status_code, (await talk.texts())[-1]) == (200, "Again.")


async def test_an_edited_question_takes_the_place_of_the_old_one_and_of_all_that_followed(talk: Talk):
    talk.script.lines.append("Uno.")
    body = {"messageId": await id_of(talk, "One?"), "content": "Uno?"}
    answer = await talk.post("edit", body)
    assert (answer.status_code, answer.json()["status"]) == (200, "completed")
    assert talk.script.shown == ["Uno?"]
    assert await talk.texts() == ["Uno?", "Uno."]
    assert await talk.texts("all") == ["One?", "First.", "Two?", "Second.", "Uno?", "Uno."]
    assert (await talk.views())[0]["change"] == "edited"


async def test_branches_stay_apart_however_often_one_goes_back_and_forth(talk: Talk):
    await talk.post("edit", {"messageId": await id_of(talk, "Two?"), "content": "Deux?"})
    [branch, trunk] = [view["viewId"] for view in await talk.views()]
    await talk.restore(trunk)
    await talk.say("Three?", "Third.")
    await talk.restore(branch)
    await talk.say("Trois?", "Troisieme.")
    await talk.restore(trunk)
    assert await talk.texts() == ["One?", "First.", "Two?", "Second.", "Three?", "Third."]
    await talk.restore(branch)
    assert [text for text in await talk.texts() if text.endswith("?")] == ["One?", "Deux?", "Trois?"]


async def test_after_a_compaction_only_what_is_shown_can_be_answered_again(talk: Talk):
    asked = await id_of(talk, "One?")
    ids = [asked, await id_of(talk, "First.")]
    made = await talk.compact(messageIds=ids, strategy="concat")
    before = await talk.events()
    for named in ids:
        problem(await talk.post("regenerate", {"messageId": named}), 404, "not_found")
    problem(await talk.post("regenerate", {"messageId": made["compaction"]["result"]}), 422, "invalid")
    assert await talk.events() == before
    await again(talk, "Zwei.")
    assert (await talk.texts())[1:] == ["Two?", "Zwei."]


@pytest.mark.parametrize(
    ("what", "body", "status", "code"),
    [
        ("regenerate", {"messageId": "nothing"}, 404, "not_found"),
        ("edit", {"messageId": "nothing", "content": "x"}, 404, "not_found"),
        ("edit", {"messageId": "First.", "content": "x"}, 422, "invalid"),
        ("edit", {"messageId": "One?", "content": ""}, 422, "invalid"),
        ("edit", {"content": "x"}, 422, "invalid"),
    ],
)
async def test_what_cannot_be_answered_again_or_edited_is_refused_and_nothing_happens(
    talk: Talk, what: str, body: dict[str, str], status: int, code: str
):
    named = body.get("messageId")
    if named in {"First.", "One?"}:
        body = body | {"messageId": await id_of(talk, named)}
    before = await talk.events()
    problem(await talk.post(what, body), status, code)
    assert await talk.events() == before


async def test_where_nothing_was_asked_there_is_nothing_to_answer_again(talk: Talk):
    empty = (await talk.client.post("/api/conversations", json={"agentId": "assistant"})).json()["conversationId"]
    problem(await talk.client.post(f"/api/conversations/{empty}/regenerate"), 409, "conflict")


async def test_an_answer_again_is_given_once_for_one_key_and_can_run_in_the_background(talk: Talk):
    talk.script.lines.append("Again.")
    first = await talk.post("regenerate", {}, idempotency_key="again")
    second = await talk.post("regenerate", {}, idempotency_key="again")
    assert first.json()["turnId"] == second.json()["turnId"]
    assert len(await talk.views()) == 2
    later = await talk.post("regenerate", {"background": True})
    assert (later.status_code, later.json()["status"]) == (202, "running")
