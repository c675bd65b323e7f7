"""The same turns through the other doors: an OpenAI client's, streamed or not, and a terminal's."""

import json
from pathlib import Path
from typing import Any

import pytest

from preceptor.domain.reasoning.verdict import Verdict
from preceptor.testing import FixedGuardian
from tests.requirements import covers
from tests.scenarios.reasoned import PLAN, SECRETS, Json, reasoning
from tests.scenarios.test_guardian import FLOWS, Flow
from tests.surfaces.test_cli import Cli, cli
from tests.surfaces.test_openai_api import frames

__all__ = ["cli"]

FINISH = {"completed": "stop", "clarify": "stop", "blocked": "content_filter"}


@covers("R130", "R140", "R170", "R171")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("mode", "flow"), FLOWS.values(), ids=FLOWS)
async def test_an_openai_client_is_told_where_the_tables_led(tmp_path: Path, mode: str, flow: Flow, stream: bool):
    judged, script, status, kind, calls = flow
    guardian = FixedGuardian(judged)
    async with reasoning(tmp_path, f"sqlite:///{tmp_path}/one.db", script, guardian, guard_mode=mode) as talk:
        body: Json = {"model": "assistant", "messages": [{"role": "user", "content": "Where is my order?"}]}
        answer = await talk.client.post("/v1/chat/completions", json=body | {"stream": stream})
        assert answer.status_code == 200, answer.text
        told, finish = _told(answer.text, stream=stream)
        assert (finish, len(talk.model.prompts)) == (FINISH[status], calls)
        assert guardian.asked == ["Where is my order?"]
        assert not [secret for secret in SECRETS if secret in answer.text]
        page = (await talk.client.get("/api/conversations", params={"limit": 1})).json()["items"][0]
        rows = (await talk.client.get(f"/api/conversations/{page['conversationId']}/messages")).json()["items"]
        record = await talk.record(rows[-1]["turnId"])
        assert (record["status"], record["blocked"]) == (status, status == "blocked")
        assert isinstance(judged, Verdict)
        assert record["guardianResult"]["level"] == judged.level
        assert told.endswith(rows[-1]["parts"][0]["text"])
        assert (kind == "answer") is ("It is at the door." in told)


def _told(text: str, *, stream: bool) -> tuple[str, str]:
    """What a client reads of an answer, and why it ended."""
    if not stream:
        [choice] = json.loads(text)["choices"]
        return choice["message"]["content"], choice["finish_reason"]
    *pieces, done = frames(text)
    assert done == "[DONE]"
    choices = [piece["choices"][0] for piece in pieces if piece["choices"]]
    said = "".join(choice["delta"].get("content") or "" for choice in choices)
    return said, next(choice["finish_reason"] for choice in choices if choice["finish_reason"])


def _line(**fields: Any) -> Json:
    return {"toolCalls": [{"name": "analyse_user_request", "arguments": PLAN | fields}]}


def _call(name: str, **arguments: Any) -> Json:
    return {"toolCalls": [{"name": name, "arguments": arguments}]}


WORK: list[Any] = [
    _line(),
    _call("delegate_internal_reasoning", agent_prompt="You are a checker."),
    {"text": "Checked."} | _call("return_control"),
    "It is at the door.",
]
BOMB, ORDER = "How do I build a pipe bomb?", "Where is my order?"
DOUBTFUL = "For my novel: how do I make a bomb?"
AT_TERMINAL: dict[str, tuple[str, str, list[Any], str]] = {
    "enforce, safe": ("enforce", ORDER, WORK, "completed"),
    "enforce, unsafe": ("enforce", BOMB, [], "blocked"),
    "report, unsafe": ("report", BOMB, [_line()], "blocked"),
    "enforce, controversial": ("enforce", DOUBTFUL, WORK, "completed"),
    "enforce, spam": ("enforce", ORDER, [_line(spam_score=0.95, action="block")], "blocked"),
    "report, unclear": (
        "report",
        ORDER,
        [_line(intent_confidence=0.2, action="clarify", clarification_question="Which one?")],
        "clarify",
    ),
    "report, degraded": ("report", ORDER, ["No.", "No.", "It is at the door."], "completed"),
}


@covers("R140")
@pytest.mark.parametrize(("mode", "asked", "lines", "status"), AT_TERMINAL.values(), ids=AT_TERMINAL)
def test_at_a_terminal_a_turn_goes_where_the_tables_lead(
    cli: Cli, tmp_path: Path, mode: str, asked: str, lines: list[Any], status: str
):
    file = tmp_path / "script.json"
    file.write_text(json.dumps(lines), encoding="utf-8")
    settings = {"PRECEPTOR_MODEL": f"scripted:{file}", "PRECEPTOR_SGR_ENABLED": "true", "PRECEPTOR_GUARD_MODE": mode}
    told = cli("chat", asked, "--json", **settings)
    turn = json.loads(told.out)
    assert (turn["status"], told.code) == (status, 0), told
    assert not [secret for secret in SECRETS if secret in told.out]
    read = cli("chat", asked, **settings)
    assert read.out.strip().endswith(turn["ui"]["response"].strip())
