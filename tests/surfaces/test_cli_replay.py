"""`preceptor executions` and `preceptor replay`, with and without a server."""

import json
from pathlib import Path
from typing import Any

import pytest

from preceptor.surfaces.cli.report import html_of
from tests.surfaces.test_cli import Cli, cli, on
from tests.wire.exports import OPENAI

__all__ = ["cli", "on"]
LOAD = {"type": "agent.loadInstructions", "resource": {"type": "agent", "id": "assistant"}}


@pytest.fixture
def scripted(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"text": "Understood <b>.", "repeat": true}]')
    monkeypatch.setenv("PRECEPTOR_MODEL", f"scripted:{script}")


def test_steps_of_a_file_are_carried_out_and_looked_at(scripted: None, on: Cli, tmp_path: Path):
    ask = {"type": "agent.execute", "resource": LOAD["resource"], "data": {"userMessage": "Hello"}}
    steps = [
        {"index": 0, "name": "Load", "command": LOAD},
        {"index": 1, "name": "Ask", "command": ask, "dependsOn": [0]},
    ]
    (tmp_path / "chat.json").write_text(json.dumps({"steps": steps}))
    ran = on("executions", "run", str(tmp_path / "chat.json"))
    assert (ran.code, ran.out.splitlines()[0].split()) == (0, ["started", "step", "0"]), ran.err
    assert "completed   1  Ask" in ran.out
    [listed] = on("executions", "list", "--json").json
    assert on("executions", "show", listed["executionId"], "--json").json["status"] == "completed"
    assert "completed" in on("executions", "cancel", listed["executionId"]).out
    assert on("executions", "retry", listed["executionId"]).code == 0
    steps[0]["command"] = {**LOAD, "resource": {"type": "agent", "id": "nobody"}}
    (tmp_path / "chat.json").write_text(json.dumps({"steps": steps[:1]}))
    refused = on("executions", "run", str(tmp_path / "chat.json"))
    assert (refused.code, "There is no agent 'nobody'" in refused.err) == (1, True)
    on("agents", "create", "other", "Other")
    place = on("executions", "show", listed["executionId"], "--json").json["steps"][1]["output"]["conversationId"]
    lost = {**ask, "resource": {"type": "agent", "id": "other"}, "data": {"userMessage": "Hi", "conversationId": place}}
    (tmp_path / "chat.json").write_text(json.dumps({"steps": [{"index": 0, "name": "Ask", "command": lost}]}))
    failed = on("executions", "run", str(tmp_path / "chat.json"))
    assert (failed.code, "is with 'assistant', not with that agent" in failed.out) == (1, True)
    wrong = on("executions", "run", str(tmp_path / "none.json"))
    assert wrong.code != 0


def test_traffic_is_brought_in_replayed_and_reported(scripted: None, cli: Cli, tmp_path: Path):
    export = tmp_path / "traffic.jsonl"
    records: list[dict[str, Any]] = [*OPENAI, {"messages": []}]
    export.write_text("\n".join(map(json.dumps, records)))
    told = cli("replay", "import", str(export)).out
    assert "2 conversations with 3 turns are with assistant." in told
    assert "record 3 is left out: no user says anything in it" in told
    report = tmp_path / "report.html"
    done = cli("replay", "run", "--agent", "assistant", "--live", "--report", str(report))
    assert done.code == 0, done.err
    assert "3 turns: 0 same, 3 changed" in done.out
    page = report.read_text()
    assert "Understood &lt;b&gt;." in page
    assert "<b>" not in page
    assert "default-src 'none'" in page
    [listed] = cli("replay", "list", "--json").json
    shown = cli("replay", "show", listed["replayId"], "--json").json
    assert shown["summary"]["turns"] == 3
    assert cli("replay", "cancel", listed["replayId"]).out == "completed\n"
    assert cli("replay", "run", "--instruction", "nonsense").code == 2
    assert cli("replay", "run", "--turn", "no-such-turn").code == 1
    unknown = cli("replay", "run", "--agent", "nope")
    assert (unknown.code, unknown.out) == (1, "")
    assert unknown.err == "error: There is no agent 'nope' here. Check the id, or list what there is.\n"
    assert cli("replay", "import", str(tmp_path / "none.jsonl")).code != 0


