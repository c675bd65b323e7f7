"""A process that brings a schema up to date and dies before its `nth` statement; 0 means that it may finish."""

import itertools
import os
import signal

from sqlalchemy import Engine, create_engine, event

from preceptor.adapters.storage import schema

# Once before the first fork, so that no child has to import what is only imported when it is used.
schema.upgrade("sqlite://")
create_engine("postgresql+psycopg://")


def migrate(url: str, nth: int = 0) -> None:
    reached = itertools.count(1)

    def before(*_: object) -> None:
        if next(reached) == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", before)
    event.listen(Engine, "commit", before)
    schema.upgrade(url)
