"""What is said of a body that is wrong: where it is wrong, and nothing about how that was found out."""

from typing import Any

import httpx2
import pytest

from preceptor import Settings
from tests.surfaces.helpers import problem
from tests.surfaces.talking import talking

Json = dict[str, Any]
MESSAGES: dict[str, tuple[Json, str, str]] = {
    "no content": ({}, "/content", "Field required"),
    "an empty text": ({"content": ""}, "/content", "String should have at least 1 character"),
    "no parts": ({"content": []}, "/content", "There must be at least 1 item, not 0"),
    "parts that say nothing": (
        {"content": [{"type": "text", "text": ""}] * 2},
        "/",
        "say something: there is neither text nor a file",
    ),
    "a blank text": ({"content": " \n"}, "/content", "There must be something in it that can be seen"),
    "blank parts": (
        {"content": [{"type": "text", "text": " \n"}]},
        "/",
        "say something: there is neither text nor a file",
    ),
    "a part of no kind": ({"content": [{"text": "x"}]}, "/content/0/type", "Field required"),
    "a part of a wrong kind": (
        {"content": [{"type": "image"}]},
        "/content/0/type",
        "Input should be one of 'text', 'attachment'",
    ),
    "a part without its text": ({"content": [{"type": "text"}]}, "/content/0/text", "Field required"),
    "a part with something more": (
        {"content": [{"type": "text", "text": "x", "mark": 1}]},
        "/content/0/mark",
        "There is no such field here",
    ),
    "a text that is none": (
        {"content": [{"type": "text", "text": 5}]},
        "/content/0/text",
        "Input should be a valid string",
    ),
    "a specialist without a prompt": (
        {"content": "x", "instructions": [{"type": "delegate_reasoning", "agentPrompt": " \n"}]},
        "/instructions/0/agentPrompt",
        "Agent prompt cannot be blank",
    ),
    "a strategy without its number": (
        {"content": "x", "parameters": {"compressionStrategy": {"type": "from_last_n_messages"}}},
        "/parameters/compressionStrategy/n",
        "Field required",
    ),
}
COMPACTIONS: dict[str, tuple[Json, str, str]] = {
    "no strategy": ({"intermediate": True}, "/strategy", "Field required"),
    "a wrong strategy": (
        {"strategy": "x", "intermediate": True},
        "/strategy",
        "Input should be one of 'drop', 'concat', 'summarize', 'distill'",
    ),
    "nothing chosen": ({"strategy": "drop"}, "/", "choose something: messageIds, spans, or intermediate"),
    "a text for what is left out": (
        {"strategy": "drop", "intermediate": True, "text": "x"},
        "/text",
        "There is no such field here",
    ),
}


def says(answer: httpx2.Response, path: str, message: str) -> None:
    told = problem(answer, 422, "invalid")
    assert told["errors"] == [{"path": path, "message": message}]
    assert told["detail"] == f"{path}: {message}."


@pytest.mark.parametrize(("body", "path", "message"), MESSAGES.values(), ids=MESSAGES)
async def test_a_message_that_cannot_be_read_is_told_where(settings: Settings, body: Json, path: str, message: str):
    async with talking(settings) as talk:
        says(await talk.post("messages", body), path, message)


@pytest.mark.parametrize(("body", "path", "message"), COMPACTIONS.values(), ids=COMPACTIONS)
async def test_a_compaction_is_told_what_its_own_strategy_lacks(
    settings: Settings, body: Json, path: str, message: str
):
    async with talking(settings) as talk:
        says(await talk.post("compact", body), path, message)


async def test_a_number_that_is_too_large_is_told_to_be_just_that(client: httpx2.AsyncClient):
    answer = await client.post("/api/conversations", json={"agentId": "assistant", "metadata": {"n": [1e300]}})
    says(answer, "/metadata/n/0", "Input should be less than 9223372036854776000")


