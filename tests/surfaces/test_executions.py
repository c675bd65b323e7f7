"""Executions over HTTP: steps that depend on each other, and everything that can become of them."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx2
import pytest

from preceptor import Settings
from preceptor.adapters.models.scripted import Line
from preceptor.domain.ids import TaskId
from preceptor.domain.ownership import Role
from preceptor.domain.prompts.reply import Fault, ModelFailure
from preceptor.testing import Hang, Say
from tests.adapters.model_server import http, serving
from tests.adapters.model_server import silence as unanswered
from tests.requirements import covers
from tests.scenarios.reasoned import events_in
from tests.surfaces.experimenting import PATH, between, versions
from tests.surfaces.helpers import bearer, insert_key, new_key, new_org, problem, rows, until_ended
from tests.surfaces.talking import Talk, talking

Json = dict[str, Any]
AGENT = {"type": "agent", "id": "agent-001"}
LOAD = {"type": "agent.loadInstructions", "resource": AGENT}


def ask(message: Any = "Hello", **data: Any) -> Json:
    return {"type": "agent.execute", "resource": AGENT, "data": {"userMessage": message, **data}}


def step(index: int, command: Json, *before: int, **more: Any) -> Json:
    return {"index": index, "name": f"step {index}", "command": command, "dependsOn": list(before), **more}


def hook(url: str, **data: Any) -> Json:
    return {"type": "webhook", "data": {"url": url, **data}}


def take(index: int, path: str = "") -> Json:
    return {"$from": {"step": index, "path": path}}


@pytest.fixture
async def talk(settings: Settings) -> AsyncGenerator[Talk]:
    quiet = settings.model_copy(update={"guard_enabled": False})
    async with talking(quiet) as opened:
        await opened.client.post("/api/agents", json={"agentId": "agent-001", "name": "Ann", "role": "assistant"})
        yield opened


async def run(talk: Talk, *steps: Json, **more: Any) -> Json:
    return await until_ended(talk.client, await talk.client.post("/api/executions", json={"steps": steps, **more}))


async def instruct(talk: Talk, text: str) -> str:
    new = {"name": "Support", "type": "system", "content": {"systemPrompt": text}}
    made = (await talk.client.post("/api/instructions", json=new)).json()
    await talk.client.post("/api/agents/agent-001/instructions", json={"instructionId": made["familyId"]})
    return made["familyId"]


def hanging(talk: Talk) -> asyncio.Event:
    """Let the model begin to answer and never end; the event is set once it was asked."""
    asked = asyncio.Event()

    async def meanwhile() -> None:
        asked.set()

    talk.script.lines, talk.model.meanwhile = [Hang()], meanwhile
    return asked


def statuses(execution: Json) -> list[str]:
    return [one["status"] for one in execution["steps"]]


@covers("R117", "R121", "R122", "R123")
async def test_the_example_that_loads_instructions_and_then_chats(talk: Talk):
    await instruct(talk, "You are a professional customer support agent.")
    talk.script.lines = ["How can I help?"]
    asked = {
        "category": "agent",
        "type": "agent-chat",
        "resourceType": "agent",
        "resourceId": "agent-001",
        "steps": [
            {"index": 0, "name": "Load agent instructions", "command": LOAD},
            {"index": 1, "name": "Execute chat", "command": ask("Hello", instructions={}), "dependsOn": [0]},
        ],
    }
    answer = await talk.client.post("/api/executions", json=asked)
    assert answer.status_code == 202
    assert (answer.json()["status"], answer.json()["progress"]) == ("pending", {"done": 0, "total": 2})

    done = await until_ended(talk.client, answer)
    assert (done["status"], done["resourceId"], statuses(done)) == ("completed", "agent-001", ["completed"] * 2)
    loaded, chatted = done["steps"]
    assert loaded["output"]["effective"]["systemPrompt"] == "You are a professional customer support agent."
    assert (chatted["output"]["response"], chatted["output"]["status"]) == ("How can I help?", "completed")
    assert [one["number"] for one in chatted["attempts"]] == [1]
    assert talk.script.prompts[-1].system_text == loaded["output"]["effective"]["prompt"]

    turn = (await talk.client.get(f"/api/turns/{chatted['output']['turnId']}")).json()
    assert turn["pins"]["promptHash"] == loaded["output"]["effective"]["hash"]
    listed = (await talk.client.get("/api/executions?status=completed")).json()["items"]
    assert [one["executionId"] for one in listed] == [done["executionId"]]
    assert "steps" not in listed[0]
    assert (await talk.client.get("/api/executions?status=failed")).json()["items"] == []


@covers("R123")
async def test_what_was_loaded_is_what_the_agent_is_told_even_if_it_has_changed_since(talk: Talk):
    family = await instruct(talk, "Be brief.")

    async def meanwhile() -> None:
        await talk.client.put(f"/api/instructions/{family}", json={"content": {"systemPrompt": "Be long."}})

    talk.model.meanwhile = meanwhile
    done = await run(
        talk,
        step(0, LOAD),
        step(1, ask("One"), 0),
        step(2, ask("Two", instructions=take(0, "effective")), 0, 1),
        step(3, ask("Three"), 2),
    )
    assert done["status"] == "completed"
    assert [prompt.system_text for prompt in talk.script.prompts] == ["Be brief.", "Be brief.", "Be long."]


async def test_outputs_are_bound_where_they_are_referred_to(talk: Talk):
    talk.script.lines = ["Forty-two.", "Thanks."]
    done = await run(
        talk,
        step(0, ask("What is the answer?")),
        step(1, ask(take(0, "response"), conversationId=take(0, "conversationId")), 0),
        step(2, ask({"$from": {"step": 1, "path": "nothing.there"}}), 1, optional=True),
    )
    first, second, third = done["steps"]
    assert first["output"]["conversationId"] == second["output"]["conversationId"]
    assert [one.message.text for one in talk.script.prompts[-1].shown] == [
        "What is the answer?",
        "Forty-two.",
        "Forty-two.",
    ]
    assert (third["status"], third["code"]) == ("failed", "invalid")
    assert third["sentence"].startswith("Step 1 put out nothing at 'nothing.there'.")
    assert done["status"] == "completed"


BAD: dict[str, tuple[Json, str]] = {
    "no steps": ({"steps": []}, "invalid"),
    "no such index": ({"steps": [step(0, LOAD, 4)]}, "invalid"),
    "itself": ({"steps": [step(0, LOAD, 0)]}, "cyclic_steps"),
    "a cycle": ({"steps": [step(0, LOAD, 1), step(1, LOAD, 0)]}, "cyclic_steps"),
    "an index twice": ({"steps": [step(0, LOAD), step(0, LOAD)]}, "invalid"),
    "a command that is not listed": ({"steps": [step(0, {"type": "shell", "data": {}})]}, "invalid"),
    "a command of its own making": ({"steps": [step(0, LOAD | {"run": "rm -rf /"})]}, "invalid"),
    "instructions of one's own": ({"steps": [step(0, ask(instructions={"systemPrompt": "Obey."}))]}, "invalid"),
    "text as instructions": ({"steps": [step(0, ask(instructions="Obey."))]}, "invalid"),
    "another step's words as instructions": (
        {"steps": [step(0, ask()), step(1, ask(instructions=take(0, "response")), 0)]},
        "invalid",
    ),
    "a message that says nothing": ({"steps": [step(0, ask(" \n\ufeff"))]}, "invalid"),
    "what it does not depend on": ({"steps": [step(0, LOAD), step(1, ask(take(0)))]}, "invalid"),
    "too many retries": ({"steps": [step(0, LOAD, retries=4)]}, "invalid"),
    "an address that is not allowed": ({"steps": [step(0, hook("https://elsewhere.example/"))]}, "invalid"),
    "an address inside": ({"steps": [step(0, hook("http://169.254.169.254/latest/meta-data"))]}, "invalid"),
    "no address": ({"steps": [step(0, hook("file:///etc/passwd"))]}, "invalid"),
}


@covers("R121")
@pytest.mark.parametrize(("body", "code"), BAD.values(), ids=BAD)
async def test_what_cannot_be_carried_out_is_refused_and_leaves_nothing_behind(
    client: httpx2.AsyncClient, preceptor: Any, body: Json, code: str
):
    before = rows(preceptor)
    problem(await client.post("/api/executions", json=body), 422, code)
    assert rows(preceptor) == before


@covers("R123")
async def test_a_failure_skips_what_depends_on_it_and_lets_the_rest_go_on(talk: Talk):
    gone = ask("Hi", conversationId=await with_another(talk))
    done = await run(
        talk,
        step(0, gone),
        step(1, LOAD, 0),
        step(2, ask("Never said"), 1),
        step(3, ask("Said all the same")),
        step(4, gone, optional=True),
        step(5, LOAD, 4),
    )
    assert statuses(done) == ["failed", "skipped", "skipped", "completed", "failed", "completed"]
    assert (done["status"], done["code"]) == ("failed", "invalid")
    assert done["sentence"].startswith("Step 0 (step 0) failed: The conversation")
    assert done["steps"][2]["sentence"] == "Step 1, which it needs, did not come off."
    assert done["progress"] == {"done": 6, "total": 6}
    assert [one.message.text for one in talk.script.prompts[-1].shown] == ["Said all the same"]


async def with_another(talk: Talk) -> str:
    """A conversation that the agent of these steps has no part in."""
    return (await talk.client.post("/api/conversations", json={"agentId": "assistant"})).json()["conversationId"]


def broken(fault: Fault = Fault.REJECTED) -> Line:
    return ModelFailure(fault, "The model is away.")


@covers("R123")
async def test_a_step_is_tried_again_as_often_as_it_says_and_one_that_failed_can_be_retried(talk: Talk):
    talk.script.lines = [broken(), broken(), broken()]
    failed = await run(talk, step(0, LOAD), step(1, ask("Hello"), 0, retries=1), step(2, LOAD, 1))
    assert (failed["status"], statuses(failed)) == ("failed", ["completed", "failed", "skipped"])
    first, second = failed["steps"][1]["attempts"]
    assert (first["status"], first["code"], second["status"]) == ("failed", "upstream_failed", "failed")

    path = f"/api/executions/{failed['executionId']}"
    still = await until_ended(talk.client, await talk.client.post(f"{path}/retry"))
    assert (still["status"], len(still["steps"][1]["attempts"])) == ("completed", 4)
    assert statuses(still) == ["completed"] * 3
    assert len(still["steps"][0]["attempts"]) == 1
    shown = [one.message.text for one in talk.script.prompts[-1].shown]
    assert shown == ["Hello"]  # what was asked in vain is answered again, and not asked once more
    again = (await talk.client.post(f"{path}/retry")).json()
    assert again == still


async def test_a_mistake_is_not_tried_again(talk: Talk):
    lost = ask("Hello", conversationId=await with_another(talk))
    done = await run(talk, step(0, lost, retries=3))
    assert [one["code"] for one in done["steps"][0]["attempts"]] == ["invalid"]


async def test_a_blocked_turn_is_an_outcome_and_not_a_failure(settings: Settings):
    async with talking(settings) as talk:
        await talk.client.post("/api/agents", json={"agentId": "agent-001", "name": "Ann"})
        done = await run(talk, step(0, ask("How do I build a bomb at home?")))
        assert (done["status"], done["steps"][0]["output"]["status"]) == ("completed", "blocked")


async def test_a_step_and_an_execution_have_their_time(talk: Talk):
    talk.script.lines = [Hang()]
    slow = await run(talk, step(0, ask("Hello"), timeoutSeconds=1), step(1, LOAD, 0))
    assert (slow["status"], statuses(slow)) == ("failed", ["timeout", "skipped"])
    assert slow["steps"][0]["sentence"] == "It took longer than the 1 s it had."
    page = (await talk.client.get("/api/conversations?agentId=agent-001")).json()["items"]
    turn = await talk.preceptor.session.read(lambda work: work.turns.newest(page[0]["conversationId"]))
    assert turn is not None
    assert turn.status == "cancelled"

    talk.script.lines = [Hang()]
    over = await run(talk, step(0, ask("Hello")), step(1, LOAD, 0), timeoutSeconds=1)
    assert (over["status"], over["code"], statuses(over)) == ("timeout", "execution_timeout", ["timeout", "skipped"])


@covers("R123")
async def test_an_execution_is_cancelled_with_the_turn_it_takes_and_can_go_on_later(talk: Talk):
    asked = hanging(talk)
    steps = [step(0, LOAD), step(1, ask("Hello"), 0), step(2, LOAD, 1)]
    started = (await talk.client.post("/api/executions", json={"steps": steps})).json()
    path = f"/api/executions/{started['executionId']}"
    await asked.wait()
    stopped = (await talk.client.post(f"{path}/cancel")).json()
    assert (stopped["status"], statuses(stopped)) == ("cancelled", ["completed", "cancelled", "cancelled"])
    assert (await talk.client.post(f"{path}/cancel")).json() == stopped
    running = await talk.client.get("/api/conversations?agentId=agent-001")
    turn = await talk.preceptor.session.read(
        lambda work: work.turns.newest(running.json()["items"][0]["conversationId"])
    )
    assert turn is not None
    assert turn.status == "cancelled"
    done = await until_ended(talk.client, await talk.client.post(f"{path}/retry"))
    assert (done["status"], statuses(done)) == ("completed", ["completed"] * 3)


@covers("R117")
async def test_what_happens_is_told_as_it_happens_and_can_be_resumed(talk: Talk):
    done = await run(talk, step(0, LOAD), step(1, ask("Hello"), 0))
    path = f"/api/executions/{done['executionId']}/events"
    whole = (await talk.client.get(path)).text
    kinds = [kind for kind, _ in events_in(whole)]
    assert kinds == [
        "execution.accepted",
        "step.started",
        "step.completed",
        "step.started",
        "step.completed",
        "execution.completed",
    ]
    rest = (await talk.client.get(path, headers={"Last-Event-ID": "4"})).text
    assert [kind for kind, _ in events_in(rest)] == kinds[4:]
    for beyond in (6, 2**53):
        nothing = await talk.client.get(path, params={"after": beyond})
        assert (nothing.status_code, events_in(nothing.text)) == (200, [])


@covers("R117")
async def test_whoever_follows_an_execution_hears_of_its_end_also_if_it_comes_between_two_looks(talk: Talk):
    asked = hanging(talk)
    started = (await talk.client.post("/api/executions", json={"steps": [step(0, ask("Hello"))]})).json()
    await asked.wait()
    async with aclosing(talk.preceptor.executions.follow(TaskId(started["executionId"]), after=2)) as looks:
        assert await anext(looks) == []
        await talk.client.post(f"/api/executions/{started['executionId']}/cancel")
        kinds = [told.kind for look in [one async for one in looks] for told in look]
    assert kinds[-1] == "execution.cancelled"


@covers("S1")
async def test_a_step_may_do_no_more_than_whoever_asked_for_it(talk: Talk):
    """Also long after they asked, and whoever takes it up."""
    clerk = await new_key(talk.client, permissions=["execution:run", "agent:read"])
    for command, needed in ((LOAD, "instruction:read"), (ask(), "conversation:write")):
        body = {"steps": [step(0, command)]}
        refused = problem(await talk.client.post("/api/executions", json=body, headers=clerk), 403, "forbidden")
        assert needed in refused["detail"]
    await talk.say("A secret.")
    vera = bearer(await insert_key(talk.preceptor, user="vera", role=Role.OPERATOR))
    mine = {
        "steps": [step(0, {**ask("Tell me", conversationId=talk.id), "resource": {"type": "agent", "id": "assistant"}})]
    }
    own = await until_ended(
        talk.client, await talk.client.post("/api/executions", json=mine, headers=vera), headers=vera
    )
    assert own["status"] == "completed"  # an operator reads all of the organisation
    viktor = bearer(await insert_key(talk.preceptor, user="viktor", role=Role.VIEWER))
    problem(await talk.client.get(f"/api/executions/{own['executionId']}", headers=viktor), 403, "forbidden")


@covers("R194")
async def test_executions_of_another_organisation_do_not_exist(talk: Talk):
    done = await run(talk, step(0, LOAD))
    rival = await new_org(talk.client, "rivals")
    assert (await talk.client.get("/api/executions", headers=rival)).json()["items"] == []
    for method, path in (("GET", ""), ("POST", "/cancel"), ("POST", "/retry"), ("GET", "/events")):
        answer = await talk.client.request(method, f"/api/executions/{done['executionId']}{path}", headers=rival)
        problem(answer, 404, "not_found")
    theirs = {"steps": [step(0, LOAD)]}
    problem(await talk.client.post("/api/executions", json=theirs, headers=rival), 404, "not_found")


async def test_what_was_said_is_erased_with_its_conversation(talk: Talk):
    talk.script.lines = ["The password is swordfish."]
    done = await run(talk, step(0, ask("Tell me the swordfish")))
    assert done["steps"][0]["output"]["response"] == "The password is swordfish."
    conversation = done["steps"][0]["output"]["conversationId"]
    assert (await talk.client.post(f"/api/conversations/{conversation}/erase")).status_code == 200
    problem(await talk.client.get(f"/api/executions/{done['executionId']}"), 404, "not_found")
    listed = (await talk.client.get("/api/executions")).text
    assert "swordfish" not in listed
    assert done["executionId"] in listed


async def test_a_conversation_is_compacted_by_a_step(talk: Talk):
    done = await run(
        talk,
        step(0, ask("One")),
        step(1, ask("Two", conversationId=take(0, "conversationId")), 0),
        step(
            2,
            {
                "type": "conversation.compact",
                "resource": {"type": "conversation", "id": take(0, "conversationId")},
                "data": {"intermediate": True, "strategy": "drop"},
            },
            1,
        ),
    )
    assert (done["status"], statuses(done)) == ("completed", ["completed"] * 3)


async def test_a_replay_is_run_by_a_step(talk: Talk):
    said = await talk.say("Hello")
    replay = {"type": "replay.run", "data": {"turnIds": [said["turnId"]]}}
    done = await run(talk, step(0, replay))
    assert done["status"] == "completed"
    assert done["steps"][0]["output"]["summary"]["same"] == 1


@covers("R122")
async def test_what_an_experiment_has_shown_is_put_out_for_a_later_step_and_only_to_those_who_may_know(talk: Talk):
    experiment = await between(talk.client, await versions(talk.client))
    about = {"type": "experiment", "id": experiment["experimentId"]}
    analyse = {"type": "experiment.analyse", "resource": about}
    done = await run(talk, step(0, analyse), step(1, ask(take(0, "verdict.sentence")), 0))
    assert (done["status"], statuses(done)) == ("completed", ["completed"] * 2)
    shown = (await talk.client.get(f"{PATH}/{experiment['experimentId']}/results")).json()
    known = done["steps"][0]["output"]
    assert known.keys() == shown.keys()
    assert known["verdict"] == shown["verdict"]
    unknown = await run(talk, step(0, analyse | {"resource": about | {"id": "none"}}))
    assert (unknown["status"], unknown["steps"][0]["code"]) == ("failed", "not_found")
    key = await new_key(talk.client, permissions=["execution:run"])
    refused = await talk.client.post("/api/executions", json={"steps": [step(0, analyse)]}, headers=key)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


async def test_a_webhook_is_sent_what_was_put_out_to_an_address_that_is_allowed(settings: Settings):
    async with serving(http(200, b'{"ticket": 7}')) as server:
        allowed = settings.model_copy(update={"egress_allow": (f"http://127.0.0.1:{server.port}",)})
        async with talking(allowed) as talk:
            await talk.client.post("/api/agents", json={"agentId": "agent-001", "name": "Ann"})
            talk.script.lines = ["It is done."]
            url = f"http://127.0.0.1:{server.port}/tickets"
            body = {"text": take(0, "response"), "fixed": [1, None]}
            done = await run(talk, step(0, ask("Do it")), step(1, hook(url, body=body, headers={"X-Team": "a"}), 0))
    assert done["steps"][1]["output"] == {"status": 200, "body": {"ticket": 7}}
    assert json.loads(server.bodies[0]) == {"text": "It is done.", "fixed": [1, None]}
    head = server.heads[0].lower()
    assert f"idempotency-key: {done['executionId']}:1" in head
    assert "x-team: a" in head


async def test_a_webhook_that_may_have_arrived_is_not_sent_again_unless_its_receiver_can_tell(settings: Settings):
    async with serving(http(503, b"{}"), http(200, b"{}")) as server:
        allowed = settings.model_copy(update={"egress_allow": (f"http://127.0.0.1:{server.port}",)})
        async with talking(allowed) as talk:
            url = f"http://127.0.0.1:{server.port}/"
            once = await run(talk, step(0, hook(url), retries=3))
            assert (once["status"], len(server.bodies)) == ("failed", 1)
            server.answers[:] = [http(503, b"{}"), http(200, b"null")]
            again = await run(talk, step(0, hook(url, effect="idempotent"), retries=3))
            assert (again["status"], len(server.bodies)) == ("completed", 3)
            keys = {line for head in server.heads[1:] for line in head.splitlines() if "Idempotency-Key" in line}
            assert len(keys) == 1
            server.answers[:] = [http(302, b"", "Location: http://127.0.0.1:1/")]
            moved = await run(talk, step(0, hook(url)))
            assert moved["steps"][0]["sentence"].startswith("The address answered 302.")
            server.answers[:] = [unanswered]
            mute = await run(talk, step(0, hook(url), timeoutSeconds=1))
            assert mute["status"] == "failed"


async def test_many_steps_run_beside_each_other(talk: Talk):
    talk.script.lines = [Say(text=f"answer {number}") for number in range(24)]
    fan = [step(number, ask(f"Question {number}")) for number in range(24)]
    done = await run(talk, *fan, step(24, LOAD, *range(24)))
    assert (done["status"], done["progress"]["done"]) == ("completed", 25)
    assert len({one["output"]["conversationId"] for one in done["steps"][:24]}) == 24
