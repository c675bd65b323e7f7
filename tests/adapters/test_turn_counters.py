"""What a turn costs in a long conversation: no more than in a short one, in numbers that no machine can change."""

import sys
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from benchmarks.seeding import Said, fill
from preceptor import Preceptor, open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.models.scripted import Script
from preceptor.domain.agents import AgentChange
from preceptor.domain.history.limits import Limits
from preceptor.domain.ids import AgentId, ConversationId
from preceptor.domain.messages.message import Text
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.engine.ports import TokenCounter
from preceptor.testing import Called, Say, ScriptedModel
from tests.adapters.test_counters import PAGE, traced
from tests.talking import settings_in

SHORT, LONG = 20, 20_000
TURNS = 3
WORDS = "word " * 40
LAST_4 = {"type": "from_last_n_messages", "n": 4}
OPTIONS: dict[str, dict[str, object]] = {
    "maxTokens": {"maxTokens": 600},
    "maxHistorySize": {"maxHistorySize": 7},
    "the model's window": {},
    "summaries": {"compressionStrategy": LAST_4},
}


@dataclass(eq=False)
class Counting:
    """A counter that notes how much it was given."""

    inner: TokenCounter
    characters: int = 0

    @property
    def estimated(self) -> bool:
        return self.inner.estimated

    def count(self, text: str) -> int:
        self.characters += len(text)
        return self.inner.count(text)


class Registry(ModelRegistry):
    counting: Counting | None = None

    def counter(self, name: str | None) -> TokenCounter:
        if self.counting is None:
            self.counting = Counting(super().counter(name))
        return self.counting


@dataclass
class Spent:
    statements: list[list[str]] = field(default_factory=list[list[str]])
    pages: list[float] = field(default_factory=list[float])
    characters: list[int] = field(default_factory=list[int])
    shown: list[int] = field(default_factory=list[int])


@asynccontextmanager
async def opened(
    folder: Path, window: int, script: Script = lambda _: "They talked about words." + WORDS, *, tools: bool = False
) -> AsyncGenerator[tuple[Preceptor, Registry, ScriptedModel]]:
    settings = settings_in(folder)
    registry = Registry(settings)
    capable = Capabilities(plans=False, context_window=window, tools=tools)
    model = ScriptedModel(script, capabilities=capable)
    registry.add("local", model)
    async with open_preceptor(settings, models=registry, take_up=False) as preceptor:
        yield preceptor, registry, model


async def spoken(preceptor: Preceptor, size: int) -> ConversationId:
    """A conversation in which so much was said already."""
    conversation = (await preceptor.conversations.start(agent_id="assistant")).conversation_id
    await fill(preceptor, conversation, size, lambda _: Said(WORDS, 41))
    return conversation


async def spent(folder: Path, size: int, options: dict[str, object]) -> Spent:
    """What turns cost after so many messages. The first decides what is shown, and has the rest summarised."""
    found, parameters = Spent(), RequestParameters.model_validate(options)
    async with opened(folder, 1_000_000 if options else 700) as (preceptor, registry, model):
        conversation = await spoken(preceptor, size)
        wal = preceptor.settings.data_dir / "preceptor.db-wal"
        await preceptor.turns.say(conversation, [Text(f"Well? {WORDS}")], parameters)
        assert registry.counting is not None
        for turn in range(TURNS):
            written, counted = wal.stat().st_size, registry.counting.characters
            with traced(preceptor) as seen:
                await preceptor.turns.say(conversation, [Text(f"And {turn}? {WORDS}")], parameters)
            found.statements.append(seen)
            found.pages.append((wal.stat().st_size - written) / PAGE)
            found.characters.append(registry.counting.characters - counted)
            found.shown.append(len(model.prompts[-1].shown))
    return found


def once_each(turns: list[list[str]]) -> list[list[str]]:
    """The same with what is done several times in a row said once: each summary that is shown is read by itself."""
    return [[one for one, _ in groupby(seen)] for seen in turns]


@pytest.mark.parametrize("option", OPTIONS)
async def test_a_turn_costs_the_same_after_twenty_thousand_messages_as_after_twenty(
    tmp_path_factory: pytest.TempPathFactory, option: str
):
    short = await spent(tmp_path_factory.mktemp("short"), SHORT, OPTIONS[option])
    long = await spent(tmp_path_factory.mktemp("long"), LONG, OPTIONS[option])
    assert max(long.shown) < 60
    assert once_each(long.statements) == once_each(short.statements)
    reads = [seen.count("SELECT messages") for seen in long.statements]
    assert max(reads) <= max(seen.count("SELECT messages") for seen in short.statements) + max(long.shown)
    if option == "summaries":  # when there are many, the newest are written again as one
        assert max(long.characters) <= len(WORDS) / 41 * Limits().summariser_window
    else:
        assert long.characters == short.characters
    assert max(long.pages) <= 2 * max(short.pages), "trees are deeper there, and that is all"


