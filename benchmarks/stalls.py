"""The longest time for which a turn with a long history keeps the event loop from everyone else.

A conversation of 1,000 messages is asked through each adapter against a server on loopback, again and again, while a
watcher notes how late it is called, and how much the loop's thread worked before it was: the second figure does not
depend on what else the machine does.
"""

import asyncio
import gc
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.upstream import STREAM

MESSAGES = 1_000
TURNS = 30
EVERY = 0.001
ANTHROPIC = b"".join(
    b"event: %s\ndata: %s\n\n" % pair
    for pair in (
        (b"message_start", b'{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}}'),
        (b"content_block_start", b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}'),
        (b"content_block_delta", b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}'),
        (b"content_block_stop", b'{"type":"content_block_stop","index":0}'),
        (b"message_delta", b'{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}'),
        (b"message_stop", b'{"type":"message_stop"}'),
    )
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            anthropic = b"/messages" in head.split(b"\r\n")[0]
            writer.write(HEAD % len(ANTHROPIC) + ANTHROPIC if anthropic else STREAM)
            await writer.drain()
    writer.close()


@dataclass(slots=True)
class Watched:
    late: list[float] = field(default_factory=list)
    work: list[float] = field(default_factory=list)


async def watch(seen: Watched) -> None:
    while True:
        before, worked = time.perf_counter(), time.thread_time()
        await asyncio.sleep(EVERY)
        seen.late.append(time.perf_counter() - before - EVERY)
        seen.work.append(time.thread_time() - worked)


async def measured(kind: str, url: str) -> tuple[Watched, Watched]:
    """What the watcher saw while turns ran, and for comparison while nothing did."""
    from preceptor import Settings, open_preceptor

    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.load(
            data_dir=Path(folder), admin_key="x", guard_enabled=False, sgr_enabled=False, egress_allow=(url,)
        )
        async with open_preceptor(settings) as preceptor:
            path = f"{url}/v1"
            await preceptor.providers.create(provider_id="p", kind=kind, url=path, api_key="x")
            await preceptor.agents.create(agent_id="long", name="Long", model="p:some-model-1m")
            conversation = await _filled(preceptor)
            gc.collect()
            gc.freeze()  # as `preceptor serve` does
            idle = await _watched(asyncio.sleep(1))
            busy = await _watched(_turns(preceptor, conversation))
    return busy, idle


async def _filled(preceptor: Any) -> Any:
    from preceptor.domain.messages.brought import Brought
    from preceptor.domain.messages.message import Role, Text
    from preceptor.domain.prompts.parameters import RequestParameters
    from preceptor.engine.clients import Asked

    roles = (Role.USER, Role.ASSISTANT)
    said = [Brought(roles[n % 2], (Text(f"Message {n}: {'some words ' * 10}"),)) for n in range(MESSAGES)]
    question = Brought(Role.USER, (Text("And?"),))
    taken = await preceptor.clients.begin(Asked("long", (*said, question), RequestParameters()))
    await preceptor.turns.settled(taken)
    return taken.conversation_id


async def _turns(preceptor: Any, conversation: Any) -> None:
    for _ in range(TURNS):
        turn = await preceptor.conversations.say("And then?", conversation=conversation)
        assert turn.status == "completed", turn


async def _watched(work: Any) -> Watched:
    seen = Watched()
    watcher = asyncio.create_task(watch(seen))
    await work
    watcher.cancel()
    await asyncio.wait({watcher})
    return seen


async def compared() -> list[str]:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    lines: list[str] = []
    async with server:
        for kind in ("openai-compatible", "anthropic"):
            busy, idle = await measured(kind, url)
            lines.append(
                f"{kind:<18} {MESSAGES:,} messages a prompt, {TURNS} turns: longest stall {max(busy.work) * 1e3:.1f}"
                f" ms CPU ({max(busy.late) * 1e3:.1f} ms by the clock; with nothing to do {max(idle.late) * 1e3:.1f})"
            )
    return lines


def main() -> list[str]:
    return asyncio.run(compared())


if __name__ == "__main__":
    print("\n".join(main()))
