"""The servers that W5b compares. `python -m benchmarks.streaming_servers NAME PORT FOLDER UPSTREAM` runs one.

- `upstream`: a model's server that costs as little as Python can: twenty pieces at once, no thought.
- `passthrough`: bare ASGI and an aiohttp client that hands on the bytes it gets. Nothing is parsed or kept: the floor.
- `preceptor`: the product with every check on: key, tenancy, strict JSON, each piece parsed, log and manifest written.
"""

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any, cast

import uvloop

from benchmarks.api_servers import serve

WORDS = re.findall(
    r"\w+", "the order you asked about left our house this morning and will be there before the week ends"
)


def piece(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    told = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(told).encode() + b"\n\n"


PIECES = [*(piece({"content": f"{word} "}) for word in WORDS), piece({}, "stop"), b"data: [DONE]\n\n"]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
STREAM = HEAD + b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in PIECES) + b"0\r\n\r\n"
LISTED = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()
MODELS = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(LISTED), LISTED)


class Upstream(asyncio.Protocol):
    def __init__(self) -> None:
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (head := self.buffer.find(b"\r\n\r\n")) >= 0:
            lines = self.buffer[:head].lower().split(b"\r\n")
            length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")), 0)
            if len(self.buffer) < head + 4 + length:
                return
            self.transport.write(MODELS if self.buffer.startswith(b"GET") else STREAM)
            self.buffer = self.buffer[head + 4 + length :]


class PassThrough:
    def __init__(self, upstream: str) -> None:
        self.upstream = f"{upstream}/chat/completions"
        self.client: Any = None

    async def __call__(self, _: Any, receive: Any, send: Any) -> None:
        import aiohttp

        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.client = self.client or aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        headers = {"content-type": "application/json", "authorization": "Bearer x"}
        async with self.client.post(self.upstream, data=body, headers=headers) as answer:
            kind = [(b"content-type", answer.headers["content-type"].encode())]
            await send({"type": "http.response.start", "status": answer.status, "headers": kind})
            async for chunk in answer.content.iter_any():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def serve_upstream(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", port)
    await server.serve_forever()


async def serve_preceptor(port: int, folder: Path, upstream: str) -> None:
    from preceptor import Settings, open_preceptor
    from preceptor.surfaces.http import create_app

    settings = Settings.load(
        data_dir=folder,
        admin_key="benchmark",
        model_url=upstream,
        guard_enabled=False,
        sgr_enabled=False,
        access_log=False,
        rate_limit_per_key=1e6,
        rate_limit_per_org=1e6,
    )
    async with open_preceptor(settings) as preceptor:
        await serve(create_app(preceptor), port)


def main(name: str, port: int, folder: Path, upstream: str) -> None:
    match name:
        case "upstream":
            uvloop.run(serve_upstream(port))
        case "passthrough":
            uvloop.run(serve(PassThrough(upstream), port))
        case _:
            uvloop.run(serve_preceptor(port, folder, upstream))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
