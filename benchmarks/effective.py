"""W4: the rendered system prompt of an agent with 3, 10 and 50 instructions of about 1 kB each.

- `precompiled`: merged once by hand; each call fills three variables into the parts and joins them. No database.
- `join`: no cache: a plain SQLite join of assignments and versions, variables filled in, texts joined.
- `kept`: Preceptor, nothing has changed: inside a transaction that is open anyway, as a turn has it.
- `changed`: Preceptor after a change of one of the instructions, inside a turn's transaction as well: assignments, pins
  and the new version read, and the prompt put together. The source of every line is worked out when someone asks for
  it, and not here.
- `call`, `changed call`: the same two as calls of their own, each with a transaction of its own.
- `langfuse`, `mlflow`: their clients with everything in their caches. Only where they are installed; they are no
  dependencies of ours.
"""

import asyncio
import importlib.util
import random
import re
import sqlite3
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.interleaved import Figures, compare
from preceptor import Preceptor, Settings, open_preceptor
from preceptor.domain.agents import DEFAULT_AGENT
from preceptor.domain.ids import InstructionId
from preceptor.domain.log import Head
from preceptor.engine.repositories.work import Work
from preceptor.engine.telling.compiled import Compiled, Told
from preceptor.engine.telling.effective import effective_now

SIZES = (3, 10, 50)
FILLED = {"customer": "ACME GmbH", "locale": "de-DE", "product": "Platform 5"}
GAP = re.compile(r"\{\{(\w+)\}\}")
WORDS = (
    *("order", "invoice", "customer", "please", "answer", "kindly", "check", "delivery", "number", "address"),
    *("refund", "within", "days", "never", "always"),
)


def texts(count: int) -> list[str]:
    """In the order in which they speak, with three gaps each."""
    chance = random.Random(11)

    def prose() -> str:
        return " ".join(chance.choices(WORDS, k=70))

    return [
        f"Rule {place} for {{{{customer}}}}\n{prose()} {{{{product}}}} {prose()} ({{{{locale}}}})"
        for place in range(count)
    ]


def filled(text: str) -> str:
    return GAP.sub(lambda gap: FILLED[gap[1]], text)


def expected(count: int) -> str:
    return "\n\n".join(map(filled, texts(count)))


class Each:
    """Does `once` as often as it is asked, and once to see that it gives the right text."""

    def __init__(self, size: int) -> None:
        assert self.once() == expected(size)

    def once(self) -> str:
        raise NotImplementedError

    def run(self, count: int) -> None:
        for _ in range(count):
            self.once()

    def close(self) -> None: ...


class Precompiled(Each):
    def __init__(self, _: Path, size: int) -> None:
        parts = GAP.split("\n\n".join(texts(size)))
        self.kept = {("agent", 17): (parts, [(place, parts[place]) for place in range(1, len(parts), 2)])}
        self.counters = {"agent": 17}
        super().__init__(size)

    def once(self) -> str:
        parts, gaps = self.kept["agent", self.counters["agent"]]
        filling = parts.copy()
        for place, name in gaps:
            filling[place] = FILLED[name]
        return "".join(filling)


class Join(Each):
    ASK = (
        "SELECT v.body FROM assigned a JOIN versions v ON v.id = a.id AND v.version = a.pin"
        " WHERE a.agent = ? ORDER BY a.priority, a.id"
    )

    def __init__(self, folder: Path, size: int) -> None:
        self.connection = sqlite3.connect(folder / "join.db")
        self.connection.executescript(
            "PRAGMA journal_mode=WAL;"
            "CREATE TABLE versions(id TEXT, version INTEGER, body TEXT, PRIMARY KEY(id, version)) WITHOUT ROWID;"
            "CREATE TABLE assigned(agent TEXT, id TEXT, pin INTEGER, priority INTEGER, PRIMARY KEY(agent, id))"
            " WITHOUT ROWID;"
        )
        for place, text in enumerate(texts(size)):
            self.connection.execute("INSERT INTO assigned VALUES('agent', ?, 5, ?)", (f"i{place}", place))
            rows = [(f"i{place}", version, text) for version in range(1, 6)]
            self.connection.executemany("INSERT INTO versions VALUES(?, ?, ?)", rows)
        self.connection.commit()
        super().__init__(size)

    def once(self) -> str:
        rows = self.connection.execute(self.ASK, ("agent",)).fetchall()
        return "\n\n".join([filled(body) for (body,) in rows])

    def close(self) -> None:
        self.connection.close()


class Ours:
    """Each instruction has five versions and follows the latest."""

    def __init__(self, folder: Path, size: int) -> None:
        self.loop = asyncio.new_event_loop()
        settings = Settings.load(data_dir=folder, admin_key="x" * 32, database_url=f"sqlite:///{folder / 'ours.db'}")
        self.opened = open_preceptor(settings)
        self.preceptor: Preceptor = self.loop.run_until_complete(self.opened.__aenter__())
        self.ids = self.loop.run_until_complete(self._fill(size))
        assert self.loop.run_until_complete(self.told()).prompt == expected(size)

    async def _fill(self, size: int) -> list[InstructionId]:
        made: list[InstructionId] = []
        for place, text in enumerate(texts(size)):
            first = await self.preceptor.instructions.create(
                name=f"i{place}", type="system", content={"systemPrompt": "First."}
            )
            for words in ("Second.", "Third.", "Fourth.", filled(text)):
                last = await self.preceptor.instructions.revise(first.family_id, content={"systemPrompt": words})
            await self.preceptor.assignments.assign(DEFAULT_AGENT, instruction_id=first.family_id, priority=place)
            made.append(last.instruction_id)
        return made

    async def told(self) -> Told:
        return await self.preceptor.session.read(self.now)

    async def now(self, work: Work) -> Told:
        return (await effective_now(work, self.preceptor.session.compilations, DEFAULT_AGENT)).told

    def close(self) -> None:
        self.loop.run_until_complete(self.opened.__aexit__(None, None, None))
        self.loop.close()


