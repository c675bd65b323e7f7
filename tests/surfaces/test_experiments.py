import asyncio
from typing import Any

import httpx2
import orjson
import pytest

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.testing import ScriptedModel
from tests.adapters.test_counters import traced
from tests.conftest import client_of, only
from tests.requirements import covers
from tests.surfaces.experimenting import (
    CONTROL,
    PATH,
    VARIANT,
    after,
    arms_of,
    begun,
    between,
    in_both_arms,
    results,
    talk,
    versions,
)
from tests.surfaces.helpers import bearer, insert_key, problem, query, rows

Json = dict[str, Any]


def system(model: ScriptedModel) -> str:
    return "".join(segment.text for segment in model.prompts[-1].system)


@covers("R114", "R115")
async def test_turns_of_both_arms_are_told_what_they_are_assigned_and_counted_by_what_they_were_shown(
    client: httpx2.AsyncClient, model: ScriptedModel
):
    arms = await versions(client)
    experiment = await between(client, arms)
    assert (experiment["status"], experiment["splitRatio"], experiment["unit"]) == ("running", 0.5, "conversation")
    served: dict[str, str] = {}
    async for turn, arm in in_both_arms(client):
        assert system(model) == (VARIANT if arm == "variant" else CONTROL)
        served[turn["conversationId"]] = arm
        again = await talk(client, "And then?", conversation=turn["conversationId"])
        assert (await arms_of(client, again))[0]["arm"] == arm
        score = 5 if arm == "variant" else 3
        rated = await client.post(f"/api/messages/{turn['message']['id']}/rating", json={"score": score})
        assert rated.status_code == 201
    told = await results(client, experiment)
    for arm in told["arms"]:
        count = list(served.values()).count(arm["name"])
        assert (arm["units"], arm["assigned"], arm["turns"]) == (count, count, 2 * count)
        assert arm["metrics"]["rating"]["mean"] == (5 if arm["name"] == "variant" else 3)
        assert arm["metrics"]["success"]["mean"] == 1
        assert arm["metrics"]["tokens"]["mean"] > 0
    assert (told["health"]["status"], told["verdict"]["code"]) == ("green", "too_early")
    assert told["effects"][0]["metric"] == "rating"
    shown = (await client.get(f"{PATH}/{experiment['experimentId']}/conversations")).json()["items"]
    assert {one["conversationId"]: one["arm"] for one in shown} == served
    assert {one["metrics"]["rating"] for one in shown} == {3.0, 5.0}
    series = (await client.get(f"{PATH}/{experiment['experimentId']}/series")).json()["metrics"]
    assert (series[0]["metric"], series[0]["role"], len(series[0]["points"])) == ("rating", "primary", 1)
    assert series[0]["points"][0]["controlUnits"] == list(served.values()).count("control")


def audit(preceptor: Preceptor, like: str) -> list[Json]:
    sql = f"SELECT payload FROM events WHERE stream = '@org' AND kind LIKE '{like}' ORDER BY seq"
    return [orjson.loads(payload) for (payload,) in query(preceptor, sql)]


async def pin_of(client: httpx2.AsyncClient, family: str) -> tuple[str, str]:
    found = (await client.get(f"/api/agents/assistant/instructions/{family}")).json()
    return found["pin"], found["resolvedVersion"]


@pytest.mark.parametrize(
    ("pin", "promoted"), [("latest", "latest"), ("exact", "exact"), ("^1", "exact"), ("label:live", "label:live")]
)
async def test_what_is_promoted_is_what_all_are_told_and_who_did_it_is_known(
    client: httpx2.AsyncClient, preceptor: Preceptor, model: ScriptedModel, pin: str, promoted: str
):
    control, variant = await versions(client, pin)
    assert (control["version"], variant["version"]) == ("1.0.0", "2.0.0")
    experiment = await between(client, (control, variant))
    assert await pin_of(client, control["familyId"]) == ("exact", "1.0.0")
    ended = await after(client, experiment, "promote")
    assert (ended["status"], ended["decision"]["promoted"], ended["decision"]["by"]) == ("promoted", "variant", "admin")
    assert await pin_of(client, control["familyId"]) == (promoted, "2.0.0")
    turn = await talk(client)
    assert (system(model), await arms_of(client, turn)) == (VARIANT, [])
    kinds = [one["status"] for one in audit(preceptor, "experiment.%")]
    assert kinds == ["draft", "running", "promoted"]
    assert audit(preceptor, "experiment.promoted")[0]["decision"]["verdict"] == "too_early"
    assert len(audit(preceptor, "instruction.label_moved")) == (2 if pin == "label:live" else 0)
    assert problem_of(await client.post(f"{PATH}/{experiment['experimentId']}/promote")) == (409, "conflict")


