"""Two servers and two workers on one PostgreSQL against one of each, in one interleaved run.

The model takes its time and each worker has a capped number of places, as with real models: what is compared is how
many turns go on at once, not how fast two shared cores are.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx2

from benchmarks.upstream import STREAM, Upstream, elsewhere, serve
from tests import serving as starting
from tests.postgres import Cluster, cluster
from tests.serving import serving, working

starting.PATIENCE = 300.0
LATENCY = 3.0
PLACES = 4
ROUNDS = int(os.environ.get("ROUNDS", "3"))
TURNS = 24


class Thoughtful(Upstream):
    """A model that thinks for a while, about as many things at once as it is asked."""

    def answer(self) -> None:
        asyncio.get_running_loop().call_later(LATENCY, self.say)

    def say(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(STREAM)


@dataclass
class Fleet:
    """So many servers and workers, with a database of their own."""

    clients: list[httpx2.Client]

    def seconds(self) -> float:
        """To have so many turns accepted by any of the servers and carried out by any of the workers."""
        began = time.perf_counter()
        turns = [self.begin(self.clients[number % len(self.clients)]) for number in range(TURNS)]
        for turn in turns:
            while self.clients[0].get(f"/api/turns/{turn}").json()["status"] == "running":
                time.sleep(0.05)
        return time.perf_counter() - began

    def begin(self, client: httpx2.Client) -> str:
        place = client.post("/api/conversations", json={"agentId": "assistant"}).json()["conversationId"]
        body = {"content": "Where is my order?", "background": True}
        return client.post(f"/api/conversations/{place}/messages", json=body).json()["turnId"]


def fleet(opened: ExitStack, postgres: Cluster, folder: Path, thoughts: str, size: int) -> Fleet:
    environment = {
        "PRECEPTOR_DATABASE_URL": postgres.new_database(),
        "PRECEPTOR_RUNNER": "dbos",
        "PRECEPTOR_WORKER_CONCURRENCY": str(PLACES),
        "PRECEPTOR_ADMIN_KEY": "benchmark-admin-key",
        "PRECEPTOR_SECRET_KEY": "s" * 32,
        "PRECEPTOR_MODEL": "openai-compatible:m",
        "PRECEPTOR_MODEL_URL": thoughts,
        "PRECEPTOR_GUARD_ENABLED": "false",
        "PRECEPTOR_SGR_ENABLED": "false",
        "PRECEPTOR_ACCESS_LOG": "false",
        "PRECEPTOR_RATE_LIMIT_PER_KEY": "1000",
    }
    servers = [opened.enter_context(serving(folder / f"{size}-{one}", **environment)) for one in range(size)]
    for one in range(size):
        opened.enter_context(working(folder / f"{size}-{one}", **environment))
    return Fleet([opened.enter_context(one.client()) for one in servers])


def main() -> Iterator[str]:
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        postgres, thoughts = (
            opened.enter_context(cluster()),
            opened.enter_context(elsewhere("benchmarks.scale", "model")),
        )
        fleets = {size: fleet(opened, postgres, folder, thoughts, size) for size in (1, 2)}
        for each in fleets.values():
            each.seconds()
        rounds = [{size: each.seconds() for size, each in fleets.items()} for _ in range(ROUNDS)]
    ratios = [one[1] / one[2] for one in rounds]
    alone, both = (TURNS / statistics.median(one[size] for one in rounds) for size in (1, 2))
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    yield f"two of each against one: {statistics.median(ratios):.2f}x ({spread}), goal >= 1.5x"
    yield f"turns a second: {alone:.2f} of the {PLACES / LATENCY:.2f} that one worker has room for; two: {both:.2f}"


if __name__ == "__main__":
    if sys.argv[1:] == ["model"]:
        asyncio.run(serve(Thoughtful))
    else:
        print("\n".join(main()))
