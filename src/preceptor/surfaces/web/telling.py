"""Telling a page what changes on it: the next steps of the fold, as operations that a script carries out.

`put` shows HTML in the place of what has the id, or at the end of `into`; `text` appends words; `fold` closes what no
one has touched; `drop` removes; `mark` says how something that is drawn stands now. Each is the same when it is carried
out again, but for `text`, and a stream is resumed after the last row that was told.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
from fastapi import Depends, Header, Query, Request

from preceptor.app import Preceptor
from preceptor.domain.ids import ConversationId
from preceptor.domain.log import Event
from preceptor.domain.turns.facts import TERMINAL
from preceptor.surfaces.web.pages import COOKIE, signed_in
from preceptor.surfaces.web.rendering import Look, look, render
from preceptor.surfaces.web.views.said import Change, Drop, Fold, Put, Text
from preceptor.surfaces.web.views.thread import TurnView, turn_of


async def _since(
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    last_event_id: Annotated[int | None, Header(ge=0, le=2**53)] = None,
) -> int:
    return after if last_event_id is None else max(after, last_event_id)


Since = Annotated[int, Depends(_since)]
"""The row of the log after which a page's stream begins: where the page stood, or where the stream broke off."""
DONE = b"event: done\ndata: {}\n\n"
ASKED_AGAIN = 1.0
"""Seconds for which a stream believes that its session goes on."""


async def frames(
    request: Request, preceptor: Preceptor, conversation_id: ConversationId, after: int
) -> AsyncIterator[bytes]:
    """The rest of the running turn; nothing but the end if none runs and nothing is new."""
    yield b"retry: 500\n\n"
    threads, looking = preceptor.threads, look(request)
    thread = await threads.read(conversation_id)
    turns = {one.turn_id: turn_of(one.turn_id, (t for t in one.told if t.seq <= after)) for one in thread.turns}
    if after >= thread.seq and not any(one.running for one in thread.turns):
        yield DONE
        return
    news = preceptor.conversations.follow(conversation_id, after, archived=True)
    batches = request.app.state.streams.until_shutdown(news)
    async for batch in while_signed_in(request, batches):
        sent = b""
        for event in batch:
            told = threads.tell(event)
            if told is not None and told.turn_id is not None:
                turn = turns.setdefault(told.turn_id, TurnView(told.turn_id))
                if event.kind in TERMINAL:
                    turn.names = await threads.names(turn.instructions)
                sent += _frame(looking, event, turn.tell(told))
        yield sent or b": still here\n\n"
        if any(event.kind in TERMINAL for event in batch):
            view = (await threads.read(conversation_id)).view
            yield _frame(looking, batch[-1], [Put("weight", "weight", "top", view)]) + DONE
            return


async def while_signed_in(request: Request, batches: AsyncIterator[list[Event]]) -> AsyncIterator[list[Event]]:
    """The batches, until whoever reads them has signed out."""
    believed_until = 0.0
    clock = asyncio.get_running_loop().time
    async for batch in batches:
        over = request.app.state.sessions.is_over(request.cookies.get(COOKIE, ""))
        if over or clock() >= believed_until:
            if over or await signed_in(request) is None:
                return
            believed_until = clock() + ASKED_AGAIN
        yield batch


def _frame(looking: Look, event: Event, changes: list[Change]) -> bytes:
    operations = [one for change in changes for one in _operations(looking, change)]
    return frame(event.seq, operations) if operations else b""


def frame(seq: int, operations: list[dict[str, Any]]) -> bytes:
    """What a script is to carry out, up to a row of a log."""
    return b"id: %d\nevent: ops\ndata: %b\n\n" % (seq, orjson.dumps(operations))


def _operations(looking: Look, change: Change) -> list[dict[str, Any]]:
    match change:
        case Put(part=part, id=name, into=into, shown=shown):
            return [{"op": "put", "id": name, "into": into, "html": render(looking, f"parts/{part}.html", it=shown)}]
        case Text(id=name, text=text):
            return [{"op": "text", "id": name, "text": text}]
        case Fold(id=name, shown=shown):
            head = render(looking, "parts/group_head.html", it=shown)
            pick = render(looking, "parts/group_pick.html", it=shown)
            return [
                {"op": "put", "id": f"h-{shown.span_id}", "into": name, "html": head},
                {"op": "put", "id": f"k-{shown.span_id}", "into": name, "html": pick},
                {"op": "fold", "id": name},
            ]
        case Drop(id=name):
            return [{"op": "drop", "id": name}]
