"""The other end of a webhook: what arrived there, checked as any receiver would check it."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2

from preceptor import Preceptor, open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.testing import ScriptedModel, SteadyWorld
from tests.adapters.model_server import Answer, ModelServer, http, serving
from tests.conftest import client_of
from tests.talking import settings_in

Json = dict[str, Any]
TAKEN = http(204, b"")
BRIEF = timedelta(seconds=0.6)
"""A lease so short that one looks for messages fifty times a second."""


@dataclass(frozen=True)
class Post:
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def told(self) -> Json:
        return json.loads(self.body)

    def is_signed_with(self, secret: str) -> bool:
        """As the convention says, in the receiver's own words."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        signed = b".".join([self.id.encode(), self.headers["webhook-timestamp"].encode(), self.body])
        wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        return f"v1,{wanted}" in self.headers["webhook-signature"].split(" ")


def posts(server: ModelServer) -> list[Post]:
    return [Post(_headers(head), body) for head, body in zip(server.heads, server.bodies, strict=False)]


def _headers(head: str) -> dict[str, str]:
    lines = [line.partition(": ") for line in head.splitlines()[1:] if line]
    return {name.lower(): value for name, _, value in lines}


async def arrived(server: ModelServer, count: int) -> list[Post]:
    async with asyncio.timeout(20):
        while len(server.bodies) < count:  # noqa: ASYNC110 - a server tells in no other way
            await asyncio.sleep(0.01)
    return posts(server)


@dataclass(frozen=True)
class Office:
    """An organisation that tells a receiver what happens in it."""

    client: httpx2.AsyncClient
    preceptor: Preceptor
    server: ModelServer

    async def hook(self, **more: Any) -> Json:
        made = await self.client.post("/api/webhooks", json={"url": self.server.url} | more)
        assert made.status_code == 201, made.text
        return made.json()

    async def publish(self, name: str = "Tone", **more: Any) -> Json:
        new = {"name": name, "type": "system", "content": {"systemPrompt": "Be kind."}} | more
        made = await self.client.post("/api/instructions", json=new)
        assert made.status_code == 201, made.text
        return made.json()

    async def webhook(self, webhook_id: str) -> Json:
        return (await self.client.get(f"/api/webhooks/{webhook_id}")).json()

    async def rotate(self, webhook_id: str, **query: Any) -> Json:
        rotated = await self.client.post(f"/api/webhooks/{webhook_id}/rotate", params=query)
        assert rotated.status_code == 200, rotated.text
        return rotated.json()

    async def tested(self, webhook_id: str) -> Post:
        """What arrives when it is tried."""
        attempt = (await self.client.post(f"/api/webhooks/{webhook_id}/test")).json()
        assert attempt["ok"], attempt
        return posts(self.server)[-1]

    async def deliveries(self, webhook_id: str) -> list[Json]:
        return (await self.client.get(f"/api/webhooks/{webhook_id}/deliveries")).json()["items"]

    async def until(self, webhook_id: str, status: str, count: int = 1) -> list[Json]:
        """Its deliveries, once so many of them have come to that."""
        async with asyncio.timeout(20):
            while True:
                found = await self.deliveries(webhook_id)
                if len([one for one in found if one["status"] == status]) >= count:
                    return found
                await asyncio.sleep(0.01)


@asynccontextmanager
async def office(
    folder: Path,
    database: str | None,
    *answers: Answer,
    take_up: bool = True,
    world: SteadyWorld | None = None,
    **more: Any,
) -> AsyncGenerator[Office]:
    async with serving(*(answers or (TAKEN,))) as server:
        allowed = {"egress_allow": (server.url.removesuffix("/v1"),), "webhook_retry_seconds": 0.01}
        settings = settings_in(folder, database, **allowed | more)
        models = ModelRegistry(settings)
        models.add("local", ScriptedModel(lambda _: "Understood."))
        opened = open_preceptor(settings, models=models, lease=BRIEF, take_up=take_up, world=world)
        async with opened as preceptor, client_of(preceptor) as client:
            yield Office(client, preceptor, server)
