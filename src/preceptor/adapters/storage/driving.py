"""Driving a transaction to its end without an event loop, where its storage never waits."""

from typing import Any, TypeVar

from preceptor.adapters.storage.work import SqlWork
from preceptor.domain.errors import PreceptorError
from preceptor.engine.ports import Program

Result = TypeVar("Result")


def run_through(program: Program[Result], work: SqlWork) -> Result:
    """Drive a coroutine that only awaits its unit of work, which on SQLite never waits."""
    coroutine: Any = program(work)
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise AwaitedOutside


class AwaitedOutside(PreceptorError):
    """A mistake in our own code: a transaction awaited something other than its unit of work."""

    def __str__(self) -> str:
        return "A transaction may await nothing but its unit of work."
