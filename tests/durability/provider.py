"""A provider of models: a real server in a process of its own, which speaks OpenAI's streaming format.

What it answers is a function of what it is sent, so that a call that is made again is answered again. Every call that
reaches it is in the ledger before it is answered, whatever becomes of whoever asked.

Run as `python -m tests.durability.provider LEDGER`; the port it listens on goes out by stdout.
"""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DELEGATE, RETURN, PLAN = "delegate_internal_reasoning", "return_control", "analyse_user_request"
PLANNED: dict[str, Any] = {
    "spam_score": 0.1,
    "spam_reason": "It is about their work.",
    "user_intent": "Have it done",
    "subqueries": [],
    "action_plan": ["Look", "Put", "Send"],
    "intent_confidence": 0.9,
    "uncertainties": [],
    "action": "normal",
}
BETWEEN = 0.003
"""Seconds between the first piece of an answer and the rest, so that they are read one after the other."""


class Ledger:
    """What really happened in the world. One write is one line, which the end of a process does not undo."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, **facts: object) -> None:
        os.write(self._file, json.dumps({"at": time.time_ns() // 1000, **facts}).encode() + b"\n")


def answer(body: dict[str, Any]) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """The text and the tool calls that this request is answered with."""
    messages = body["messages"]
    if text_of(messages[-1]).startswith("<transcript>"):
        return "They talked about it, and did what they could.", []
    if [tool["function"]["name"] for tool in body.get("tools") or ()] == [PLAN]:
        return "", [(PLAN, PLANNED)]
    start = max(place for place, each in enumerate(messages) if text_of(each).startswith("go "))
    name, said = text_of(messages[start])[3:], json.dumps(messages[start:])
    system = text_of(messages[0])
    if "the analyst" in system:
        return _analyst(name, said)
    if "the checker" in system:
        return f"All is well with {name}.", []
    if "the first" in system:
        return (f"The first says {name}.", []) if f"{name}/first/" in said else ("", [_call("send", f"{name}/first")])
    if "the second" in system:
        return f"The second says {name}.", [(RETURN, {})]
    return _main(name, said)


def _main(name: str, said: str) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    if f"{name}/main/" not in said:
        return "Let me see.", [_call(tool, f"{name}/main") for tool in ("look", "put", "send")]
    if name.startswith("short"):
        return f"Done with {name}.", []
    if "the analyst" not in said:
        return "", [(DELEGATE, {"agent_prompt": f"You are the analyst of {name}.", "reason": "numbers"})]
    if "the first" not in said:
        both = [{"agent_prompt": f"You are the {which} of {name}."} for which in ("first", "second")]
        return "", [_call("look", f"{name}/late"), (DELEGATE, {"specialists": both})]
    return f"Done with {name}.", []


def _analyst(name: str, said: str) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    if f"{name}/analyst/" not in said:
        return "Looking closer.", [_call(tool, f"{name}/analyst") for tool in ("put", "send")]
    if "the checker" not in said:
        return "", [(DELEGATE, {"agent_prompt": f"You are the checker of {name}."})]
    return "Found it.", [(RETURN, {})]


def _call(tool: str, what: str) -> tuple[str, dict[str, Any]]:
    return tool, {"what": f"{what}/{tool}"}


def text_of(message: dict[str, Any]) -> str:
    content: Any = message.get("content")
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def complaints(body: dict[str, Any]) -> list[str]:
    """What a strict provider would refuse: orphaned pairs, a system message within, an end that is the assistant's."""
    found: list[str] = []
    waiting: list[str] = []
    for place, message in enumerate(body["messages"]):
        role = message["role"]
        if role == "system" and place:
            found.append("a second system message")
        if role == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                found.append(f"{message['tool_call_id']} answers nothing")
        elif waiting:
            found.append(f"{waiting} have no answer")
            waiting = []
        waiting += [call["id"] for call in message.get("tool_calls") or ()]
    if waiting:
        found.append(f"{waiting} have no answer at the end")
    if body["messages"][-1]["role"] not in {"user", "tool"}:
        found.append("the last word is the assistant's")
    return found


def streamed(text: str, calls: list[tuple[str, dict[str, Any]]], usage: dict[str, int]) -> list[bytes]:
    """The answer as events. Tool calls are numbered from nought in every answer, as some servers do."""
    third = len(text) // 3 + 1
    deltas: list[dict[str, Any]] = [{"content": text[at : at + third]} for at in range(0, len(text), third)]
    for index, (name, arguments) in enumerate(calls):
        raw = json.dumps(arguments)
        function = {"name": name, "arguments": raw[:7]}
        deltas.append({"tool_calls": [{"index": index, "id": f"call_{index}", "function": function}]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": raw[7:]}}]})
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    finish = "tool_calls" if calls else "stop"
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    chunks.append({"choices": [], "usage": usage})
    return [b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks] + [b"data: [DONE]\n\n"]


def usage_of(raw: bytes, text: str) -> dict[str, int]:
    return {"prompt_tokens": 100 + len(raw) // 7, "completion_tokens": 5 + len(text)}


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ledger: Ledger) -> None:
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            asked = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = next(line for line in asked.splitlines() if line.startswith("content-length:"))
            raw = await reader.readexactly(int(length.partition(":")[2]))
            body = json.loads(raw)
            text, calls = answer(body)
            usage = usage_of(raw, text)
            ledger.write(did="call", sha256=hashlib.sha256(raw).hexdigest(), complaints=complaints(body), usage=usage)
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            first, *rest = [b"%x\r\n%b\r\n" % (len(event), event) for event in streamed(text, calls, usage)]
            writer.write(head + first)
            await writer.drain()
            await asyncio.sleep(BETWEEN)
            writer.write(b"".join(rest) + b"0\r\n\r\n")
            await writer.drain()
    writer.close()


async def main(ledger: Ledger) -> None:
    server = await asyncio.start_server(lambda r, w: serve(r, w, ledger), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


@contextmanager
def provider(ledger: Path) -> Generator[str]:
    """Its address, for as long as it runs."""
    command = [sys.executable, "-m", "tests.durability.provider", str(ledger)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(main(Ledger(Path(sys.argv[1]))))