def test_a_file_that_cannot_be_read_says_where_and_what_ends_a_line_elsewhere_ends_none_here(cli: Cli, tmp_path: Path):
    export = tmp_path / "traffic.jsonl"
    said = [{"role": "user", "content": "One\u2028two\x85three"}, {"role": "assistant", "content": "Yes."}]
    line = json.dumps({"messages": said}, ensure_ascii=False)
    export.write_bytes(f"\ufeff{line}\r\n\r\n{line}".encode())
    assert cli("replay", "import", str(export)).out == "2 conversations with 2 turns are with assistant.\n"
    export.write_text(f"{line}\n\n{line[:-1]}\n{line}")
    broken = cli("replay", "import", str(export))
    assert "cannot be read at line 3, column 102" in broken.err, broken.err
    export.write_bytes("é".encode("latin-1"))
    assert cli("replay", "import", str(export)).err == f"error: {export} cannot be read (it is not UTF-8).\n"


def test_a_large_export_is_sent_in_parts_that_a_server_reads(scripted: None, on: Cli, tmp_path: Path):
    export = tmp_path / "traffic.jsonl"
    said = [{"role": "user", "content": "x" * 600_000}, {"role": "assistant", "content": "Yes."}]
    records: list[dict[str, Any]] = [{"messages": said}] * 40
    export.write_text("\n".join(map(json.dumps, records)) + '\n{"messages": []}')
    told = on("replay", "import", str(export))
    assert "40 conversations with 40 turns are with assistant." in told.out, told.err
    assert "record 41 is left out: no user says anything in it" in told.out


def test_a_thread_stays_whole_wherever_its_records_are_in_a_large_export(scripted: None, on: Cli, tmp_path: Path):
    export = tmp_path / "traffic.jsonl"
    said = [{"input": f"Question {n}", "output": f"Answer {n}.", "sessionId": f"s{n % 90}"} for n in range(270)]
    export.write_text("\n".join(json.dumps(one) for one in [*said, {"sessionId": "none"}]))
    told = on("replay", "import", str(export))
    assert "90 conversations with 270 turns are with assistant." in told.out, told.err
    assert "record 271 is left out: no user says anything in it" in told.out


def test_nothing_that_someone_said_becomes_part_of_the_page():
    evil = '</style><script>alert(1)</script><img src=x onerror="x">'
    item: dict[str, Any] = {
        "turnId": evil,
        "same": False,
        "status": "done",
        "rules": [{"rule": evil, "passed": False, "detail": evil}],
        "sentence": evil,
        "diverged": evil,
        "notes": [evil],
        "fate": {"before": evil, "after": evil},
        "contextDiff": [{"side": evil, "role": evil, "text": evil, "source": {}}],
        "answerDiff": {"removed": [evil], "added": [evil]},
    }
    sums = dict.fromkeys(["turns", "same", "changed", "ruleBreaks", "diverged", "failed", "tokens", "cost"], 1)
    comparison = [{"metric": evil, "units": 2, "before": 1, "after": 1, "difference": 0, "low": None, "high": None}]
    page = html_of(
        {
            "replayId": evil,
            "status": evil,
            "validity": evil,
            "summary": sums,
            "comparison": [comparison[0] | {"pValue": None}],
        },
        [item],
    )
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("</style>") == 1


@pytest.mark.parametrize("noun", ["execution", "replay"])
def test_an_id_with_any_sign_in_it_is_one_that_is_not_there(cli: Cli, noun: str):
    shown = cli({"execution": "executions"}.get(noun, noun), "show", "a?b")
    assert shown.err == f"error: There is no {noun} 'a?b' here. Check the id, or list what there is.\n"