class Call(Ours):
    def run(self, count: int) -> None:
        self.loop.run_until_complete(self._calls(count))

    async def _calls(self, count: int) -> None:
        for _ in range(count):
            assert (await self.told()).prompt


class Kept(Ours):
    def run(self, count: int) -> None:
        async def program(work: Work) -> None:
            for _ in range(count):
                assert (await self.now(work)).prompt

        self.loop.run_until_complete(self.preceptor.session.read(program))


class Changed(Ours):
    """What a change leaves to do: its version was never read, and nothing that was worked out before holds."""

    def __init__(self, folder: Path, size: int) -> None:
        super().__init__(folder, size)
        [(self.place, after)] = self.preceptor.session.compilations.results.items()
        inputs = {key: said for key, said in after.inputs.items() if self.ids[-1] not in key}
        self.before = Compiled(after.told, inputs, Head(), max(["", *self.ids[:-1]]))

    def run(self, count: int) -> None:
        async def program(work: Work) -> None:
            for _ in range(count):
                self.change()
                assert (await self.now(work)).prompt

        self.loop.run_until_complete(self.preceptor.session.read(program))

    def change(self) -> None:
        kept, (org, _) = self.preceptor.session.compilations, self.place
        kept.results[self.place] = self.before
        kept.versions.pop((org, self.ids[-1]), None)


class ChangedCall(Changed):
    def run(self, count: int) -> None:
        self.loop.run_until_complete(self._calls(count))

    async def _calls(self, count: int) -> None:
        for _ in range(count):
            self.change()
            assert (await self.told()).prompt


class Langfuse(Each):
    def __init__(self, _: Path, size: int) -> None:
        from langfuse import Langfuse as Client  # pyright: ignore[reportMissingImports]
        from langfuse._utils.prompt_cache import PromptCache  # pyright: ignore[reportMissingImports]
        from langfuse.model import Prompt_Text, TextPromptClient  # pyright: ignore[reportMissingImports]

        self.client: Any = Client(public_key="p", secret_key="s", host="http://127.0.0.1:9", tracing_enabled=False)
        self.names = [f"i{place}" for place in range(size)]
        for name, text in zip(self.names, texts(size), strict=True):
            said = Prompt_Text(
                name=name, version=1, prompt=text, config={}, labels=["production"], tags=[], type="text"
            )
            key = PromptCache.generate_cache_key(name, version=None, label="production")
            self.client._resources.prompt_cache.set(key, TextPromptClient(said), 3600)  # noqa: SLF001
        super().__init__(size)

    def once(self) -> str:
        found = [self.client.get_prompt(name, label="production").compile(**FILLED) for name in self.names]
        return "\n\n".join(found)


class Mlflow(Each):
    def __init__(self, folder: Path, size: int) -> None:
        import mlflow  # pyright: ignore[reportMissingImports]

        where = f"sqlite:///{folder / 'mlflow.db'}"
        mlflow.set_tracking_uri(where)
        mlflow.set_registry_uri(where)
        self.load: Callable[..., Any] = mlflow.genai.load_prompt
        self.names = [f"i{place}" for place in range(size)]
        for name, text in zip(self.names, texts(size), strict=True):
            mlflow.genai.register_prompt(name=name, template=text)
        super().__init__(size)

    def once(self) -> str:
        loaded = [self.load(f"prompts:/{name}/1", cache_ttl_seconds=3600).format(**FILLED) for name in self.names]
        return "\n\n".join(loaded)


OWN = {
    "precompiled": Precompiled,
    "join": Join,
    "kept": Kept,
    "changed": Changed,
    "call": Call,
    "changed call": ChangedCall,
}
PEERS = {"langfuse": Langfuse, "mlflow": Mlflow}


def main() -> list[str]:
    peers = {name: maker for name, maker in PEERS.items() if importlib.util.find_spec(name)}
    lines = [] if peers else ["langfuse and mlflow are not installed here, so they are left out"]
    for size in SIZES:
        makers = {name: partial(maker, size=size) for name, maker in (OWN | peers).items()}
        lines += table(size, compare(makers, rounds=9, count=200), peers)
    return lines


def table(size: int, found: Mapping[str, Figures], peers: Mapping[str, Any]) -> list[str]:
    def ratio(ours: str, theirs: str) -> float:
        return found[ours].ratio(found[theirs], "cpu")

    costs = "  ".join(f"{name} {figures.median('cpu') * 1e6:.1f}" for name, figures in found.items())
    lines = [
        f"{size} instructions, µs of CPU: {costs}",
        f"  unchanged, in a turn: {ratio('kept', 'precompiled'):.2f}x precompiled (goal <= 3x)",
        f"  after a change, in a turn: {ratio('changed', 'join'):.2f}x a plain join (goal <= 2x)",
        (
            f"  as calls of their own: {ratio('call', 'precompiled'):.2f}x precompiled,"
            f" {ratio('changed call', 'join'):.2f}x a plain join"
        ),
    ]
    goals = {"langfuse": 8, "mlflow": 70}
    lines += [f"  {name} cached: {ratio(name, 'kept'):.1f}x ours (goal >= {goals[name]}x)" for name in peers]
    return lines


if __name__ == "__main__":
    print("\n".join(main()))
