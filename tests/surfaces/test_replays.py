"""Replays over HTTP: past turns with another version, model, history, injection or guard; and gates of labels."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from preceptor import Settings, tool
from preceptor.domain.ids import StreamId, TaskId
from preceptor.domain.messages.message import ToolCall
from preceptor.domain.prompts.prompt import Prompt
from preceptor.domain.prompts.reply import Fault, ModelFailure
from preceptor.domain.reasoning.verdict import GuardFailure, GuardFault, Level, Verdict
from preceptor.domain.replays.facts import CancelRequested, event
from preceptor.testing import Called, FixedGuardian, Say
from tests.requirements import covers
from tests.scenarios.reasoned import plan, planning, reasoning
from tests.surfaces.helpers import new_key, new_org, problem, rows, until_ended
from tests.surfaces.talking import DELEGATION, Talk, talking

Json = dict[str, Any]
effects: list[str] = []


@tool(effect="once")
def send_mail(to: str) -> str:
    """Send a mail."""
    effects.append(to)
    return f"sent to {to}"


@tool(effect="read")
def look_up(what: str) -> str:
    """Look something up."""
    effects.append(what)
    return f"{what} is fine"


TOOLS = [send_mail, look_up]


@pytest.fixture
async def talk(settings: Settings) -> AsyncGenerator[Talk]:
    effects.clear()
    news = {"guard_enabled": False, "tools": ("tests.surfaces.test_replays:TOOLS",)}
    async with talking(settings.model_copy(update=news)) as opened:
        tools = ["calculator", "send_mail", "look_up"]
        await opened.client.patch("/api/agents/assistant", json={"tools": tools})
        yield opened


async def instruct(talk: Any, **content: Any) -> Json:
    new = {"name": "Support", "type": "system", "content": {"systemPrompt": "Be kind.", **content}}
    made = (await talk.client.post("/api/instructions", json=new)).json()
    await talk.client.post("/api/agents/assistant/instructions", json={"instructionId": made["familyId"]})
    return made


async def revise(talk: Any, family: str, **news: Any) -> Json:
    return (await talk.client.put(f"/api/instructions/{family}", json=news)).json()


async def replay(talk: Any, **asked: Any) -> Json:
    return await until_ended(talk.client, await talk.client.post("/api/replays", json=asked))


async def everything_that_turns_do(talk: Talk) -> list[str]:
    """Turns of every kind: plain, with tools, delegated, edited, compacted, limited; their ids."""
    ids = [(await talk.say("Hello", "Hi."))["turnId"]]
    mail = Called("send_mail", {"to": "ann"})
    ids.append((await talk.say("Mail", Say(text="One moment.", tool_calls=(mail,)), "Done."))["turnId"])
    ids.append((await talk.say("Think", *DELEGATION))["turnId"])
    await talk.compact(intermediate=True, strategy="concat")
    ids.append((await talk.say("And now?"))["turnId"])
    question = (await talk.messages())[-2]["id"]
    again = (await talk.post("edit", {"messageId": question, "content": "And then?"})).json()
    ids.append(again["turnId"])
    short = {"content": "Short", "parameters": {"maxHistorySize": 2, "temperature": 0.5}}
    ids.append((await talk.client.post(f"{talk.path}/messages", json=short)).json()["turnId"])
    return ids


async def test_with_nothing_changed_every_request_of_every_turn_has_the_very_bytes_it_had(talk: Talk):
    family = (await instruct(talk, guidelines=["Greet"]))["familyId"]
    turns = await everything_that_turns_do(talk)
    await revise(talk, family, content={"guidelines": ["Shout"]})  # what comes later changes nothing of what was
    before, said = rows(talk.preceptor), len(talk.script.prompts)
    done = await replay(talk, turnIds=turns)
    assert (done["status"], done["summary"]["same"], done["summary"]["changed"]) == ("completed", len(turns), 0)
    calls = [call for item in done["items"] for call in item["calls"]]
    assert len(calls) == said
    assert all(call["sameRequest"] and not call["contextDiff"] for call in calls)
    assert (done["summary"]["tokens"], len(talk.script.prompts)) == (0, said)
    after = rows(talk.preceptor)
    assert {name for name in after if after[name] != before[name]} == {
        "events",
        "streams",
        "tasks",
        "replay_items",
    }
    assert effects == ["ann"]


@covers("R193")
async def test_with_another_version_only_the_lines_that_changed_differ(talk: Talk):
    made = await instruct(talk, guidelines=["Greet", "Listen"], constraints=["Never lie"])
    turns = await everything_that_turns_do(talk)
    news = {"guidelines": ["Greet warmly", "Listen"]}
    new = await revise(talk, made["familyId"], content=news)
    for named in (new["version"], new["instructionId"]):
        done = await replay(talk, turnIds=turns, overrides={"instructions": {made["familyId"]: named}})
        assert done["summary"]["changed"] == len(turns)
        for item in done["items"]:
            diff = {(one["side"], one["role"], one["text"]) for one in item["contextDiff"]}
            assert diff == {("before", "system", "- Greet\n"), ("after", "system", "- Greet warmly\n")}
            assert {one["source"]["version"] for one in item["contextDiff"]} == {made["version"], new["version"]}
            mine = [call for call in item["calls"] if call["contextDiff"]]
            assert all(not call["sameRequest"] for call in mine)
        delegated = done["items"][2]["calls"]
        assert [bool(call["contextDiff"]) for call in delegated] == [True, False, False, True]
    assert (done["comparison"][0]["metric"], done["comparison"][0]["units"]) == ("promptTokens", 1)
    assert done["comparison"][0]["difference"] > 0


async def test_a_live_replay_asks_again_writes_to_no_conversation_and_runs_no_tool(talk: Talk):
    made = await instruct(talk)
    mail = Called("send_mail", {"to": "ann"})
    turn = await talk.say("Mail", Say(text="One moment.", tool_calls=(mail,)), "Done.")
    new = await revise(talk, made["familyId"], content={"systemPrompt": "Be rude."})
    messages, stream = await talk.messages("all"), await talk.events()

    talk.script.lines = [Say(tool_calls=(Called("send_mail", {"to": "bob"}),)), "Go away."]
    overrides = {"instructions": {made["familyId"]: new["version"]}}
    asked = {"turnIds": [turn["turnId"]], "overrides": overrides, "replies": "live", "concurrency": 1}
    done = await replay(talk, **asked)
    [item] = done["items"]
    assert (item["status"], item["same"], item["answer"]) == ("done", False, "Go away.")
    assert item["answerDiff"] == {"removed": ["Done."], "added": ["Go away."]}
    first, second = item["calls"]
    assert first["after"] == '→ send_mail {"to":"bob"}'
    assert (second["before"], second["after"]) == ("Done.", "Go away.")
    assert talk.script.prompts[-1].system_text == "Be rude."
    assert [one.message.text for one in talk.script.prompts[-1].shown][:2] == ["Mail", "One moment."]
    assert done["summary"]["tokens"] == item["tokens"] > 0
    assert "answered anew" in done["validity"]
    assert effects == ["ann"]
    assert (await talk.messages("all"), await talk.events()) == (messages, stream)


async def test_a_trajectory_goes_on_with_its_own_words_until_it_calls_something_else(talk: Talk):
    look = Called("look_up", {"what": "door"})
    turn = await talk.say("Look", Say(text="Let me see.", tool_calls=(look,)), Say(tool_calls=(look,)), "All fine.")
    asked = {"turnIds": [turn["turnId"]], "mode": "trajectory", "replies": "live"}
    talk.script.lines = [Say(text="Just a second.", tool_calls=(look,)), Say(tool_calls=(look,)), "The door is fine."]
    [item] = (await replay(talk, **asked))["items"]
    assert (item["status"], item["answer"], item["diverged"]) == ("done", "The door is fine.", None)
    shown = [one.message for one in talk.script.prompts[-1].shown]
    assert shown[1].text == "Just a second."
    assert [result.content for result in shown[2].tool_results] == ["door is fine"]
    assert isinstance(shown[1].parts[1], ToolCall)
    assert shown[2].tool_results[0].tool_call_id == shown[1].parts[1].id

    talk.script.lines = [Say(text="Hm.", tool_calls=(look,)), Say(tool_calls=(Called("look_up", {"what": "roof"}),))]
    done = await replay(talk, **asked)
    [item] = done["items"]
    assert (item["status"], item["same"], len(item["calls"])) == ("diverged", False, 2)
    assert item["diverged"].startswith('Call 2: It called look_up {"what":"roof"} instead of look_up {"what":"door"}.')
    assert item["answer"] == "All fine."
    assert done["summary"]["diverged"] == 1
    assert effects == ["door", "door"]


async def test_another_model_other_sampling_and_less_history(talk: Talk):
    for number in range(4):
        await talk.say(f"Question {number}", f"Answer {number}")
    turn = await talk.say("Last", "Bye.")
    [item] = (await replay(talk, turnIds=[turn["turnId"]], overrides={"parameters": {"temperature": 0.1}}))["items"]
    assert (item["same"], item["contextDiff"]) == (False, [])
    [item] = (await replay(talk, turnIds=[turn["turnId"]], overrides={"parameters": {"maxHistorySize": 3}}))["items"]
    gone = [one["text"] for one in item["contextDiff"]]
    assert gone == ["Question 0", "Answer 0", "Question 1", "Answer 1", "Question 2", "Answer 2"]
    assert {one["side"] for one in item["contextDiff"]} == {"before"}
    other = type(talk.model)(lambda _: "Adieu.", name="other")
    registry: Any = talk.preceptor.session.means.models
    registry.add("openai:other", other)
    asked: Json = {"turnIds": [turn["turnId"]], "overrides": {"model": "openai:other"}, "replies": "live"}
    [item] = (await replay(talk, **asked))["items"]
    assert (item["answer"], item["calls"][0]["model"], item["contextDiff"]) == ("Adieu.", "other", [])
    problem(await talk.client.post("/api/replays", json=asked | {"overrides": {"model": "nonsense"}}), 422, "invalid")


async def test_rules_are_checked_and_failures_are_told(talk: Talk):
    made = await instruct(talk)
    turn = (await talk.say("Hello", "LGTM without review"))["turnId"]
    other = (await talk.say("Again", "Fine."))["turnId"]
    rules = {"prohibitedKeywords": ["lgtm without review"]}
    new = await revise(talk, made["familyId"], validationRules=rules, content={"systemPrompt": "Be strict."})
    overrides = {"instructions": {made["familyId"]: new["version"]}}
    done = await replay(talk, turnIds=[turn, other], overrides=overrides)
    assert done["summary"]["ruleBreaks"] == 1
    assert [[rule["passed"] for rule in item["rules"]] for item in done["items"]] == [[False], [True]]
    kept = next(one for one in done["comparison"] if one["metric"] == "rulesKept")
    assert (kept["before"], kept["after"]) == (0.5, 0.5)
    talk.script.lines = [ModelFailure(Fault.UNAUTHORIZED, "No key."), "Fine."]
    done = await replay(talk, turnIds=[turn, other], replies="live", concurrency=1)
    assert (done["status"], done["summary"]["failed"]) == ("completed", 1)
    assert (done["items"][0]["status"], done["items"][0]["code"]) == ("failed", "upstream_failed")


def script(prompt: Prompt) -> Say | str:
    return plan() if planning(prompt) else "It is at the door."


@pytest.mark.parametrize("injection", ["formatted_tool_result", "raw_tool_result"])
async def test_a_plan_is_put_before_the_model_in_another_way(tmp_path: Path, database_url: str, injection: str):
    async with reasoning(tmp_path, database_url, script) as talk:
        turn = await talk.say()
        same = await replay(talk, turnIds=[turn["turnId"]])
        assert (same["summary"]["same"], [call["purpose"] for call in same["items"][0]["calls"]]) == (
            1,
            ["plan", "answer"],
        )
        [item] = (await replay(talk, turnIds=[turn["turnId"]], overrides={"sgr": {"injection": injection}}))["items"]
        assert {one["side"]: one["role"] for one in item["contextDiff"]} == {"before": "assistant", "after": "tool"}
        [item] = (await replay(talk, turnIds=[turn["turnId"]], overrides={"sgr": {"enabled": "false"}}))["items"]
        assert {one["side"] for one in item["contextDiff"]} == {"before"}
        assert any("turn_directive" in str(one["source"]) for one in item["contextDiff"])
        strict = {"sgr": {"thresholds": {"intentConfidence": 0.95}}}
        [item] = (await replay(talk, turnIds=[turn["turnId"]], overrides=strict, replies="live"))["items"]
        assert (item["fate"], item["same"], item["tokens"]) == ({"before": "normal", "after": "clarify"}, False, 0)


async def test_without_planning_a_turn_that_asked_back_is_answered(tmp_path: Path, database_url: str):
    def unsure(prompt: Prompt) -> Say | str:
        return plan(intent_confidence=0.3, action="clarify") if planning(prompt) else "It is at the door."

    guardian = FixedGuardian(when={"hm": Verdict(Level.UNSAFE, ("Violent",))})
    async with reasoning(tmp_path, database_url, unsure, guardian) as talk:
        turns = [(await talk.post(text)).json()["turnId"] for text in ("Where is it?", "hm")]
        [asked_back, blocked] = (await replay(talk, turnIds=turns, overrides={"sgr": {"enabled": False}}))["items"]
        assert (asked_back["fate"], blocked["fate"]) == ({"before": "clarify", "after": "normal"}, None)
        assert "never answered" in asked_back["notes"][0]
        [asked_back, blocked] = (await replay(talk, turnIds=turns, overrides={"guard": {"enabled": False}}))["items"]
        assert (asked_back["fate"], blocked["fate"]) == (None, {"before": "guardian_block", "after": "unknown"})
        off = {"guard": {"enabled": False}, "sgr": {"enabled": False}}
        items = (await replay(talk, turnIds=turns, overrides=off))["items"]
        assert [item["fate"]["after"] for item in items] == ["normal", "normal"]


async def test_what_an_override_leaves_out_is_as_it_was_for_the_turn(tmp_path: Path, database_url: str):
    sure = {"injection": "raw_tool_result", "thresholds": {"intentConfidence": 0.1}}
    guardian = FixedGuardian(GuardFailure(GuardFault.TIMEOUT, "no answer"))

    def unsure(prompt: Prompt) -> Say | str:
        return plan(intent_confidence=0.5) if planning(prompt) else "It is at the door."

    async with reasoning(tmp_path, database_url, unsure, guardian) as talk:
        policies = {"sgr": sure, "guard": {"onError": "continue"}}
        assert (await talk.client.patch("/api/agents/assistant", json=policies)).status_code == 200
        turn = (await talk.say())["turnId"]
        for override in ({"sgr": {"maxClarifications": 9}}, {"guard": {"mode": "enforce"}}):
            [item] = (await replay(talk, turnIds=[turn], overrides=override))["items"]
            assert (item["fate"], item["contextDiff"], item["same"]) == (None, [], True)


async def test_planning_that_is_switched_on_for_a_past_turn_is_not_taken_for_no_change(talk: Talk):
    turn = (await talk.say("Where is it?"))["turnId"]
    [item] = (await replay(talk, turnIds=[turn], overrides={"sgr": {"enabled": True}}))["items"]
    assert "what planning would change is not known" in item["notes"][0]


async def test_another_guard_policy_decides_by_the_verdict_on_the_record(tmp_path: Path, database_url: str):
    guardian = FixedGuardian(when={"hm": Verdict(Level.UNSAFE, ("Violent",))})
    async with reasoning(tmp_path, database_url, lambda _: "Fine.", guardian, sgr_enabled=False) as talk:
        blocked = (await talk.post("hm")).json()["turnId"]
        fine = (await talk.say("Hello"))["turnId"]
        asked = len(guardian.asked)
        done = await replay(talk, turnIds=[blocked, fine], overrides={"guard": {"mode": "report"}})
        first, second = done["items"]
        assert first["fate"] == {"before": "guardian_block", "after": "normal"}
        assert "never answered" in first["notes"][0]
        assert second["same"]
        done = await replay(talk, turnIds=[blocked, fine], overrides={"guard": {"enabled": False}})
        assert [item["fate"] for item in done["items"]] == [first["fate"], None]
        assert len(guardian.asked) == asked


async def test_turns_are_chosen_by_a_filter_and_found_again_page_by_page(talk: Talk):
    made = await instruct(talk)
    turns = [(await talk.say(f"Question {number}"))["turnId"] for number in range(5)]
    new = await revise(talk, made["familyId"], content={"systemPrompt": "Be brief."})
    chosen = {"agentId": "assistant", "conversationId": talk.id, "instructionId": made["instructionId"], "limit": 3}
    done = await replay(talk, filter=chosen, overrides={"instructions": {made["familyId"]: new["version"]}})
    assert [item["turnId"] for item in done["items"]] == turns[2:]
    path = f"/api/replays/{done['replayId']}/items"
    first = (await talk.client.get(f"{path}?limit=2&changed=true")).json()
    rest = (await talk.client.get(f"{path}?limit=2&changed=true&cursor={first['nextCursor']}")).json()
    assert [item["turnId"] for item in (*first["items"], *rest["items"])] == turns[2:]
    assert rest["nextCursor"] is None
    await talk.client.post("/api/agents", json={"agentId": "nobody", "name": "Nobody has asked it anything"})
    none = await replay(talk, filter={"agentId": "nobody"})
    assert (none["status"], none["summary"]["turns"]) == ("completed", 0)
    spoke = await replay(talk, filter={"instructionId": made["familyId"]})
    assert (spoke["summary"]["turns"], new["isLatestVersion"]) == (0, True)  # a family means its head
    unused = await replay(talk, turnIds=turns[:1], overrides={"instructions": {(await unassigned(talk)): "1.0.0"}})
    assert unused["items"][0]["notes"] == ["None of the instructions that are changed spoke in this turn."]
    listed = (await talk.client.get("/api/replays?status=completed")).json()["items"]
    assert [one["replayId"] for one in listed][-1] == done["replayId"]


async def unassigned(talk: Talk) -> str:
    new = {"name": "Other", "type": "system", "content": {"systemPrompt": "x"}}
    return (await talk.client.post("/api/instructions", json=new)).json()["familyId"]


BAD: dict[str, tuple[Json, int, str]] = {
    "nothing": ({}, 422, "invalid"),
    "both": ({"turnIds": ["x"], "filter": {}}, 422, "invalid"),
    "no turn": ({"turnIds": []}, 422, "invalid"),
    "an unknown turn": ({"turnIds": ["no-such-turn"]}, 404, "not_found"),
    "an unknown instruction": ({"filter": {}, "overrides": {"instructions": {"none": "1.0.0"}}}, 404, "not_found"),
    "an unknown agent": ({"filter": {"agentId": "nope"}}, 404, "not_found"),
    "an unknown conversation": ({"filter": {"conversationId": "nope"}}, 404, "not_found"),
    "an unknown version": ({"filter": {"instructionId": "nope"}}, 404, "not_found"),
    "an unknown mode": ({"filter": {}, "mode": "sideways"}, 422, "invalid"),
    "too many at once": ({"filter": {}, "concurrency": 17}, 422, "invalid"),
    "the end before the start": (
        {"filter": {"from": "2026-02-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}},
        422,
        "invalid",
    ),
}


@pytest.mark.parametrize(("body", "status", "code"), BAD.values(), ids=BAD)
async def test_what_cannot_be_replayed_is_refused(client: Any, preceptor: Any, body: Json, status: int, code: str):
    before = rows(preceptor)
    problem(await client.post("/api/replays", json=body), status, code)
    assert rows(preceptor) == before


@covers("R194")
async def test_a_replay_shows_no_one_what_they_could_not_read(talk: Talk):
    turn = (await talk.say("A secret."))["turnId"]
    done = await replay(talk, turnIds=[turn])
    rival = await new_org(talk.client, "rivals")
    problem(await talk.client.post("/api/replays", json={"turnIds": [turn]}, headers=rival), 404, "not_found")
    for path in ("", "/items", "/events"):
        problem(await talk.client.get(f"/api/replays/{done['replayId']}{path}", headers=rival), 404, "not_found")
    none = await until_ended(
        talk.client, await talk.client.post("/api/replays", json={"filter": {}}, headers=rival), headers=rival
    )
    assert none["summary"]["turns"] == 0
    editor = await new_key(talk.client, role="editor")
    problem(await talk.client.post("/api/replays", json={"filter": {}}, headers=editor), 403, "forbidden")
    assert (await talk.post("erase")).status_code == 200
    left = (await talk.client.get(f"/api/replays/{done['replayId']}")).json()
    assert (left["items"], left["status"]) == ([], "completed")
    [item] = (await replay(talk, turnIds=[turn]))["items"]
    assert (item["status"], item["code"], item["answer"]) == ("failed", "not_found", None)


async def test_a_replay_is_cancelled_and_keeps_what_it_found(talk: Talk):
    turns = [(await talk.say(f"Question {number}"))["turnId"] for number in range(3)]
    replay_id: list[str] = []

    async def meanwhile() -> None:
        page = (await talk.client.get("/api/replays?status=running")).json()["items"]
        replay_id.append(page[0]["replayId"])
        row = TaskId(replay_id[0])
        await talk.preceptor.session.write(lambda work: work.tasks.request_cancel(row, "admin"))
        await talk.preceptor.session.write(
            lambda work: work.log.append(StreamId(row), [event(CancelRequested(by="admin"))])
        )
        talk.preceptor.tasks.stop(row)

    talk.model.meanwhile = meanwhile
    stopped = await replay(talk, turnIds=turns, replies="live", concurrency=1)
    assert (stopped["status"], stopped["progress"]["total"]) == ("cancelled", 3)
    assert (await talk.client.post(f"/api/replays/{replay_id[0]}/cancel")).json() == stopped


async def test_a_label_with_a_gate_moves_only_to_versions_that_have_passed_it(talk: Talk):
    made = await instruct(talk)
    family = made["familyId"]
    path = f"/api/instructions/{family}/labels/production"
    assert (await talk.client.put(path, json={"instructionId": made["instructionId"]})).status_code == 200
    await talk.say("Hello", "As an AI, I cannot.")
    problem(await talk.client.get(f"{path}/gate"), 404, "not_found")
    gate = (await talk.client.put(f"{path}/gate", json={"turns": 10})).json()
    assert (gate["label"], gate["maxRuleBreaks"], gate["verdicts"]) == ("production", 0.0, [])

    rules = {"prohibitedKeywords": ["as an ai"]}
    strict = await revise(talk, family, content={"systemPrompt": "Be strict."}, validationRules=rules)
    lax = await revise(talk, family, content={"systemPrompt": "Be lax."}, validationRules=None)
    for version in (strict, lax):
        refused = problem(
            await talk.client.put(path, json={"instructionId": version["instructionId"]}), 409, "gate_closed"
        )
        assert "no replay has been run with it" in refused["detail"]
        body = {"instructionId": version["instructionId"]}
        ran = await until_ended(talk.client, await talk.client.post(f"{path}/gate/run", json=body))
        assert ran["gate"]["passed"] == (version is lax)
    told = problem(await talk.client.put(path, json={"instructionId": strict["instructionId"]}), 409, "gate_closed")
    assert "1 of 1 turns break a rule; 0% may." in told["detail"]
    moved = await talk.client.put(path, json={"instructionId": lax["instructionId"]})
    assert (moved.status_code, moved.json()["instructionId"]) == (200, lax["instructionId"])
    verdicts = (await talk.client.get(f"{path}/gate")).json()["verdicts"]
    assert {one["instructionId"]: one["passed"] for one in verdicts} == {
        strict["instructionId"]: False,
        lax["instructionId"]: True,
    }

    assert (await talk.client.put(f"{path}/gate", json={"turns": 5, "atLeast": 3})).json()["verdicts"] == []
    body = {"instructionId": strict["instructionId"]}
    few = await until_ended(talk.client, await talk.client.post(f"{path}/gate/run", json=body))
    assert few["gate"]["reasons"][0] == "1 turns could be replayed, and at least 3 are asked for."
    assert (await talk.client.delete(f"{path}/gate")).status_code == 204
    assert (await talk.client.put(path, json={"instructionId": strict["instructionId"]})).status_code == 200


async def test_a_bundle_does_not_get_past_a_gate(talk: Talk):
    made = await instruct(talk)
    family = made["familyId"]
    path = f"/api/instructions/{family}/labels/production"
    await talk.client.put(path, json={"instructionId": made["instructionId"]})
    new = await revise(talk, family, content={"systemPrompt": "Be lax."})
    bundle = (await talk.client.get("/api/instructions/export")).json()
    for one in bundle["instructions"]:
        one["labels"] = dict.fromkeys(one.get("labels", {}), new["version"])
    await talk.client.put(f"{path}/gate", json={})
    answer = await talk.client.post("/api/instructions/import?force=true", json=bundle)
    problem(answer, 409, "gate_closed")
    assert (await talk.client.get(path)).json()["instructionId"] == made["instructionId"]
