"""Going on in this process: many things at once, and what is heard of them when one fails."""

import asyncio
import gc
import subprocess
import sys

import pytest

from preceptor.adapters.running import InProcess
from preceptor.engine.turn.journal import Torn


async def torn() -> None:
    raise Torn("What this turn noted before could not be written.")


async def fails_when_stopped() -> None:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        raise ValueError("the cause") from None


async def test_the_cause_is_heard_of_before_what_it_tore():
    runner = InProcess()
    with pytest.raises(ValueError, match="the cause"):
        await runner.together([torn(), runner.together([fails_when_stopped(), fails_when_stopped()])])


async def test_what_is_torn_alone_is_heard_of():
    with pytest.raises(Torn):
        await InProcess().together([torn(), asyncio.sleep(60)])


async def test_what_is_stopped_before_it_has_begun_puts_things_in_order_all_the_same():
    ended: list[str] = []

    async def tidy() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("tidied up")

    running = InProcess().spawn("tidy", tidy())
    running.stop()
    await running.wait()
    assert ended == ["tidied up"]


WITHOUT_LOGS = """
import asyncio
from preceptor import tool
from preceptor.adapters.running import InProcess
from preceptor.adapters.tools.toolbox import ToolBox
from preceptor.domain.messages.message import ToolCall

@tool(effect="read")
async def look_up(who: str) -> str:
    "Look someone up."
    raise LookupError("nobody is there")

async def breaks(said: str) -> None:
    raise RuntimeError("it broke")

async def main():
    await ToolBox([look_up]).run(ToolCall("c", "look_up", {"who": "Mrs Dalloway"}), "key", 5)
    running = InProcess().spawn("work", breaks("I am Mrs Dalloway"))
    await asyncio.wait({running.task})

asyncio.run(main())
"""


def test_what_breaks_in_a_program_that_set_up_no_logs_is_told_without_what_people_said():
    told = subprocess.run([sys.executable, "-c", WITHOUT_LOGS], capture_output=True, text=True, check=True)
    assert "LookupError: nobody is there" in told.stderr
    assert "RuntimeError: it broke" in told.stderr
    assert "Dalloway" not in told.stderr
    assert told.stdout == ""


class Doing:
    """Something that takes until it is let go, and remembers how it went."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure, self.began, self.ended, self.stopped = failure, asyncio.Event(), False, False
        self.let_go = asyncio.Event()

    async def __call__(self) -> str:
        self.began.set()
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.stopped = True
            raise
        if self.failure is not None:
            raise self.failure
        self.ended = True
        return "done"

    async def beside(self) -> None:
        await self()


async def test_nothing_is_done_beside_what_is_there_in_time():
    work, beside = Doing(), Doing()
    work.let_go.set()
    assert await InProcess().or_at_least(work(), 0.01, beside.beside) == "done"
    await asyncio.sleep(0.02)
    assert not beside.began.is_set()


async def test_what_takes_longer_has_something_done_beside_it_once_and_waits_for_that():
    work, beside = Doing(), Doing()
    waiting = asyncio.create_task(InProcess().or_at_least(work(), 0, beside.beside))
    await beside.began.wait()
    work.let_go.set()
    done, _ = await asyncio.wait({waiting}, timeout=0.01)
    assert not done
    beside.let_go.set()
    assert await waiting == "done"
    assert beside.ended


async def test_what_fails_beside_ends_the_waiting_and_the_task_can_go_on():
    work, beside = Doing(), Doing(ValueError("no room"))
    beside.let_go.set()

    async def waits() -> str:
        with pytest.raises(ValueError, match="no room"):
            await InProcess().or_at_least(work(), 0, beside.beside)
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling()
        return "went on"

    assert await asyncio.create_task(waits()) == "went on"
    assert work.stopped


async def test_what_fails_by_itself_lets_what_is_done_beside_it_end():
    work, beside = Doing(ValueError("broken")), Doing()
    waiting = asyncio.create_task(InProcess().or_at_least(work(), 0, beside.beside))
    await beside.began.wait()
    work.let_go.set()
    await asyncio.sleep(0)
    beside.let_go.set()
    with pytest.raises(ValueError, match="broken"):
        await waiting
    assert beside.ended


async def test_who_is_stopped_while_waiting_stops_both():
    work, beside = Doing(), Doing()
    waiting = asyncio.create_task(InProcess().or_at_least(work(), 0, beside.beside))
    await beside.began.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (work.stopped, beside.stopped) == (True, True)


async def test_who_is_stopped_hears_nothing_of_what_failed_beside_at_the_same_moment(caplog: pytest.LogCaptureFixture):
    work, beside = Doing(), Doing(ValueError("no room"))
    waiting = asyncio.create_task(InProcess().or_at_least(work(), 0, beside.beside))
    await beside.began.wait()
    beside.let_go.set()
    await asyncio.sleep(0)  # it fails now, and whoever waits has not been told
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    del waiting
    gc.collect()
    assert not caplog.records
