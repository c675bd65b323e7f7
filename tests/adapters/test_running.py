"""Going on in this process: many things at once, and what is heard of them when one fails."""

import asyncio

import pytest

from preceptor.adapters.running import InProcess
from preceptor.engine.journal import Torn


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
