"""The decision tables over HTTP, past turns decided again, and what plans were worth."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from preceptor.adapters.observability.metrics import Metrics
from preceptor.domain.prompts.prompt import Prompt
from preceptor.domain.reasoning.routing import routing
from preceptor.domain.reasoning.verdict import GuardFailure, GuardFault, Level, Verdict
from preceptor.testing import FixedGuardian, Say
from tests.requirements import covers
from tests.scenarios.reasoned import Json, Talk, plan, planning, reasoning
from tests.surfaces.helpers import new_key, new_org, problem

UNCLEAR: Json = {"intent_confidence": 0.3, "action": "clarify", "clarification_question": "Which?"}
SORRY = "I am sorry for that."


@pytest.fixture
def guardian() -> FixedGuardian:
    when = {"BOOM": Verdict(Level.UNSAFE, ("Violent",)), "hm": Verdict(Level.CONTROVERSIAL), "mute": _DOWN}
    return FixedGuardian(when=when)


_DOWN = GuardFailure(GuardFault.TIMEOUT)


def script(prompt: Prompt) -> Say | str:
    text = next(one.message.text for one in reversed(prompt.shown) if one.message.role == "user")
    if not planning(prompt):
        return SORRY if "sorry" in text else "Look the order up: it is at the door."
    scores: dict[str, Json] = {
        "": {},
        "spam": {"spam_score": 0.65, "action": "normal"},
        "vague": UNCLEAR,
        "doubt": {"intent_confidence": 0.65, "action": "clarify", "clarification_question": "Which?"},
    }
    if "garbage" in text:
        return "Sure."
    return plan(**scores[max(word for word in scores if word in text)])


async def talked(talk: Talk, *texts: str) -> dict[str, str]:
    """A turn for each, in a conversation of its own; their ids."""
    found: dict[str, str] = {}
    for text in texts:
        fresh = await talk.another()
        answer = (await fresh.post(text)).json()
        found[text] = answer["turnId"]
    return found


@covers("R179")
async def test_the_tables_can_be_read_and_tried(tmp_path: Path, database_url: str):
    async with reasoning(tmp_path, database_url, script) as talk:
        told = (await talk.client.get("/api/decision-tables")).json()["items"]
        assert [table["tableId"] for table in told] == ["DT-001", "DT-002", "DT-003", "DT-004", "DT-005"]
        routes = told[1]
        assert (routes["version"], routes["hitPolicy"]) == (routing().version, "first")
        assert routes["markdown"] == str(routing())
        assert [row["row"] for row in routes["rows"]] == ["unsafe", "spam", "unscored", "unclear", "clear"]
        assert routes["rows"][1] == {
            "row": "spam",
            "when": {"spam_score": ">= 0.7"},
            "then": {"action": "block", "flow": "stop"},
        }

        facts: Json = {"level": "Safe", "spam_score": 0.6, "intent_confidence": 0.9}
        path = "/api/decision-tables/DT-002/test"
        decided = (await talk.client.post(path, json={"facts": facts})).json()
        assert (decided["row"], decided["then"]["action"], decided["matching"]) == ("clear", "normal", ["clear"])
        strict: Json = {"facts": facts, "thresholds": {"spamScore": 0.5}}
        assert (await talk.client.post(path, json=strict)).json()["row"] == "spam"
        assert (await talk.client.post(path, json={"facts": {"level": "Safe"}})).json()["row"] == "unscored"

        await talk.client.patch("/api/agents/assistant", json={"sgr": {"thresholds": {"spamScore": 0.4}}})
        own = (await talk.client.get("/api/decision-tables?agentId=assistant")).json()["items"][1]
        assert own["rows"][1]["when"] == {"spam_score": ">= 0.4"}
        assert own["version"] != routes["version"]
        of_agent: Json = {"facts": facts, "agentId": "assistant"}
        assert (await talk.client.post(path, json=of_agent)).json()["version"] == own["version"]


@pytest.mark.parametrize(
    ("table", "body", "status", "code"),
    [
        ("DT-009", {"facts": {}}, 404, "not_found"),
        ("DT-002", {"facts": {"level": "safe"}}, 422, "invalid"),
        ("DT-002", {"facts": {"level": "Safe", "spam": 1}}, 422, "invalid"),
        ("DT-002", {"facts": {"level": "Safe", "spam_score": "high"}}, 422, "invalid"),
        ("DT-002", {"facts": {"level": "Safe", "spam_score": True}}, 422, "invalid"),
        ("DT-002", {"facts": {"level": "Safe"}, "agentId": "nobody"}, 404, "not_found"),
        ("DT-002", {"facts": {}, "thresholds": {"spamScore": 2}}, 422, "invalid"),
        ("DT-002", {}, 422, "invalid"),
    ],
)
async def test_a_case_that_cannot_be_decided_is_refused(
    tmp_path: Path, database_url: str, table: str, body: Json, status: int, code: str
):
    async with reasoning(tmp_path, database_url, script) as talk:
        problem(await talk.client.post(f"/api/decision-tables/{table}/test", json=body), status, code)


CHANGES: dict[str, tuple[Json, dict[str, int]]] = {
    "nothing": ({}, {}),
    "stricter about spam": ({"thresholds": {"spamScore": 0.6}}, {"normal → block": 1}),
    "surer": ({"thresholds": {"intentConfidence": 0.95}}, {"normal → clarify": 4}),
    "less sure": ({"thresholds": {"intentConfidence": 0.1}, "opinions": "table"}, {"clarify → normal": 2}),
    "tables alone": ({"opinions": "table"}, {"clarify → normal": 1}),
    "never asking": ({"maxClarifications": 0}, {"clarify → normal": 2}),
    "report": ({"mode": "report"}, {"guardian_block → unknown": 1}),
    "doubt is danger": ({"levels": {"Controversial": "Unsafe"}}, {"normal → guardian_block": 1}),
    "danger is doubt": ({"levels": {"Unsafe": "Controversial"}}, {"guardian_block → unknown": 1}),
}


@pytest.mark.parametrize(("rules", "changes"), CHANGES.values(), ids=CHANGES)
async def test_past_turns_are_decided_again_without_a_model(
    tmp_path: Path, database_url: str, guardian: FixedGuardian, rules: Json, changes: dict[str, int]
):
    async with reasoning(tmp_path, database_url, script, guardian) as talk:
        await talked(talk, "order", "spam", "vague", "doubt", "BOOM", "hm order", "garbage", "mute")
        asked = len(talk.model.prompts), len(guardian.asked)
        answer = await talk.client.post("/api/reasoning/back-test", json=rules)
        assert answer.status_code == 200, answer.text
        told = answer.json()
        assert told["changes"] == changes
        assert (told["turns"], told["changed"], told["complete"]) == (8, sum(changes.values()), True)
        assert told["same"] == 8 - told["changed"]
        assert len(told["items"]) == told["changed"]
        for item in told["items"]:
            assert item["before"]["action"] != item["after"]["action"]
            assert item["before"]["row"]
            assert item["after"]["table"] in {"DT-001", "DT-002"}
        assert (len(talk.model.prompts), len(guardian.asked)) == asked


async def test_a_back_test_looks_where_it_is_told_to(tmp_path: Path, database_url: str, guardian: FixedGuardian):
    async with reasoning(tmp_path, database_url, script, guardian) as talk:
        await talked(talk, "spam")
        await talk.client.post("/api/agents", json={"agentId": "another", "name": "Another"})
        rules: Json = {"thresholds": {"spamScore": 0.6}}
        now = datetime.now(UTC)
        earlier, later = ((now + timedelta(hours=hours)).isoformat() for hours in (-1, 1))
        for where, turns in (
            ({"from": earlier, "to": later}, 1),
            ({"from": later}, 0),
            ({"to": earlier}, 0),
            ({"agentId": "assistant"}, 1),
            ({"agentId": "another"}, 0),
        ):
            told = (await talk.client.post("/api/reasoning/back-test", json=rules | where)).json()
            assert told["turns"] == turns
        problem(await talk.client.post("/api/reasoning/back-test", json={"from": later, "to": earlier}), 422, "invalid")
        problem(await talk.client.post("/api/reasoning/back-test", json={"agentId": "nope"}), 404, "not_found")
        rival = await new_org(talk.client, "rivals")
        assert (await talk.client.post("/api/reasoning/back-test", json=rules, headers=rival)).json()["turns"] == 0
        editor = await new_key(talk.client, role="editor")
        refused = await talk.client.post("/api/reasoning/back-test", json=rules, headers=editor)
        problem(refused, 403, "forbidden")


@covers("R182")
async def test_plans_are_measured_per_turn_and_for_a_period(tmp_path: Path, database_url: str, guardian: FixedGuardian):
    async with reasoning(tmp_path, database_url, script, guardian) as talk:
        turns = await talked(talk, "order", "spam", "vague", "BOOM", "garbage", "mute")
        for _ in range(3):
            await talk.say("sorry")
        record = (await talk.record(turns["order"]))["metrics"]
        assert record["action"] == "normal"
        assert 0 < record["rougeL"] < 1
        assert 0 < record["chrf"] < 1
        assert record["planCalls"] == 1
        assert record["traceTokens"] > record["responseTokens"] > 0
        assert record["analysisTokens"] > 0
        assert record.get("traceVisible", False) is False
        assert (await talk.record(turns["garbage"]))["metrics"]["degraded"] is True
        assert "action" not in (await talk.record(turns["BOOM"]))["metrics"]

        told: dict[str, Any] = (await talk.client.get("/api/reasoning/metrics")).json()
        summary = told["summary"]
        assert summary["statuses"] == {"blocked": 1, "clarify": 1, "completed": 6, "failed": 1}
        assert summary["guard"] == {"judged": 8, "unavailable": 1}
        assert summary["actions"] == {"clarify": 1, "normal": 6}
        assert (summary["turns"], summary["planned"], summary["degraded"]) == (9, 7, 1)
        assert (summary["apologyLoops"], summary["tracesVisible"], told["complete"]) == (1, 0, True)
        assert summary["traceTokens"] > summary["responseTokens"]
        [group] = told["groups"]
        assert (group["agentId"], group["summary"]) == ("assistant", summary)

        assert (await talk.client.get("/api/reasoning/metrics?agentId=nobody")).json()["summary"]["turns"] == 0
        spoke = await talk.client.get("/api/reasoning/metrics?instructionId=nothing")
        assert spoke.json()["summary"]["turns"] == 0
        viewer = await new_key(talk.client, role="viewer")
        problem(await talk.client.get("/api/reasoning/metrics", headers=viewer), 403, "forbidden")


async def test_metrics_are_apart_for_what_an_agent_was_told(tmp_path: Path, database_url: str):
    async with reasoning(tmp_path, database_url, script) as talk:
        await talked(talk, "order")
        new = {"name": "Tone", "type": "system", "content": {"systemPrompt": "Be kind."}}
        made = (await talk.client.post("/api/instructions", json=new)).json()
        await talk.client.post("/api/agents/assistant/instructions", json={"instructionId": made["familyId"]})
        await talked(talk, "order", "spam")
        told = (await talk.client.get("/api/reasoning/metrics")).json()
        assert [group["summary"]["turns"] for group in told["groups"]] == [2, 1]
        assert len({group["promptHash"] for group in told["groups"]}) == 2
        spoke = await talk.client.get(f"/api/reasoning/metrics?instructionId={made['instructionId']}")
        assert spoke.json()["summary"]["turns"] == 2


async def test_what_became_of_turns_is_counted(tmp_path: Path, database_url: str, guardian: FixedGuardian):
    metrics = Metrics()
    async with reasoning(tmp_path, database_url, script, guardian, settled=metrics.turn) as talk:
        await talked(talk, "order", "vague", "doubt", "BOOM", "garbage", "mute")
    told = metrics.render()[0].decode()
    for line in (
        'preceptor_turns_total{action="normal",guard="judged",status="completed"} 2.0',
        'preceptor_turns_total{action="clarify",guard="judged",status="clarify"} 2.0',
        'preceptor_turns_total{action="none",guard="judged",status="blocked"} 1.0',
        'preceptor_turns_total{action="none",guard="unavailable",status="failed"} 1.0',
        "preceptor_degraded_plans_total 1.0",
        "preceptor_plan_disagreements_total 1.0",
    ):
        assert line in told
