"""Turns as a state machine: whatever models say, wherever a process ends, the log stays in order."""

import asyncio
import os
import tempfile
from collections import defaultdict
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

import orjson
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from preceptor import Preceptor, ToolError, ToolRun, open_preceptor, tool
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.models.scripted import Line
from preceptor.domain.conversations.compaction import Dropping, Squashing
from preceptor.domain.delegation import ClosedBy
from preceptor.domain.errors import Conflict, Invalid, NotFound, Upstream
from preceptor.domain.ids import AgentId, ConversationId, MessageId, SpanId, TurnId, ViewId
from preceptor.domain.log import Fenced
from preceptor.domain.messages.message import Text
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.prompts.prompt import Prompt
from preceptor.domain.prompts.reply import Fault, Finish, ModelFailure
from preceptor.domain.turns.audience import Audience
from preceptor.domain.turns.carry_over import taken_over
from preceptor.domain.turns.facts import MessageAbandoned, TurnStatus
from preceptor.domain.turns.step import Settle
from preceptor.domain.turns.turn import fold
from preceptor.engine.following import events_of
from preceptor.engine.messages import Which
from preceptor.engine.seeing import found
from preceptor.engine.taking.accepting import Wanted, accept
from preceptor.engine.taking.carrying import know_by_heart
from preceptor.engine.taking.recovering import take_up
from preceptor.engine.turn.run import Run
from preceptor.engine.turn.stages.settle import settle
from preceptor.engine.turn.turn import take_turn
from preceptor.testing import Called, Say, ScriptedModel
from tests.durability.checker import check_chain, contents
from tests.durability.turn_checker import Fact, check_places, check_turn, rows
from tests.rebuilding import every_call_is_rebuilt
from tests.requirements import covers
from tests.talking import at_once, back, delegate, settings_in, use

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
STEPS = 20
CASES = 1000 if NIGHTLY else 10


class Crash(BaseException):
    """The process ends here."""


@tool(effect="read")
async def look(at: int) -> str:
    """Look at something."""
    return f"seen {at}"


@tool(effect="idempotent")
async def put(at: int, run: ToolRun) -> str:
    """Put something."""
    return f"put {at} {run.call_id}"


@tool(effect="once")
async def send(at: int) -> str:
    """Send something."""
    if at == 3:
        raise ToolError("as it happens")
    return f"sent {at}"


TOOLS = [look, put, send]


def using(tool: str, at: int) -> Line:
    return use(tool, at=at)


def asking(prompts: list[str]) -> Line:
    return at_once(*prompts)


def calling(calls: list[Called]) -> Line:
    return Say("Many at once.", tuple(calls))


numbers = st.integers(0, 3)
prompts = st.sampled_from(["A", "B", "C", "D"])
LINES: st.SearchStrategy[Line] = st.one_of(
    st.sampled_from(["Well.", "", "A longer answer, in several words."]),
    st.builds(using, st.sampled_from(["look", "put", "send", "nothing"]), numbers),
    st.builds(delegate, prompts, mark_intermediate=st.booleans()),
    st.builds(asking, st.lists(prompts, min_size=1, max_size=3)),
    st.builds(back, st.sampled_from(["", "Done here."])),
    st.builds(
        calling,
        st.lists(
            st.sampled_from(
                [
                    Called("look", {"at": 1}, "call_0"),
                    Called("send", {"at": 2}, "call_0"),
                    Called("put", {"at": 3}, "call_1"),
                    Called("put", {}, "call_1", malformed='{"at": '),
                    Called("return_control", {}, "call_2"),
                    Called("delegate_internal_reasoning", {"agent_prompt": "E"}, "call_2"),
                ]
            ),
            min_size=2,
            max_size=4,
        ),
    ),
    st.just(ModelFailure(Fault.UNAUTHORIZED, "No key.")),
    st.just(ModelFailure(Fault.RATE_LIMITED, "Too many.", retry_after=0.0)),
    st.just(ModelFailure(Fault.BROKEN_STREAM, "It broke.", retry_after=0.0)),
    st.just(Say("Cut", (Called("send", {"at": 1}),), finish=Finish.LENGTH)),
    st.just(Crash()),
)


def staying(prompts: list[str]) -> list[Line]:
    """Specialists of whom the last answers the user."""
    return [*(delegate(prompt, mark_intermediate=False) for prompt in prompts), "Which one?"]


