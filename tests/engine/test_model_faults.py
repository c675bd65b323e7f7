"""What becomes of a turn when its model fails: one typed result, few attempts, and nothing half-said is believed."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from preceptor import Preceptor, ToolRun, open_preceptor, tool
from preceptor.domain.ids import AgentId
from preceptor.domain.messages.message import Role, Text
from preceptor.domain.turns.calls import CallOutcome
from preceptor.domain.turns.facts import TurnStatus, fact_of
from preceptor.domain.turns.turn import Turn
from preceptor.engine.turns import Answer
from tests.durability.provider import streamed, text_of
from tests.requirements import covers
from tests.talking import DELEGATE, settings_in

USAGE = {"prompt_tokens": 10, "completion_tokens": 5}
Reply = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]
Cell = tuple[str, str]
Answers = Callable[[dict[str, Any]], Reply]


def until_close(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + body


def http(status: int, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    lines = [f"HTTP/1.1 {status} Words", f"Content-Type: {kind}", f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


def refusal(status: int, *headers: str, **error: Any) -> bytes:
    return http(status, json.dumps({"error": {"message": "no", **error}}).encode(), *headers)


async def silence(writer: asyncio.StreamWriter) -> None:
    """Nothing, until the other side hangs up."""
    await writer.wait_closed()


def said(text: str, *calls: tuple[str, dict[str, Any]]) -> bytes:
    return until_close(b"".join(streamed(text, list(calls), USAGE)))


@asynccontextmanager
async def answering(reply: Answers) -> AsyncGenerator[tuple[str, list[dict[str, Any]]]]:
    """A model's server that answers each request by what it says: its address, and what it was asked."""
    asked: list[dict[str, Any]] = []
    open_now: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(ConnectionError, asyncio.IncompleteReadError):
            first = await reader.readexactly(1)
            if first == b"\x16":
                writer.write(b"This is no TLS.\r\n")
                return
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = next(line for line in head.splitlines() if line.startswith("content-length:"))
            body = json.loads(await reader.readexactly(int(length.partition(":")[2])))
            asked.append(body)
            answer = reply(body)
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(writer)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(serve(reader, writer))
        open_now.add(task)
        task.add_done_callback(open_now.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", asked
    finally:
        server.close()
        for task in [*open_now]:
            task.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)
        await server.wait_closed()


async def dripping(writer: asyncio.StreamWriter) -> None:
    writer.write(until_close(b""))
    while not writer.is_closing():
        writer.write(b": still here\n\n")
        await writer.drain()
        await asyncio.sleep(0.05)


@dataclass(frozen=True)
class Expected:
    reply: Reply | None
    code: str
    attempts: int
    seconds: float = 60.0
    url: str = ""