async def test_a_message_that_is_shown_again_is_not_worked_out_again(tmp_path: Path):
    """What a turn does grows with what it shows; for a message that was shown before, by a few calls of functions."""
    calls: dict[int, int] = {}
    shown: dict[int, int] = {}
    async with opened(tmp_path, 1_000_000) as (preceptor, _, model):
        conversation = await spoken(preceptor, 2_000)
        for cap in (1_000, 9_000):
            parameters = RequestParameters.model_validate({"maxTokens": cap})
            for turn in range(3):
                with called() as counted:
                    await preceptor.turns.say(conversation, [Text(f"And {turn}?")], parameters)
                calls[cap] = counted.total()
                shown[cap] = len(model.prompts[-1].shown)
    more = shown[9_000] - shown[1_000]
    assert more > 90
    assert calls[9_000] - calls[1_000] < 5 * more


@contextmanager
def called() -> Generator[Counter[str]]:
    """Counts the calls of our own functions."""
    found: Counter[str] = Counter()

    def hear(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and "/preceptor/" in frame.f_code.co_filename:
            found[frame.f_code.co_qualname] += 1

    before = sys.getprofile()
    sys.setprofile(hear)
    try:
        yield found
    finally:
        sys.setprofile(before)


async def test_a_step_of_a_turn_goes_only_through_what_is_new(tmp_path_factory: pytest.TempPathFactory):
    """What one more tool call costs does not depend on how much was said before: counted in operations of Python."""
    short, long = [await step_in(tmp_path_factory.mktemp(str(size)), size) for size in (20, 320)]
    assert long < 1.05 * short


async def step_in(folder: Path, size: int) -> float:
    add = Say(tool_calls=(Called("calculator", {"expression": "1 + 1"}),))
    scripts = [["Here."], [add, "Here."], [add] * 6 + ["Here."]]
    async with opened(folder, 1_000_000, chain.from_iterable(scripts), tools=True) as (preceptor, _, _):
        conversation = await spoken(preceptor, size)
        await preceptor.agents.change(AgentId("assistant"), AgentChange(tools=("calculator",)))
        found: list[int] = []
        for _ in scripts:
            with worked() as counted:
                await preceptor.turns.say(conversation, [Text("And?")])
            found.append(counted.total())
    return (found[2] - found[1]) / 5


@contextmanager
def worked() -> Generator[Counter[str]]:
    """Counts the operations of the interpreter in our own functions."""
    found: Counter[str] = Counter()

    def hear(frame: FrameType, event: str, _: object) -> Any:
        if "/preceptor/" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        found[frame.f_code.co_qualname] += event == "opcode"
        return hear

    before = sys.gettrace()
    sys.settrace(hear)
    try:
        yield found
    finally:
        sys.settrace(before)


async def test_a_turn_writes_no_more_pages_than_it_must(tmp_path: Path):
    """Six rows of the log, two messages, a turn and the head of the log: in two commits, 40 KB altogether."""
    found = await spent(tmp_path, SHORT, {"maxTokens": 100_000})
    assert max(found.pages) * PAGE < 40_000


@pytest.mark.parametrize("cap", [1_000, 4_000])
async def test_summaries_that_were_paid_for_serve_the_next_turn_however_theirs_ended(tmp_path: Path, cap: int):
    """What must be shown needs more than the first turn allows: it fails, and the next has nothing to summarise."""
    wanted = RequestParameters.model_validate({"compressionStrategy": LAST_4, "maxTokens": cap})
    async with opened(tmp_path, 20_000) as (preceptor, _, model):
        conversation = await spoken(preceptor, 5_000)
        first = await preceptor.turns.say(conversation, [Text("Well?")], wanted)
        summaries = sum(not prompt.shown for prompt in model.prompts)
        assert (first.status, summaries > 15) == ("failed" if cap == 1_000 else "completed", True)
        again = wanted.model_copy(update={"max_tokens": 4_000})
        await preceptor.turns.say(conversation, [Text("And now?")], again)
        assert sum(not prompt.shown for prompt in model.prompts) <= summaries + 1
        assert model.prompts[-1].shown
