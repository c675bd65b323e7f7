"""Where a crowd meets: servers as a person would start them, on one database, before one model."""

import re
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests import serving as starting
from tests.serving import Served, serving

starting.PATIENCE = 300.0
FREE = "100000"


@dataclass(frozen=True)
class Stage:
    servers: list[Served]

    @property
    def ports(self) -> tuple[int, ...]:
        return tuple(int(re.findall(r":(\d+)", one.url)[0]) for one in self.servers)

    @property
    def pids(self) -> list[int]:
        return [one.process.pid for one in self.servers]

    @property
    def key(self) -> str:
        return self.servers[0].admin_key

    def org(self, name: str) -> str:
        """A new organisation; its admin's key."""
        with self.servers[0].client() as client:
            made = client.post("/api/orgs", json={"orgId": name, "name": name})
            key: str = made.json()["adminKey"]
        with self.servers[0].client(key) as client:
            made = client.post("/api/agents", json={"agentId": "assistant", "name": "Assistant"})
            assert made.status_code == 201, made.text
        return key


@contextmanager
def stage(
    folder: Path, model: str, servers: int = 1, database: str | None = None, **environment: str
) -> Generator[Stage]:
    """So many servers; limits on the rate of requests are out of the way unless they are given."""
    told = {
        "PRECEPTOR_ADMIN_KEY": "benchmark-admin-key",
        "PRECEPTOR_SECRET_KEY": "s" * 32,
        "PRECEPTOR_MODEL": "openai-compatible:m",
        "PRECEPTOR_MODEL_URL": model,
        "PRECEPTOR_SGR_ENABLED": "false",
        "PRECEPTOR_ACCESS_LOG": "false",
        "PRECEPTOR_RATE_LIMIT_PER_KEY": FREE,
        "PRECEPTOR_RATE_LIMIT_PER_ORG": FREE,
        **({"PRECEPTOR_DATABASE_URL": database} if database else {}),
        **environment,
    }
    with ExitStack() as opened:
        yield Stage([opened.enter_context(serving(folder / f"server-{one}", **told)) for one in range(servers)])