SCRIPTS = st.one_of(
    st.lists(LINES, min_size=1, max_size=14),
    st.builds(staying, st.lists(prompts, min_size=1, max_size=2, unique=True)),
)
PARAMETERS = st.sampled_from(
    [
        {},
        {"maxHistorySize": 3},
        {"maxTokens": 700},
        {"maxTokens": 700, "lowWater": 1.0, "maxHistorySize": 7},
        {"compressionStrategy": {"type": "whole_history"}},
        {"compressionStrategy": {"type": "chunked", "chunkSize": 3}, "onFailure": "trim"},
        {
            "compressionStrategy": {"type": "from_last_n_messages", "n": 4},
            "maxTokens": 900,
            "compressWhen": "over_budget",
        },
    ]
)


class Talking(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.script: list[Line] = []
        self.left: Run | None = None
        self.carries = False
        self.carried: tuple[SpanId, ...] = ()
        """The delegations that the next turn begins with, if the agent still carries over."""
        self.seen: list[tuple[str, int, bytes]] = []
        self.opening: Any = None
        self.preceptor: Preceptor
        self.loop.run_until_complete(self._open())
        start = self.preceptor.conversations.start(agent_id="assistant")
        self.place: ConversationId = self.loop.run_until_complete(start).conversation_id
        self.carry_over_or_no_longer()

    def teardown(self) -> None:
        self.loop.run_until_complete(every_call_is_rebuilt(self.preceptor))
        self.loop.run_until_complete(self.opening.__aexit__(None, None, None))
        self.loop.close()
        self.folder.cleanup()

    async def _open(self) -> None:
        told = settings_in(self.path, tools=[f"{__name__}:TOOLS"], max_iterations=25)
        registry = ModelRegistry(told)
        registry.add("local", ScriptedModel(self._next))
        self.opening = open_preceptor(told, models=registry, take_up=False)
        self.preceptor = await self.opening.__aenter__()
        await self.preceptor.agents.change(AgentId("assistant"), tools=("look", "put", "send"))

    def _next(self, _: Prompt) -> Line:
        line = self.script.pop(0) if self.script else "That is all."
        if isinstance(line, Crash):
            raise line
        return line

    @precondition(lambda self: self.left is None)
    @rule(script=SCRIPTS, parameters=PARAMETERS)
    def say(self, script: list[Line], parameters: dict[str, Any]) -> None:
        self.script = script
        wanted = RequestParameters.model_validate(parameters)
        run = self.loop.run_until_complete(self._accept(wanted))
        expected = self.carried if self.carries else ()
        assert tuple(span.carried_from for span in taken_over(run.turn)) == expected
        self.carried = ()
        self.loop.run_until_complete(self._take(run))

    @rule()
    def carry_over_or_no_longer(self) -> None:
        self.carries = not self.carries
        change = self.preceptor.agents.change(AgentId("assistant"), carry_over=self.carries)
        self.loop.run_until_complete(change)

    @precondition(lambda self: self.left is None)
    @rule(strategy=st.sampled_from(["concat", "summarize", "distill"]), choice=st.randoms(use_true_random=False))
    def squash(self, strategy: str, choice: Random) -> None:
        """Any messages at all in the place of which one is shown; what may not be parted is refused as a whole."""
        said = self.loop.run_until_complete(self._said())
        if not said:
            return
        first = choice.randrange(len(said))
        chosen = said[first : first + choice.randint(1, 6)]
        self.script = ["What was found."]
        wanted = Squashing.model_validate({"strategy": strategy, "messageIds": chosen})
        with suppress(Invalid, Conflict, NotFound, ModelFailure, Upstream):
            self.loop.run_until_complete(self.preceptor.views.compact(self.place, wanted))

    @precondition(lambda self: self.left is None)
    @rule()
    def clean_up(self) -> None:
        wanted = Dropping.model_validate({"strategy": "drop", "intermediate": True})
        self.loop.run_until_complete(self.preceptor.views.compact(self.place, wanted))

    @precondition(lambda self: self.left is None)
    @rule(choice=st.randoms(use_true_random=False))
    def undo(self, choice: Random) -> None:
        views = self.loop.run_until_complete(self.preceptor.views.page(self.place)).items
        wanted = choice.choice(views)
        restored = self.loop.run_until_complete(self.preceptor.views.restore(self.place, ViewId(wanted.view_id)))
        assert restored.restored_view_id == wanted.view_id

    @precondition(lambda self: self.left is not None)
    @rule(script=SCRIPTS)
    def recover(self, script: list[Line]) -> None:
        self.script = script
        self.loop.run_until_complete(self._take(self.loop.run_until_complete(self._take_up())))

    @precondition(lambda self: self.left is not None and self.left.journal.store is self.preceptor.session.store)
    @rule()
    def recover_and_meet_the_one_who_was_there_before(self) -> None:
        before, self.script = self.left, []
        assert before is not None
        after = self.loop.run_until_complete(self._take_up())
        before.journal.torn = False
        before.journal.note("message.abandoned", MessageAbandoned(message_id=before.turn.main.messages[0].id, why="x"))
        try:
            self.loop.run_until_complete(before.journal.commit())
        except Fenced:
            pass
        else:
            raise AssertionError("two wrote the same turn")
        self.loop.run_until_complete(self._take(after))

    @precondition(lambda self: self.left is not None)
    @rule()
    def stop(self) -> None:
        self.loop.run_until_complete(self.preceptor.turns.cancel(self.place))
        self.left = None

    @precondition(lambda self: self.left is not None)
    @rule()
    def give_up(self) -> None:
        run = self.loop.run_until_complete(self._take_up())
        self.loop.run_until_complete(settle(run, Settle(TurnStatus.FAILED, "internal", "Enough.")))
        self.left = None

    @rule()
    def restart(self) -> None:
        self.loop.run_until_complete(self.opening.__aexit__(None, None, None))
        self.loop.run_until_complete(self._open())

    async def _said(self) -> list[MessageId]:
        page = await self.preceptor.messages.page(self.place, Which.CURRENT, Audience.SYSTEM, None, 200)
        return [message.id for message in page["items"]]

    async def _accept(self, parameters: RequestParameters) -> Run:
        session = self.preceptor.session
        turn_id = TurnId(session.world.new_id())

        async def program(work: Any) -> Any:
            conversation = await found(work, session.caller, self.place)
            return await accept(work, session, Wanted(conversation, (Text("Go."),), parameters), turn_id)

        run, _ = await session.write(program)
        return run

    async def _take_up(self) -> Run:
        session, before = self.preceptor.session, self.left
        assert before is not None
        recovered = await session.write(lambda work: take_up(work, session, before.turn.turn_id))
        assert recovered is not None
        return recovered.run

    async def _take(self, run: Run) -> None:
        self.left = run
        try:
            await take_turn(run)
        except Crash:
            return
        self.left = None
        self.carried = tuple(
            SpanId(span_id) for span_id, closed in run.turn.closed.items() if closed.closed_by is ClosedBy.CARRIED
        )[::-1]
        know_by_heart(run)
        assert run.turn.ended is not None
        assert run.turn == await self._folded(run.turn.turn_id)

    async def _folded(self, turn_id: TurnId) -> Any:
        async def program(work: Any) -> Any:
            row = await work.turns.find(turn_id)
            return fold(turn_id, await events_of(work, row))

        return await self.preceptor.session.read(program)

    @invariant()
    def nothing_that_was_written_has_changed(self) -> None:
        events = contents(f"sqlite:///{self.path / 'preceptor.db'}").events
        now = [(row.stream, row.seq, row.hash) for row in events]
        assert {*self.seen} <= {*now}
        self.seen = now
        for _, stream in groupby(events, lambda row: (row.org, row.stream)):
            check_chain(list(stream))

    @invariant()
    def every_turn_that_has_ended_is_whole(self) -> None:
        url = f"sqlite:///{self.path / 'preceptor.db'}"
        turns, messages = rows(url)
        told: list[Fact] = [(row, orjson.loads(row.payload or "{}")) for row in contents(url).events]
        facts: defaultdict[str | None, list[Fact]] = defaultdict(list)
        for row, fact in told:
            facts[row.turn].append((row, fact))
        for turn, _, status in turns:
            if status != "running":
                check_turn(facts[turn])
        check_places(messages, {(row.stream, row.seq): fact for row, fact in told})
        assert sum(status == "running" for _, _, status in turns) == (self.left is not None)


@covers("R26", "B2", "F23")
class TestTalking(Talking.TestCase):
    settings = settings(
        max_examples=CASES,
        stateful_step_count=STEPS,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        derandomize=not NIGHTLY,
    )