LOOKS: dict[str, tuple[str, Json, str, str]] = {
    "an agent": (
        "agents",
        {"agentId": "Book shop", "name": "Shop"},
        "/agentId",
        "Write up to 128 Latin letters, digits",
    ),
    "a user": ("users", {"userId": "Ann Lee", "name": "Ann", "role": "viewer"}, "/userId", "Write up to 128 Latin"),
    "an organisation": ("orgs", {"orgId": "ACME", "name": "ACME"}, "/orgId", "Write up to 63 small Latin letters"),
    "a provider": ("providers", {"providerId": "Ours", "kind": "openai"}, "/providerId", "Write up to 32 small Latin"),
    "a metric": (
        "conversations/x/outcome",
        {"metric": "How good?", "value": 1},
        "/metric",
        "Write up to 64 Latin letters",
    ),
    "an address": (
        "webhooks",
        {"url": "hooks.example"},
        "/url",
        "Write an address that begins with http:// or https://",
    ),
    "a tag": (
        "instructions",
        {"name": "A", "type": "system", "tags": ["one\ntwo"]},
        "/tags/0",
        "Write something on one",
    ),
    "a variable": (
        "instructions",
        {"name": "A", "type": "template", "variables": [{"name": "your name"}]},
        "/variables/0/name",
        "Write up to 64 Latin letters, digits and _ without spaces, a letter or _ first",
    ),
    "a concept": (
        "agents",
        {
            "name": "Shop",
            "parameters": {
                "compressionStrategy": {
                    "type": "facts_tldr",
                    "concepts": [{"name": "an order", "description": "Its id"}],
                }
            },
        },
        "/parameters/compressionStrategy/concepts/0/name",
        "Write up to 64 Latin letters, digits and _ - without spaces",
    ),
    "words of plans": (
        "agents",
        {"name": "Shop", "sgr": {"templates": {"block": {"analysis": "x", "response": "{{spam_reason}}"}}}},
        "/sgr/templates/block/response",
        "A placeholder is {{name}}, with one of these names: user_intent, product_name",
    ),
}


@pytest.mark.parametrize(("noun", "body", "path", "words"), LOOKS.values(), ids=LOOKS)
async def test_how_a_name_has_to_look_is_told_in_words(
    client: httpx2.AsyncClient, noun: str, body: Json, path: str, words: str
):
    told = problem(await client.post(f"/api/{noun}", json=body), 422, "invalid")
    [message] = [one["message"] for one in told["errors"] if one["path"] == path]
    assert message.startswith(words)


async def test_a_value_of_no_possible_type_is_told_of_each(settings: Settings):
    async with talking(settings) as talk:
        told = problem(await talk.post("messages", {"content": 5}), 422, "invalid")["errors"]
        assert told == [
            {"path": "/content", "message": "Input should be a valid string"},
            {"path": "/content", "message": "Input should be a valid array"},
        ]


UNKNOWN: dict[str, tuple[str, Json, str, str]] = {
    "in what an agent departs in": (
        "agents/assistant/instructions",
        {"instructionId": "x", "customizations": {"tone": "formal"}},
        "/customizations/tone",
        "There is no such field. It takes additionalGuidelines, disabledConstraints, reason",
    ),
    "misspelled": (
        "agents/assistant/instructions",
        {"instructionId": "x", "customizations": {"additional_guidelines": ["x"]}},
        "/customizations/additional_guidelines",
        "There is no such field. Perhaps additionalGuidelines was meant",
    ),
    "in an item of a list": (
        "instructions",
        {"name": "x", "type": "task", "content": {"steps": [{"order": 1, "name": "a", "description": "", "after": 2}]}},
        "/content/steps/0/after",
        "There is no such field. It takes order, name, description, optional",
    ),
    "among many": ("agents", {"name": "x", "colour": "red"}, "/colour", "There is no such field here"),
}


@pytest.mark.parametrize(("path", "body", "where", "message"), UNKNOWN.values(), ids=UNKNOWN)
async def test_a_field_that_is_not_known_is_told_with_those_that_are(
    client: httpx2.AsyncClient, path: str, body: Json, where: str, message: str
):
    says(await client.post(f"/api/{path}", json=body), where, message)


@pytest.mark.parametrize("value", ["yes", None, [1], {}, 1e12, "4"])
async def test_an_outcome_of_the_wrong_kind_is_told_what_it_may_be(client: httpx2.AsyncClient, value: Any):
    answer = await client.post("/api/conversations/x/outcome", json={"metric": "csat", "value": value})
    says(answer, "/value", "Say true or false, or a number from -1000000000 to 1000000000")


async def test_a_body_that_an_operation_does_not_take_is_refused_and_nothing_is_done(client: httpx2.AsyncClient):
    kind = {"name": "x", "type": "system", "content": {"systemPrompt": "x"}}
    arms = [(await client.post("/api/instructions", json=kind)).json()["instructionId"] for _ in range(2)]
    wish = {"name": "x", "agentIds": ["assistant"], "splitRatio": 0.5, "duration": 1}
    wish |= {"controlInstructionId": arms[0], "variantInstructionId": arms[1]}
    made = (await client.post("/api/instructions/experiments", json=wish)).json()
    path = f"/api/instructions/experiments/{made['experimentId']}"
    says(await client.post(f"{path}/stop", json={"now": True}), "/", "This operation takes no body")
    assert (await client.get(path)).json()["status"] == "running"
    for nothing in ("{}", "null", " "):
        assert (await client.post(f"{path}/stop", content=nothing)).status_code == 200
