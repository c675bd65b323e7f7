"""Whose answer a newcomer gets: the provider whose key is set, or else the embedded model. Real servers and sockets."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.serving import serving
from tests.wire import anthropic_streams as anthropic
from tests.wire.streams import DONE, piece

NOTHING = {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "", "OPENAI_BASE_URL": "", "ANTHROPIC_BASE_URL": ""}
PLAIN = {"PRECEPTOR_SGR_ENABLED": "false"}
SAID = {
    "/v1/chat/completions": (piece(content="From OpenAI's."), piece(finish="stop"), DONE),
    "/v1/messages": (anthropic.start(), anthropic.said(0, "From Anthropic's."), anthropic.ended(), anthropic.STOP),
}


@dataclass
class Asked:
    """A stand-in for every provider, and what it was asked."""

    url: str
    calls: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Path, key and model of each call."""


@contextmanager
def provider() -> Generator[Asked]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(json.dumps({"data": [{"id": "listed-first"}, {"id": "other"}]}).encode())

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            key = self.headers["x-api-key"] or self.headers["authorization"] or ""
            asked.calls.append((self.path, key.removeprefix("Bearer "), body["model"]))
            self._answer(b"".join(SAID[self.path]))

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream" if b"data:" in body else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is theirs
            """Quietly."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    asked = Asked(f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield asked
    finally:
        server.shutdown()
        server.server_close()


def first_answer(folder: Path, **environment: str) -> tuple[str, str]:
    """What a new server says it uses, and what it answers to the first message."""
    with serving(folder, **NOTHING | PLAIN | environment) as served, served.client() as client:
        client.timeout = 60
        [line] = [one for one in served.printed.splitlines() if one.strip().startswith("Model ")]
        conversation = client.post("/api/conversations", json={"agentId": "assistant"}).json()["conversationId"]
        answer = client.post(f"/api/conversations/{conversation}/messages", json={"content": "Hello"}).json()
        assert answer["status"] == "completed", answer
        return line.split(maxsplit=1)[1], answer["ui"]["response"]


CASES = {
    "a key of OpenAI": (
        {"OPENAI_API_KEY": "sk-o", "OPENAI_BASE_URL": "{url}/v1"},
        ("openai:gpt-5-mini", "From OpenAI's."),
        ("/v1/chat/completions", "sk-o", "gpt-5-mini"),
    ),
    "a key of Anthropic": (
        {"ANTHROPIC_API_KEY": "sk-a", "ANTHROPIC_BASE_URL": "{url}"},
        ("anthropic:claude-haiku-4-5", "From Anthropic's."),
        ("/v1/messages", "sk-a", "claude-haiku-4-5"),
    ),
    "a server of one's own, whatever keys there are": (
        {"PRECEPTOR_MODEL_URL": "{url}", "PRECEPTOR_MODEL_API_KEY": "own", "OPENAI_API_KEY": "sk-o"},
        ("the first of http://127.0.0.1", "From OpenAI's."),
        ("/v1/chat/completions", "own", "listed-first"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_with_a_key_or_an_address_the_server_answers_from_there(case: str, tmp_path: Path):
    environment, said, call = CASES[case]
    with provider() as asked:
        given = {name: value.format(url=asked.url) for name, value in environment.items()}
        model, answer = first_answer(tmp_path, **given)
    assert model.startswith(said[0])
    assert answer == said[1]
    assert asked.calls == [call]


def test_without_any_the_embedded_model_answers(tmp_path: Path):
    model, said = first_answer(tmp_path)
    assert model.startswith("local ")
    assert said.strip()
