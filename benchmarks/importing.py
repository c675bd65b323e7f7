"""W7: what `import preceptor` and a first reply cost, beside nothing at all and the peers that are at hand.

Each import is a process of its own; they take turns. LiteLLM is measured where `PRECEPTOR_BENCH_LITELLM` names its
command, with the Python beside it.
"""

import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 5
LITELLM = os.environ.get("PRECEPTOR_BENCH_LITELLM")
FIRST = """
import asyncio, sys, tempfile
from preceptor import Settings, open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.testing import ScriptedModel

async def main():
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.load(data_dir=folder, admin_key="x", guard_enabled=False, sgr_enabled=False)
        registry = ModelRegistry(settings)
        registry.add(registry.default, ScriptedModel(lambda _: "Hello."))
        async with open_preceptor(settings, models=registry) as preceptor:
            turn = await preceptor.conversations.say("Hello?", agent="assistant")
            assert turn.response == "Hello.", turn

asyncio.run(main())
"""
BY_HAND = """
import asyncio, sqlite3, tempfile, json

async def main():
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(f"{folder}/x.db", isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE said(body TEXT)")
        for body in ("Hello?", "Hello."):
            database.execute("INSERT INTO said VALUES(?)", (json.dumps(body),))

asyncio.run(main())
"""


@dataclass(frozen=True, slots=True)
class Cost:
    cpu: float
    megabytes: float


def contenders() -> dict[str, list[str]]:
    here = [sys.executable, "-c"]
    found = {
        "nothing": [*here, "pass"],
        "asyncio, sqlite3, json": [*here, "import asyncio, sqlite3, json"],
        "preceptor": [*here, "import preceptor"],
        "preceptor, everything it opens with": [*here, "from preceptor import Settings, open_preceptor"],
        "pydantic-ai": [*here, "from pydantic_ai import Agent"],
        "openai": [*here, "import openai; openai.AsyncOpenAI"],
        "first reply by hand": [*here, BY_HAND],
        "first reply of preceptor": [*here, FIRST],
    }
    if LITELLM:
        found["litellm"] = [str(Path(LITELLM).with_name("python")), "-c", "import litellm"]
    return found


def cost(command: list[str]) -> Cost:
    alone = os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # or it would wait for a network
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=alone)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    assert status == 0, command
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def main() -> list[str]:
    commands = contenders()
    found: dict[str, list[Cost]] = {name: [] for name in commands}
    for command in commands.values():
        cost(command)
    for _ in range(ROUNDS):
        for name, command in commands.items():
            found[name].append(cost(command))
    return report(found)


def report(found: dict[str, list[Cost]]) -> list[str]:
    def median(name: str, what: str) -> float:
        return statistics.median(getattr(one, what) for one in found[name])

    def ratio(of: str, to: str) -> float:
        pairs = zip(found[of], found[to], strict=True)
        return statistics.median(a.cpu / b.cpu for a, b in pairs)

    lines = [
        f"{name:<36} {median(name, 'cpu') * 1e3:>6.0f} ms CPU {median(name, 'megabytes'):>6.0f} MB" for name in found
    ]
    whole = "preceptor, everything it opens with"
    for name, told in (("preceptor", "import preceptor"), (whole, "all that opening it imports")):
        cost_of = f"{median(name, 'cpu') * 1e3:.0f} ms CPU (goal <= 300), {median(name, 'megabytes'):.0f} MB (<= 45)"
        lines.append(f"{told}: {cost_of}; pydantic-ai costs {ratio('pydantic-ai', name):.1f}x as much (goal >= 2)")
    if "litellm" in found:
        lines.append(f"litellm costs {ratio('litellm', whole):.1f}x as much CPU")
    lines.append(f"first reply: {ratio('first reply of preceptor', 'first reply by hand'):.1f}x by hand (goal <= 4)")
    return lines


if __name__ == "__main__":
    print("\n".join(main()))
