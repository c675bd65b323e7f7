"""Whether a server can do its work, where that depends on the guardian."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from preceptor import open_preceptor
from preceptor.testing import SteadyWorld
from tests.adapters.guards import HANG, GuardServer, guard_server, mosec_says, response
from tests.conftest import client_of
from tests.talking import settings_in

VERDICT = response(200, mosec_says())
FAILS: dict[str, Any] = {"HTTP 500": response(500, b"{}"), "no verdict": response(200, b"{}"), "silence": HANG}


@asynccontextmanager
async def guarded(
    folder: Path, server: GuardServer, world: SteadyWorld | None = None, **more: Any
) -> AsyncGenerator[httpx2.AsyncClient]:
    asked: dict[str, Any] = {
        "guard_enabled": True,
        "guard_provider_type": "mosec",
        "guard_mosec_url": server.url,
        "guard_timeout": 0.1,
    }
    settings = settings_in(folder, **asked | more)
    async with open_preceptor(settings, world=world) as preceptor, client_of(preceptor) as client:
        yield client


async def checks(client: httpx2.AsyncClient, status: int) -> dict[str, bool]:
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["ready"]) == (status, status == 200)
    return {check["name"]: check["ok"] for check in answer.json()["checks"]}


@pytest.mark.parametrize("fault", FAILS.values(), ids=FAILS)
async def test_in_enforce_a_server_whose_guardian_gives_no_verdict_is_not_ready(tmp_path: Path, fault: Any):
    world = SteadyWorld()
    async with guard_server(fault) as server, guarded(tmp_path, server, world) as client:
        assert await checks(client, 503) == {"database": True, "disk": True, "guard": False}
        server.answer = lambda _: VERDICT
        world.move(seconds=6)
        assert await checks(client, 200) == {"database": True, "disk": True, "guard": True}


@pytest.mark.parametrize("lenient", [{"guard_mode": "report"}, {"guard_on_error": "continue"}])
async def test_where_turns_go_on_without_a_verdict_a_server_is_ready_without_one(
    tmp_path: Path, lenient: dict[str, Any]
):
    async with guard_server(FAILS["HTTP 500"]) as server, guarded(tmp_path, server, **lenient) as client:
        assert await checks(client, 200) == {"database": True, "disk": True}
        assert server.asked == []


async def test_however_often_anyone_asks_the_guardian_is_asked_once_in_a_while(tmp_path: Path):
    async with guard_server(VERDICT) as server, guarded(tmp_path, server, SteadyWorld()) as client:
        for _ in range(20):
            await checks(client, 200)
        assert len(server.asked) == 1