HASTE = 3.0
"""Seconds that a turn has whose provider would take for ever."""
CASES: dict[str, Expected] = {
    "401": Expected(refusal(401), "upstream_failed", 1),
    "402": Expected(refusal(402), "upstream_failed", 1),
    "403": Expected(refusal(403), "upstream_failed", 1),
    "400": Expected(refusal(400), "upstream_failed", 1),
    "408": Expected(refusal(408), "upstream_timeout", 4),
    "409": Expected(refusal(409), "upstream_failed", 4),
    "429 at once": Expected(refusal(429, "Retry-After: 0"), "upstream_failed", 4),
    "429 in a thousand years": Expected(refusal(429, "Retry-After: 31536000000"), "upstream_failed", 1, HASTE),
    "429 on a date": Expected(refusal(429, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"), "upstream_failed", 4),
    "429 without money": Expected(refusal(429, code="insufficient_quota"), "upstream_failed", 1),
    "500": Expected(refusal(500), "upstream_failed", 4),
    "502": Expected(http(502, b"<html>bad gateway</html>", kind="text/html"), "upstream_failed", 4),
    "529": Expected(refusal(529), "upstream_failed", 4),
    "nothing": Expected(b"", "upstream_failed", 4),
    "half": Expected(until_close(b"".join(streamed("Half a sentence", [], USAGE)[:2])), "upstream_failed", 4),
    "html": Expected(http(200, b"<html>hello</html>", kind="text/html"), "upstream_failed", 4),
    "hang": Expected(silence, "budget_exceeded", 1, HASTE),
    "drip": Expected(dripping, "budget_exceeded", 1, HASTE),
    "refused": Expected(None, "upstream_failed", 4, url="http://127.0.0.1:1/v1"),
    "no tls": Expected(None, "upstream_failed", 1, url="https"),
}
SITES = ("main", "specialist", "branch")


def scripted(body: dict[str, Any]) -> Reply:
    """What gets a turn to the site that its user named, fails there, and answers elsewhere."""
    messages = body["messages"]
    site, _, name = next(text_of(one) for one in messages if one["role"] == "user").partition(" ")
    if site == "main" or text_of(messages[0]).startswith("Faulty"):
        return CASES[name].reply or b""
    if len(messages) == 2 and text_of(messages[0]) != "Sound.":
        if site == "specialist":
            return said("", (DELEGATE, {"agent_prompt": "Faulty."}))
        return said("", (DELEGATE, {"specialists": [{"agent_prompt": "Faulty."}, {"agent_prompt": "Sound."}]}))
    return said("Sound enough.")


@dataclass(frozen=True)
class Outcome:
    answer: Answer
    turn: Turn
    ended: list[Any]


async def outcomes(folder: Path, url: str, seconds: float, cells: list[Cell]) -> dict[Cell, Outcome]:
    """What came of these cells, all at once on one installation."""
    folder.mkdir()  # noqa: ASYNC240 - at once
    settings = settings_in(folder, model="openai-compatible:m", model_url=url, turn_budget_seconds=seconds)
    async with open_preceptor(settings) as preceptor:

        async def one(cell: Cell) -> Outcome:
            started = await preceptor.conversations.start(agent_id="assistant")
            answer = await preceptor.turns.say(started.conversation_id, [Text(" ".join(cell))])
            _, turn = await preceptor.turns.get(answer.turn_id)
            return Outcome(
                answer, turn, [fact for kind, fact in await facts_of(preceptor, answer) if kind == "call.ended"]
            )

        return dict(zip(cells, await asyncio.gather(*map(one, cells)), strict=True))


async def facts_of(preceptor: Preceptor, answer: Answer) -> list[tuple[str, Any]]:
    async for batch in preceptor.conversations.follow(answer.conversation_id):
        return [(one.kind, fact_of(one.kind, one.payload or "")) for one in batch]
    raise AssertionError


def as_expected(cell: Cell, found: Outcome) -> bool:
    (site, name), answer = cell, found.answer
    expected = CASES[name]
    failed = [one for one in found.ended if one.outcome is CallOutcome.FAILED]
    if site == "main":
        told = answer.status, answer.code, len(failed), bool(answer.sentence)
        return told == (TurnStatus.FAILED, expected.code, expected.attempts, True)
    if expected.seconds < 60:
        return (answer.status, answer.code, len(failed)) == (TurnStatus.FAILED, "budget_exceeded", 1)
    return (answer.response, len(failed)) == ("Sound enough.", expected.attempts)


@covers("F9", "R198")
async def test_every_fault_of_a_provider_has_one_typed_result_wherever_it_happens(tmp_path: Path):
    cells = [(site, name) for site in SITES for name in CASES if not CASES[name].url]
    patient = [cell for cell in cells if CASES[cell[1]].seconds == 60]
    hasty = [cell for cell in cells if cell not in patient]
    async with answering(scripted) as (url, asked):
        in_time = await outcomes(tmp_path / "hasty", url, HASTE, hasty)  # alone: others would take of their time
        results = await asyncio.gather(
            outcomes(tmp_path / "patient", url, 60, patient),
            outcomes(tmp_path / "refused", CASES["refused"].url, 60, [("main", "refused")]),
            outcomes(tmp_path / "tls", url.replace("http:", "https:"), 60, [("main", "no tls")]),
        )
    found = {cell: outcome for each in (in_time, *results) for cell, outcome in each.items()}
    assert len(found) >= 12 * len(SITES)
    wrong = {cell: (one.answer, len(one.ended)) for cell, one in found.items() if not as_expected(cell, one)}
    assert not wrong
    for one in found.values():
        assert one.turn.spans.keys() == one.turn.closed.keys()
        assert one.turn.iterations == len(one.ended)
    recorded = sum(len(one.ended) for cell, one in found.items() if not CASES[cell[1]].url)
    assert len(asked) == recorded, "every call that was sent is on the record, and no other"


SENT: Counter[str] = Counter()


@tool(effect="once")
async def deliver(parcel: str, run: ToolRun) -> str:
    """Deliver a parcel."""
    SENT[f"{parcel} {run.key.partition(':')[0]}"] += 1
    return f"delivered {parcel}"


WHOLE = b"".join(streamed("I deliver it now, to the right address.", [("deliver", {"parcel": "to Ann"})], USAGE))
END = WHOLE.index(b"\n\n", WHOLE.index(b'"finish_reason"')) + 2
"""Where the provider has said that this was all."""


@covers("F10")
async def test_a_stream_that_is_cut_anywhere_is_never_taken_for_an_answer(tmp_path: Path):
    SENT.clear()
    cuts = [*range(len(WHOLE))]
    tries: Counter[int] = Counter()

    def reply(body: dict[str, Any]) -> Reply:
        if body["messages"][-1]["role"] == "tool":
            return said("Delivered.")
        cut = int(text_of(body["messages"][-1]).removeprefix("Cut at "))
        tries[cut] += 1
        return until_close(WHOLE[:cut]) if tries[cut] == 1 else until_close(WHOLE)

    async with answering(reply) as (url, _):
        more: Any = {"max_iterations": 10, "max_turns_at_once": 10 * len(cuts)}
        settings = settings_in(
            tmp_path, model="openai-compatible:m", model_url=url, tools=[f"{__name__}:deliver"], **more
        )
        async with open_preceptor(settings) as preceptor:
            await preceptor.agents.change(AgentId("assistant"), tools=("deliver",))
            await asyncio.gather(*(one_cut(preceptor, cut, tries) for cut in cuts))
    assert len(cuts) > 300
    assert len(SENT) == len(cuts)
    assert {*SENT.values()} == {1}
    assert all(parcel.startswith("to Ann ") for parcel in SENT)


async def one_cut(preceptor: Preceptor, cut: int, tries: Counter[int]) -> None:
    started = await preceptor.conversations.start(agent_id="assistant")
    answer = await preceptor.turns.say(started.conversation_id, [Text(f"Cut at {cut}")])
    assert (answer.status, answer.response) == (TurnStatus.COMPLETED, "Delivered."), cut
    facts = await facts_of(preceptor, answer)
    begun = {fact.message_id for kind, fact in facts if kind == "message.started"}
    abandoned = {fact.message_id for kind, fact in facts if kind == "message.abandoned"}
    whole = {fact.id: fact for kind, fact in facts if kind == "message.completed"}
    assert begun == abandoned | (begun & whole.keys())
    assert not abandoned & whole.keys()
    texts = [one.text for one in whole.values() if one.role is Role.ASSISTANT]
    assert texts == ["I deliver it now, to the right address.", "Delivered."]
    cut_off = cut < END
    assert tries[cut] == (2 if cut_off else 1)
    assert cut_off or not abandoned


@covers("F10")
@pytest.mark.parametrize("finish", ["length", "content_filter"])
async def test_a_call_in_an_answer_that_was_cut_off_by_the_provider_never_runs(tmp_path: Path, finish: str):
    SENT.clear()
    cut = WHOLE.replace(b'"finish_reason": "tool_calls"', b'"finish_reason": "%b"' % finish.encode())
    assert cut != WHOLE
    answers = iter([until_close(cut), said("Too long.")])
    async with answering(lambda _: next(answers)) as (url, _):
        settings = settings_in(tmp_path, model="openai-compatible:m", model_url=url, tools=[f"{__name__}:deliver"])
        async with open_preceptor(settings) as preceptor:
            await preceptor.agents.change(AgentId("assistant"), tools=("deliver",))
            started = await preceptor.conversations.start(agent_id="assistant")
            answer = await preceptor.turns.say(started.conversation_id, [Text("Hello.")])
    assert answer.response == "Too long."
    assert not SENT
