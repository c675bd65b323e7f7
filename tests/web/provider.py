"""A provider of models for browser tests: it streams, and it can be held in the middle of an answer.

What it answers follows from what it is sent, from the last message with a ¿ in it on. A question with `order` in it is
passed to a specialist, who looks into it and works something out; one with `twice` has the specialist ask another. One
with `invoice` is passed to a specialist who answers itself, with a question.
Whatever else is asked is answered at once.
"""

import json
import re
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PLAN = "analyse_user_request"
DELEGATE, RETURN = "delegate_internal_reasoning", "return_control"
LOGISTICS = "You are the logistics specialist. Find the state of the parcel."
BILLING = "You are the billing specialist. Ask for what you need."
POLICY = "You are the policy specialist. Say who pays."
STEPS = ("Looking up the carrier events for order 4711.", "The parcel is one day late; shipping is refundable.")
MARKED = (
    "Here are **two** things.\n\n1. one\n2. two\n\n```\nx = 1\n\ny = <b>2</b>\n```\n\n"
    "## Then <b>more</b> ![cat](https://cats.example)\n\n"
    "Of this only *one half* is there at first, and of what follows nothing is there for a while. "
    "It is long, so that it is the middle of it that is waited for: **the end** comes late."
)
FINAL = (
    "I'm sorry your order is late. I checked order **4711**: it left our hub on 12 November.\n\n"
    "- Expected delivery: **tomorrow before 18:00**\n- Shipping cost: *eligible for a refund*\n\n"
    "I have passed it to the billing team."
)
ATTACK = (
    '<img src=x onerror="window.__xss=1"><script>window.__xss=1</script> '
    "![i](http://evil.example/leak.png) [click](javascript:window.__xss=1) <b>bold</b>"
)
PLANNED: dict[str, Any] = {
    "spam_score": 0.1,
    "spam_reason": "It is about an order of this shop, secretly.",
    "user_intent": "Find out where order 4711 is and whether shipping is refunded",
    "subqueries": ["order status"],
    "action_plan": ["Look the order up"],
    "intent_confidence": 0.9,
    "uncertainties": [],
    "action": "normal",
}


@dataclass
class Provider:
    url: str = ""
    gate: threading.Event = field(default_factory=threading.Event)
    reached: threading.Event = field(default_factory=threading.Event)
    instead: str | None = None
    """What is answered instead, whatever is asked."""

    def pieces(self, body: dict[str, Any], answers: "Answers") -> Iterator["Piece"]:
        planning = [tool["function"]["name"] for tool in body.get("tools") or ()] == [PLAN]
        return answers(body) if planning or self.instead is None else iter([self.instead])

    @contextmanager
    def holding(self) -> Generator[threading.Event]:
        """Answers to questions with `wait` stop in the middle until the event is set, at the latest when this ends."""
        self.gate.clear()
        try:
            yield self.gate
        finally:
            self.gate.set()


Piece = str | tuple[str, dict[str, Any]] | None
"""Text, a call of a tool, or a place to wait at."""
Answers = Callable[[dict[str, Any]], Iterator[Piece]]
"""What is answered to a request."""


def pieces(body: dict[str, Any]) -> Iterator[Piece]:
    tools = [tool["function"]["name"] for tool in body.get("tools") or ()]
    said = [(each["role"], _text(each)) for each in body["messages"]]
    place = max((at for at, (role, text) in enumerate(said) if role == "user" and "¿" in text), default=len(said) - 1)
    question, since = said[place][1], json.dumps(body["messages"][place + 1 :])
    system = said[0][1]
    if tools == [PLAN]:
        yield PLAN, PLANNED | _plan(question)
    elif "the policy specialist" in system:
        yield "The shop pays."
        yield RETURN, {}
    elif "the logistics specialist" in system:
        yield from _logistics(question, since)
    elif "the billing specialist" in system:
        yield "Which invoice?"
    elif "invoice" in question and DELEGATE not in since:
        yield DELEGATE, {"agent_prompt": BILLING, "reason": "The invoice", "mark_intermediate": False}
    elif "order" in question and DELEGATE not in since:
        yield DELEGATE, {"agent_prompt": LOGISTICS, "reason": "Where is the parcel?"}
    elif "attack" in question:
        yield ATTACK
    elif "marked" in question:
        yield from _waiting(question, MARKED)
    elif "lines" in question:
        yield from _waiting(question, "\n\n".join(f"Line {number}." for number in range(1, 80)))
    else:
        yield from _waiting(question, FINAL if "order" in question else "Understood, and done.")


def _logistics(question: str, since: str) -> Iterator[Piece]:
    if '"calculator"' not in since:
        yield STEPS[0]
        yield "calculator", {"expression": "12 + 1"}
    elif "twice" in question and "policy specialist" not in since:
        yield "Someone should say who pays."
        yield DELEGATE, {"agent_prompt": POLICY, "reason": "Who pays?"}
    else:
        if "slow" in question:
            yield None
        yield STEPS[1]
        yield RETURN, {}


def _waiting(question: str, text: str) -> Iterator[Piece]:
    half = text.index(" ", len(text) // 2)
    yield text[:half]
    if "wait" in question:
        yield None
    yield text[half:]


def _plan(question: str) -> dict[str, Any]:
    if "vague" in question:
        return {"intent_confidence": 0.2, "action": "clarify", "clarification_question": "Which order do you mean?"}
    if "lottery" in question:
        return {"spam_score": 0.95, "spam_reason": "It is an advertisement, secretly.", "action": "block"}
    return {}


def _text(message: dict[str, Any]) -> str:
    content: Any = message.get("content")
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def _deltas(piece: str | tuple[str, dict[str, Any]], index: int) -> Iterator[dict[str, Any]]:
    if isinstance(piece, str):
        for word in re.findall(r"\S+\s*|\s+", piece):
            yield {"content": word}
        return
    name, arguments = piece
    function = {"name": name, "arguments": json.dumps(arguments)}
    yield {"tool_calls": [{"index": index, "id": f"call_{threading.get_ident()}_{index}", "function": function}]}


def _handler(provider: Provider, answers: Answers) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = json.dumps({"data": [{"id": "gpt-5-mini"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            called, words, calls = False, 0, 0
            for piece in provider.pieces(body, answers):
                if piece is None:
                    provider.reached.set()
                    provider.gate.wait()
                    continue
                called |= not isinstance(piece, str)
                for delta in _deltas(piece, calls):
                    words += 1
                    self._send({"choices": [{"index": 0, "delta": delta}]})
                calls += not isinstance(piece, str)
            finish = "tool_calls" if called else "stop"
            self._send({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
            self._send({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": words}})
            self._chunk(b"data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")

        def _send(self, event: dict[str, Any]) -> None:
            self._chunk(b"data: %b\n\n" % json.dumps(event).encode())

        def _chunk(self, data: bytes) -> None:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is theirs
            """Quietly."""

    return Handler


@contextmanager
def providing(answers: Answers = pieces) -> Generator[Provider]:
    made = Provider()
    made.gate.set()

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Whoever asked has gone: the turn was stopped."""

    server = Server(("127.0.0.1", 0), _handler(made, answers))
    made.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.gate.set()
        server.shutdown()
        server.server_close()
