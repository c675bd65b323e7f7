"""Preceptor from another program, over HTTP: typed, streaming, and safe to repeat.

    async with AsyncPreceptor("http://127.0.0.1:3003", key="pcp_…") as preceptor:
        turn = await preceptor.say("Where is my order?", agent="support")
        async for event in preceptor.stream("And now?", conversation=turn.conversation_id):
            print(event.text, end="")

`SyncPreceptor` is the same without `await`. A request that gets no answer, or is told to come again, is sent again;
each has a key of its own, so whatever happened in between, it is carried out once. What the server refuses is an
`ApiError` with the stable `code`.
"""

from preceptor.client.asking import ApiError, Unreachable
from preceptor.client.clients import AsyncPreceptor, SyncPreceptor
from preceptor.client.streams import Event

__all__ = ["ApiError", "AsyncPreceptor", "Event", "SyncPreceptor", "Unreachable"]
