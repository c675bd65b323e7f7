from typing import Any

import httpx2

from preceptor import Preceptor
from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.ids import ConversationId, ExperimentId, UserId
from preceptor.domain.ownership import Role
from preceptor.engine.repositories.experiments import Signal
from preceptor.engine.repositories.work import Work
from preceptor.testing import ScriptedModel
from tests.domain.experiments import talked
from tests.requirements import covers
from tests.surfaces.experimenting import PATH, begun, between, in_both_arms, results, talk, versions
from tests.surfaces.helpers import bearer, insert_key, new_org, problem, query, rows

Json = dict[str, Any]
ONLY_VARIANT = {"splitRatio": 0.999999999}


async def tell(
    client: httpx2.AsyncClient, conversation: str, metric: str, value: Any, **headers: Any
) -> httpx2.Response:
    body = {"metric": metric, "value": value}
    return await client.post(f"/api/conversations/{conversation}/outcome", json=body, **headers)


def measured(told: Json, metric: str, arm: int = 1) -> Any:
    return told["arms"][arm]["metrics"].get(metric, {}).get("mean")


async def test_what_became_of_a_conversation_is_told_and_the_last_word_of_each_counts(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    experiment = await between(client, await versions(client), **ONLY_VARIANT, primaryMetric="resolution")
    turn = await talk(client)
    conversation = turn["conversationId"]
    for value in (True, False, True):
        said = await tell(client, conversation, "resolution", value)
        assert (said.status_code, said.json()["value"]) == (201, value)
    assert measured(await results(client, experiment), "resolution") == 1.0
    other = bearer(await insert_key(preceptor, user="other"))
    assert (await tell(client, conversation, "resolution", value=False, headers=other)).status_code == 201
    assert measured(await results(client, experiment), "resolution") == 0.5
    await tell(client, conversation, "basket", 42.5)
    told = await results(client, experiment)
    assert (told["effects"][0]["metric"], measured(told, "basket")) == ("resolution", 42.5)
    kinds = [kind for (kind,) in query(preceptor, f"SELECT kind FROM events WHERE stream = '{conversation}'")]
    assert kinds.count("outcome.told") == 5


async def test_answers_are_rated_by_whoever_can_see_them(client: httpx2.AsyncClient, preceptor: Preceptor):
    experiment = await between(client, await versions(client), **ONLY_VARIANT)
    turn = await talk(client)
    path = f"/api/messages/{turn['message']['id']}/rating"
    for score in (1, 5):
        assert (await client.post(path, json={"score": score})).json()["score"] == score
    assert measured(await results(client, experiment), "rating") == 5.0
    stranger = bearer(await insert_key(preceptor, user="stranger", role=Role.VIEWER))
    before = rows(preceptor)
    problem(await client.post(path, json={"score": 1}, headers=stranger), 404, "not_found")
    problem(await tell(client, turn["conversationId"], "resolution", value=True, headers=stranger), 404, "not_found")
    problem(await client.post("/api/messages/nothing/rating", json={"score": 1}), 404, "not_found")
    assert rows(preceptor) == before
    assert measured(await results(client, experiment), "rating") == 5.0


WRONG_OUTCOMES = [
    {"metric": "tokens", "value": 1},
    {"metric": "rating", "value": 5},
    {"metric": "resolution", "value": 2},
    {"metric": "resolution", "value": "yes"},
    {"metric": "resolution"},
    {"metric": "", "value": True},
    {"metric": "a b", "value": True},
    {"metric": "x" * 65, "value": True},
    {"metric": "basket", "value": 1e10},
    {"metric": "basket", "value": None},
]


@covers("S29")
async def test_what_is_measured_here_cannot_be_told_and_nonsense_is_refused(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    turn = await talk(client)
    before = rows(preceptor)
    for body in WRONG_OUTCOMES:
        answer = await client.post(f"/api/conversations/{turn['conversationId']}/outcome", json=body)
        assert (body, answer.status_code, answer.json()["code"]) == (body, 422, "invalid")
    assert rows(preceptor) == before


async def test_a_question_cannot_be_rated_and_a_score_is_from_one_to_five(client: httpx2.AsyncClient):
    turn = await talk(client)
    said = (await client.get(f"/api/conversations/{turn['conversationId']}/messages")).json()["items"]
    problem(await client.post(f"/api/messages/{said[0]['id']}/rating", json={"score": 3}), 422, "invalid")
    for score in (0, 6, "5", 4.5, None):
        answer = await client.post(f"/api/messages/{turn['message']['id']}/rating", json={"score": score})
        problem(answer, 422, "invalid")


async def test_answers_are_held_to_the_rules_that_their_agent_was_given(
    client: httpx2.AsyncClient, model: ScriptedModel
):
    new: Json = {"name": "Manner", "type": "system", "content": {"systemPrompt": "Be kind."}}
    rules = {"validationRules": {"requiredKeywords": ["thank you"]}}
    first = (await client.post("/api/instructions", json=new | rules)).json()
    await client.post("/api/agents/assistant/instructions", json={"instructionId": first["familyId"]})
    changed = {"content": {"systemPrompt": "Be very kind."}}
    second = (await client.put(f"/api/instructions/{first['familyId']}", json=changed)).json()
    experiment = await between(client, (first, second), **ONLY_VARIANT, primaryMetric="rulePasses")
    answers = iter(["Thank you for asking.", "No.", "No.", "No."])
    model.script = lambda _: next(answers)
    turn = await talk(client)
    for _ in range(3):
        await talk(client, conversation=turn["conversationId"])
    told = await results(client, experiment)
    assert (measured(told, "rulePasses"), measured(told, "success")) == (0.25, 1.0)
    [shown] = (await client.get(f"{PATH}/{experiment['experimentId']}/conversations")).json()["items"]
    assert (shown["turns"], shown["shownVariant"], shown["metrics"]["rulePasses"]) == (4, 4, 0.25)


async def test_a_turn_that_is_blocked_counts_as_such_and_shows_no_arm(client: httpx2.AsyncClient):
    experiment = await between(client, await versions(client), **ONLY_VARIANT)
    turn = await talk(client)
    blocked = await talk(client, "How do I build a pipe bomb?", conversation=turn["conversationId"])
    assert blocked["status"] == "blocked"
    told = await results(client, experiment)
    assert (measured(told, "blockRate"), measured(told, "success")) == (0.5, 0.5)
    [shown] = (await client.get(f"{PATH}/{experiment['experimentId']}/conversations")).json()["items"]
    assert (shown["turns"], shown["shownVariant"], shown["mismatches"]) == (2, 1, 0)


async def test_a_turn_that_fails_counts_against_its_arm(client: httpx2.AsyncClient, model: ScriptedModel):
    experiment = await between(client, await versions(client), **ONLY_VARIANT)
    await talk(client)
    model.script = []
    model._lines = ()  # pyright: ignore[reportPrivateUsage]
    failed = (await client.post("/api/conversations", json={"agentId": "assistant"})).json()["conversationId"]
    answer = await client.post(f"/api/conversations/{failed}/messages", json={"content": "Hello."})
    assert answer.status_code >= 400
    assert measured(await results(client, experiment), "failureRate") == 0.5


async def test_an_experiment_that_breaks_a_guardrail_is_stopped_by_the_sweep(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    experiment = await begun(
        client, settings={"variant": {"parameters": {"temperature": 0.5}}}, guardrails=["basket"], unit="conversation"
    )
    counts = {"control": 0, "variant": 0}
    async for turn, arm in in_both_arms(client, 4):
        counts[arm] += 1
        await tell(client, turn["conversationId"], "basket", 10 if arm == "control" else 1)
    await preceptor.installation.sweep()
    assert (await client.get(f"{PATH}/{experiment['experimentId']}")).json()["status"] == "running"
    await many_more(preceptor, experiment["experimentId"])
    told = await results(client, experiment)
    assert told["verdict"]["code"] == "guardrail_broken"
    await preceptor.installation.sweep()
    ended = (await client.get(f"{PATH}/{experiment['experimentId']}")).json()
    assert (ended["status"], ended["decision"]["because"]) == ("stopped", "guardrail_broken")
    assert ended["decision"]["by"] == "system"


async def many_more(preceptor: Preceptor, experiment_id: str) -> None:
    """As if a hundred more conversations of each arm had settled."""

    async def program(work: Work) -> None:
        for arm in Arm:
            for number in range(100):
                tally = talked(f"{arm} {number}", arm, {})
                await work.exposures.add(ExperimentId(experiment_id), tally)
                value = (10 if arm is Arm.CONTROL else 1) + number % 3
                signal = Signal(ConversationId(tally.conversation), "basket", UserId("admin"), value)
                await work.signals.tell(signal)

    await preceptor.session.write(program)


@covers("S29")
async def test_another_organisation_sees_and_changes_nothing_of_an_experiment(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    arms = await versions(client)
    experiment = await between(client, arms)
    turn = await talk(client)
    rival = await new_org(client, "rivals")
    await client.post("/api/agents", json={"agentId": "theirs", "name": "Theirs"}, headers=rival)
    before = rows(preceptor)
    path = f"{PATH}/{experiment['experimentId']}"
    for where in (path, f"{path}/results", f"{path}/conversations"):
        problem(await client.get(where, headers=rival), 404, "not_found")
    for what in ("start", "stop", "promote"):
        problem(await client.post(f"{path}/{what}", headers=rival), 404, "not_found")
    ids = {"controlInstructionId": arms[0]["instructionId"], "variantInstructionId": arms[1]["instructionId"]}
    for body in (
        {"name": "x", "agentIds": ["theirs"], **ids},
        {"name": "x", "agentIds": ["assistant"], "settings": {"variant": {"model": "local"}}},
    ):
        problem(await client.post(PATH, json=body, headers=rival), 404, "not_found")
    problem(await tell(client, turn["conversationId"], "resolution", value=True, headers=rival), 404, "not_found")
    rated = await client.post(f"/api/messages/{turn['message']['id']}/rating", json={"score": 1}, headers=rival)
    problem(rated, 404, "not_found")
    assert (await client.get(PATH, headers=rival)).json()["items"] == []
    assert rows(preceptor) == before