def problem_of(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


@pytest.mark.parametrize(
    "said", [{"json": {"arm": "control"}}, {"params": {"arm": "control"}}], ids=["body", "address"]
)
async def test_the_arm_to_be_promoted_is_named_in_the_body_or_in_the_address_and_not_differently_in_both(
    client: httpx2.AsyncClient, said: Json
):
    experiment = await between(client, await versions(client))
    path = f"{PATH}/{experiment['experimentId']}/promote"
    torn = await client.post(path, json={"arm": "control"}, params={"arm": "variant"})
    assert problem_of(torn) == (422, "invalid")
    assert (await client.post(path, **said)).json()["decision"]["promoted"] == "control"


async def test_after_a_stop_and_after_its_time_the_control_is_served(client: httpx2.AsyncClient, model: ScriptedModel):
    arms = await versions(client)
    for duration, stopped in ((7, "stopped"), (1e-9, "ended")):
        experiment = await between(client, arms, splitRatio=0.999999999, duration=duration)
        if duration == 7:
            await talk(client)
            assert system(model) == VARIANT
            assert (await client.get(PATH, params={"status": "running"})).json()["items"] == [experiment]
        assert (await after(client, experiment, "stop"))["status"] == stopped
        assert (await after(client, experiment, "stop"))["status"] == stopped
        turn = await talk(client)
        assert (system(model), await arms_of(client, turn)) == (CONTROL, [])
        assert problem_of(await client.post(f"{PATH}/{experiment['experimentId']}/start")) == (409, "conflict")


async def test_what_is_over_makes_room_for_the_next_and_is_written_down_as_ended(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    arms = await versions(client)
    first = await between(client, arms, duration=1e-9)
    assert (await client.get(f"{PATH}/{first['experimentId']}")).json()["status"] == "ended"
    assert (await between(client, arms))["status"] == "running"
    assert [one["status"] for one in audit(preceptor, "experiment.ended")] == ["ended"]
    last = await between(client, arms, duration=1e-9, agentIds=["assistant"], status="draft")
    await after(client, (await client.get(PATH, params={"status": "running"})).json()["items"][0], "stop")
    await after(client, last, "start")
    await preceptor.installation.sweep()
    assert len(audit(preceptor, "experiment.ended")) == 2


async def test_a_turn_that_is_shown_something_else_than_its_arm_raises_an_alarm(
    client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
):
    arms = await versions(client)
    experiment = await between(client, arms)
    turn = await talk(client)
    assert (await results(client, experiment))["health"]["renderedMismatch"] == {
        "status": "green",
        "count": 0,
        "share": 0.0,
    }
    off = await client.delete(f"/api/agents/assistant/instructions/{arms[0]['familyId']}")
    assert off.status_code == 204
    await talk(client, conversation=turn["conversationId"])
    told = await results(client, experiment)
    assert told["health"]["renderedMismatch"] == {"status": "red", "count": 1, "share": 0.5}
    assert (told["health"]["status"], told["verdict"]["code"]) == ("red", "withheld")
    assert "something else" in told["verdict"]["sentence"]
    shown = capsys.readouterr()
    assert experiment["experimentId"] in shown.out + shown.err + caplog.text
    assert "AssignedNotShown" in shown.out + shown.err + caplog.text


async def test_of_sixteen_starts_at_once_one_runs(client: httpx2.AsyncClient):
    arms = await versions(client)
    drafts = [await between(client, arms, status="draft") for _ in range(16)]
    paths = [f"{PATH}/{one['experimentId']}/start" for one in drafts]
    answers = await asyncio.gather(*(client.post(path) for path in paths))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 15
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {"experiment_running"}
    running = (await client.get(PATH, params={"status": "running"})).json()["items"]
    assert len(running) == 1
    assert (await after(client, running[0], "start")) == running[0]
    at_once = await asyncio.gather(*(client.post(f"{PATH}/{running[0]['experimentId']}/stop") for _ in range(16)))
    assert {answer.status_code for answer in at_once} == {200}


async def test_an_agent_may_be_in_one_experiment_for_each_instruction_and_one_for_its_settings(
    client: httpx2.AsyncClient, model: ScriptedModel
):
    manner, other = await versions(client), await versions(client)
    await between(client, manner)
    taken = await client.post(
        PATH,
        json={
            "name": "Again",
            "agentIds": ["assistant"],
            "controlInstructionId": manner[1]["instructionId"],
            "variantInstructionId": other[1]["instructionId"],
        },
    )
    assert problem_of(taken) == (409, "experiment_running")
    assert (await client.get(PATH)).json()["items"][0]["name"] == "Length"
    await between(client, other)
    await begun(client, settings={"variant": {"parameters": {"temperature": 0.25}}})
    for _ in range(6):
        enrolled = await arms_of(client, await talk(client))
        arms = {one["experimentId"]: one["arm"] for one in enrolled}
        assert len(arms) == 3
        said = [VARIANT if one["arm"] == "variant" else CONTROL for one in enrolled if "shows" in one]
        assert [system(model).count(text) for text in (CONTROL, VARIANT)] == [said.count(CONTROL), said.count(VARIANT)]
        assert model.asks[-1].sampling.temperature == (0.25 if enrolled[-1]["arm"] == "variant" else None)


async def test_two_versions_of_different_instructions_can_be_compared(client: httpx2.AsyncClient, model: ScriptedModel):
    control, _ = await versions(client)
    new = {"name": "Other", "type": "system", "content": {"systemPrompt": "Answer in verse."}}
    variant = (await client.post("/api/instructions", json=new)).json()
    experiment = await between(client, (control, variant), splitRatio=0.999999999)
    await talk(client)
    assert system(model) == "Answer in verse."
    assert (await results(client, experiment))["arms"][1]["units"] == 1
    await after(client, experiment, "promote")
    await talk(client)
    assert system(model) == "Answer in verse."
    follows = (await client.get("/api/agents/assistant/instructions")).json()["items"]
    assert [one["familyId"] for one in follows] == [variant["familyId"]]


async def test_a_user_is_in_one_arm_in_all_conversations(client: httpx2.AsyncClient, preceptor: Preceptor):
    arms = await versions(client)
    experiment = await between(client, arms, unit="user")
    people = [bearer(await insert_key(preceptor, user=f"user-{n}")) for n in range(6)]
    for key in people:
        found: set[str] = set()
        for _ in range(3):
            made = await client.post("/api/conversations", json={"agentId": "assistant"}, headers=key)
            turn = await talk(client, conversation=made.json()["conversationId"])
            found |= {one["arm"] for one in await arms_of(client, turn)}
        assert len(found) == 1
    told = await results(client, experiment)
    assert sum(arm["units"] for arm in told["arms"]) == 6
    assert sum(arm["conversations"] for arm in told["arms"]) == 18


async def test_a_conversation_stays_in_its_arm_when_the_server_starts_again(settings: Settings, model: ScriptedModel):
    arms: list[dict[str, str]] = [{}, {}]
    for run in arms:
        async with open_preceptor(settings, models=only(model, settings)) as opened, client_of(opened) as client:
            if not arms[0]:
                await between(client, await versions(client))
                talks = [(await talk(client))["conversationId"] for _ in range(8)]
            else:
                talks = list(arms[0])
            for one in talks:
                [enrolled] = await arms_of(client, await talk(client, conversation=one))
                run[one] = enrolled["arm"]
    assert arms[0] == arms[1]


async def test_what_an_experiment_tells_cannot_be_taken_away_while_it_runs(client: httpx2.AsyncClient):
    control, variant = await versions(client)
    experiment = await between(client, (control, variant))
    family = f"/api/instructions/{control['familyId']}"
    for version in (control, variant):
        gone = await client.delete(f"/api/instructions/{version['instructionId']}", params={"force": True})
        assert problem_of(gone) == (409, "experiment_running")
    assert problem_of(await client.delete(family, params={"force": True})) == (409, "experiment_running")
    assert experiment["experimentId"] in (await client.delete(family)).json()["detail"]
    asked = await client.post(f"{family}/impact", json={"content": {"guidelines": ["Be kind"]}})
    assert asked.json()["experiments"] == [experiment["experimentId"]]
    await after(client, experiment, "stop")
    assert (await client.post(f"{family}/impact", json={"version": "1.0.0"})).json()["experiments"] == []
    assert (await client.delete(family, params={"force": True})).status_code == 204


@covers("R92")
async def test_an_instruction_says_which_experiment_runs_with_it(client: httpx2.AsyncClient):
    control, variant = await versions(client)
    assert (control["experimentId"], control["controlGroup"]) == (None, None)
    experiment = await between(client, (control, variant))
    family = f"/api/instructions/{control['familyId']}"
    listed = (await client.get(f"{family}/versions")).json()["items"]
    heads = (await client.get("/api/instructions")).json()["items"]
    read = (await client.get(f"/api/instructions/{control['instructionId']}")).json()
    named = experiment["experimentId"]
    assert [(one["experimentId"], one["controlGroup"]) for one in listed] == [(named, False), (named, True)]
    assert (heads[0]["experimentId"], read["controlGroup"]) == (named, True)
    refused = await client.put(family, json={"experimentId": "mine", "content": {}})
    assert problem_of(refused) == (422, "invalid")
    await after(client, experiment, "stop")
    assert (await client.get(family)).json()["experimentId"] is None


def design(**more: Any) -> Json:
    arms = {"settings": {"variant": {"model": "local"}}}
    return {"name": "x", "agentIds": ["assistant"], **({} if "controlInstructionId" in more else arms), **more}


WRONG: dict[str, tuple[Json, int, str]] = {
    "no arms": ({"name": "x", "agentIds": ["assistant"]}, 422, "invalid"),
    "one arm": ({"name": "x", "agentIds": ["assistant"], "controlInstructionId": "a"}, 422, "invalid"),
    "both kinds of arms": (
        design() | {"controlInstructionId": "a", "variantInstructionId": "b"},
        422,
        "invalid",
    ),
    "a variant without settings": (design(settings={"control": {"model": "local"}}), 422, "invalid"),
    "settings that are none": (design(settings={"variant": {"tools": []}}), 422, "invalid"),
    "an injection that is none": (design(settings={"variant": {"sgr": {"injection": "dirty"}}}), 422, "invalid"),
    "no agents": (design(agentIds=[]), 422, "invalid"),
    "too many agents": (design(agentIds=["assistant"] * 101), 422, "invalid"),
    "an agent that is not there": (design(agentIds=["nobody"]), 404, "not_found"),
    "versions that are not there": (
        design(controlInstructionId="a", variantInstructionId="b"),
        404,
        "not_found",
    ),
    "all to the variant": (design(splitRatio=1), 422, "invalid"),
    "none to the variant": (design(splitRatio=0), 422, "invalid"),
    "more than all": (design(splitRatio=1.5), 422, "invalid"),
    "a share in words": (design(splitRatio="half"), 422, "invalid"),
    "no time": (design(duration=0), 422, "invalid"),
    "more than a year": (design(duration=366), 422, "invalid"),
    "a turn as the unit": (design(unit="turn"), 422, "invalid"),
    "a metric without a name": (design(primaryMetric=""), 422, "invalid"),
    "a metric with a space": (design(primaryMetric="two words"), 422, "invalid"),
    "a guard-rail below zero": (design(guardrails=[{"metric": "cost", "limit": -1}]), 422, "invalid"),
    "an effect of nothing": (design(minimumEffect=0), 422, "invalid"),
    "a status of its own": (design(status="promoted"), 422, "invalid"),
    "a field that is not known": (design(winner="variant"), 422, "invalid"),
    "no name": (design(name="  "), 422, "invalid"),
}


async def test_a_design_that_cannot_be_is_refused_and_nothing_is_written(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    before = rows(preceptor)
    for name, (body, status, code) in WRONG.items():
        answer = await client.post(PATH, json=body)
        assert (name, *problem_of(answer)) == (name, status, code)
    assert rows(preceptor) == before


async def test_arms_that_could_not_be_told_apart_are_refused(client: httpx2.AsyncClient, preceptor: Preceptor):
    control, variant = await versions(client)
    silent = {"name": "Silent", "type": "behavior", "content": {"tone": None}}
    mute = (await client.post("/api/instructions", json=silent)).json()
    draft = {"content": {"systemPrompt": "Answer in verse."}, "status": "draft"}
    unready = (await client.put(f"/api/instructions/{control['familyId']}", json=draft)).json()
    before = rows(preceptor)
    for other, status, code in ((control, 422, "invalid"), (mute, 422, "invalid"), (unready, 409, "conflict")):
        ids = {"controlInstructionId": control["instructionId"], "variantInstructionId": other["instructionId"]}
        problem(await client.post(PATH, json=design(**ids)), status, code)
    assert rows(preceptor) == before
    assert await pin_of(client, control["familyId"]) == ("latest", variant["version"])


async def test_an_instruction_that_is_switched_off_is_not_compared(client: httpx2.AsyncClient):
    control, variant = await versions(client)
    where = f"/api/agents/assistant/instructions/{control['familyId']}"
    assert (await client.put(where, json={"isActive": False})).status_code == 200
    ids = {"controlInstructionId": control["instructionId"], "variantInstructionId": variant["instructionId"]}
    problem(await client.post(PATH, json=design(**ids)), 409, "conflict")


async def test_an_agent_that_lacks_the_instruction_is_given_the_control(
    client: httpx2.AsyncClient, model: ScriptedModel
):
    arms = await versions(client)
    await client.post("/api/agents", json={"agentId": "second", "name": "Second"})
    experiment = await between(client, arms, agentIds=["second", "second"], splitRatio=1e-9)
    assert experiment["agentIds"] == ["second"]
    await talk(client, agent="second")
    assert system(model) == CONTROL
    await after(client, experiment, "stop")
    await talk(client, agent="second")
    assert system(model) == CONTROL


async def test_the_forecast_is_made_from_the_traffic_there_was(client: httpx2.AsyncClient):
    arms = await versions(client)
    silent = await between(client, arms, status="draft")
    assert (silent["power"]["unitsPerDay"], silent["power"]["mde"]) == (None, None)
    assert "there was no traffic" in silent["power"]["sentence"]
    for _ in range(28):
        await client.post("/api/conversations", json={"agentId": "assistant"})
    guardrails: list[Any] = ["cost", {"metric": "latency", "limit": 200}]
    known = await between(client, arms, minimumEffect=0.5, guardrails=guardrails)
    assert known["guardrails"] == [{"metric": "cost", "limit": 0.0}, {"metric": "latency", "limit": 200.0}]
    assert (known["power"]["unitsPerDay"], known["power"]["unitsPlanned"]) == (2.0, 14)
    assert (known["plannedUnits"], known["power"]["decidesInTime"]) == (14, False)
    assert known["power"]["daysToDecision"] == pytest.approx(known["power"]["unitsNeeded"] / 2)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_agents_without_experiments_pay_nothing_for_those_of_others(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    await client.post("/api/agents", json={"agentId": "second", "name": "Second"})
    await between(client, await versions(client))
    seen = [await costs(client, preceptor, agent) for agent in ("second", "assistant")]
    ours = [[one for one in each if "exp" in one] for each in seen]
    assert ours == [[], ["UPDATE exposures"]]


async def costs(client: httpx2.AsyncClient, preceptor: Preceptor, agent: str) -> list[str]:
    """What the second turn of a conversation asks of the database: by then all that can be kept is."""
    turn = await talk(client, agent=agent)
    with traced(preceptor) as seen:
        await talk(client, conversation=turn["conversationId"])
    return seen
