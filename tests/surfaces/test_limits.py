import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.surfaces.limits import Buckets
from tests.conftest import ADMIN, client_of
from tests.requirements import covers
from tests.surfaces.helpers import app_of, bearer, insert_key, new_org, problem


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """Limits are counted in the process: one kind of database is enough."""
    return f"sqlite:///{tmp_path / 'preceptor.db'}"


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Limited:
    client: httpx2.AsyncClient
    preceptor: Preceptor
    clock: Clock

    async def ask(self, times: int, headers: dict[str, str] = ADMIN) -> list[int]:
        return [(await self.client.get("/api/agents", headers=headers)).status_code for _ in range(times)]


@asynccontextmanager
async def limited(settings: Settings, *, per_key: float, per_org: float) -> AsyncGenerator[Limited]:
    """Preceptor with low limits, whose seconds pass when the test says so."""
    low = settings.model_copy(update={"rate_limit_per_key": per_key, "rate_limit_per_org": per_org})
    async with open_preceptor(low) as preceptor, client_of(preceptor) as client:
        clock, limits = Clock(), app_of(client).state.gate.limits
        limits.per_key.clock = limits.per_org.clock = clock
        yield Limited(client, preceptor, clock)


@covers("S24")
async def test_after_a_burst_a_key_waits_as_long_as_it_is_told(settings: Settings):
    async with limited(settings, per_key=0.5, per_org=1000) as server:
        assert await server.ask(3) == [200, 200, 429]
        refused = await server.client.get("/api/agents")
        assert problem(refused, 429, "rate_limited")["detail"] == "Too many requests. Try again in 2 s."
        assert refused.headers["retry-after"] == "2"
        server.clock.now += 1.9
        assert await server.ask(1) == [429]
        server.clock.now += 0.1
        assert await server.ask(2) == [200, 429]
        server.clock.now += 1000
        assert await server.ask(3) == [200, 200, 429]


@covers("S24")
async def test_the_keys_of_an_organisation_share_its_limit_and_another_organisation_has_its_own(settings: Settings):
    async with limited(settings, per_key=1000, per_org=3) as server:
        rival = bearer(await insert_key(server.preceptor, org="rivals"))
        keys = [bearer(await insert_key(server.preceptor, user=f"user-{number}")) for number in range(4)]
        assert [await server.ask(3, key) for key in keys] == [[200] * 3] * 4
        assert [await server.ask(1, key) for key in (*keys, ADMIN)] == [[429]] * 5
        assert await server.ask(12, rival) == [200] * 12
        assert await server.ask(1, rival) == [429]


@covers("S24")
async def test_one_key_cannot_use_up_what_the_others_have(settings: Settings):
    async with limited(settings, per_key=1, per_org=2) as server:
        noisy, quiet = [bearer(await insert_key(server.preceptor, user=name)) for name in ("noisy", "quiet")]
        assert await server.ask(20, noisy) == [200] * 4 + [429] * 16
        assert await server.ask(4, quiet) == [200] * 4


@covers("S24")
async def test_nothing_a_caller_says_of_itself_changes_its_limit(settings: Settings):
    async with limited(settings, per_key=1, per_org=1000) as server:
        said = [
            {name: f"10.0.0.{number}"}
            for number in range(3)
            for name in ("X-Forwarded-For", "X-Real-Ip", "Forwarded", "X-Org-Id", "User-Agent", "X-Request-Id")
        ]
        statuses = [(await server.client.get("/api/agents", headers=headers)).status_code for headers in said]
        assert statuses == [200] * 4 + [429] * (len(said) - 4)
        problem(await server.client.get("/api/orgs"), 429, "rate_limited")


@covers("S24")
async def test_what_needs_no_credential_and_what_has_none_is_not_counted(settings: Settings):
    async with limited(settings, per_key=1, per_org=1) as server:
        for _ in range(10):
            assert (await server.client.get("/healthz")).status_code == 200
            problem(await server.client.get("/api/agents", headers=bearer("garbage")), 401, "unauthenticated")
        assert await server.ask(5) == [200] * 4 + [429]


@covers("S24")
async def test_over_time_the_limit_is_kept_within_five_percent(settings: Settings):
    async with limited(settings, per_key=2.5, per_org=1000) as server:
        passed = 0
        for _ in range(1000):
            server.clock.now += 0.04
            passed += (await server.ask(1)).count(200)
        assert passed == pytest.approx(10 + 40 * 2.5, rel=0.05)


@covers("S24")
async def test_a_limit_below_one_a_second_still_lets_one_through(settings: Settings):
    async with limited(settings, per_key=0.1, per_org=1000) as server:
        assert await server.ask(2) == [200, 429]
        server.clock.now += 10
        assert await server.ask(2) == [200, 429]


def test_the_time_of_day_has_no_say():
    assert Buckets(1).clock is time.monotonic


async def test_a_new_organisation_starts_with_a_full_burst(settings: Settings):
    async with limited(settings, per_key=1, per_org=1) as server:
        rival = await new_org(server.client, "rivals")
        await server.ask(10)
        assert await server.ask(5, rival) == [200] * 4 + [429]
