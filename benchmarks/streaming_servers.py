"""The servers that W5b compares. `python -m benchmarks.streaming_servers NAME PORT FOLDER UPSTREAM` runs one.

- `upstream`: a model's server that costs as little as Python can: twenty pieces at once, no thought.
- `passthrough`: bare ASGI and an aiohttp client that hands on the bytes it gets. Nothing is parsed or kept: the floor.
- `preceptor`: the product with every check on: key, tenancy, strict JSON, each piece parsed, log and manifest written.
"""

import sys
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.api_servers import serve
from benchmarks.upstream import Upstream
from benchmarks.upstream import serve as answering


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
            uvloop.run(answering(Upstream, port))
        case "passthrough":
            uvloop.run(serve(PassThrough(upstream), port))
        case _:
            uvloop.run(serve_preceptor(port, folder, upstream))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
