"""Preceptor over HTTP: one client that awaits and one that waits, with the same operations, types and retries."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx2
import orjson

from preceptor.client.asking import Asked, Tries
from preceptor.client.fields.talking import MessageFields
from preceptor.client.groups import Groups
from preceptor.client.nouns.talking import Content
from preceptor.client.operating import Awaiting, Key, Waiting
from preceptor.client.streams import Event, Listening
from preceptor.surfaces.rest.shapes import TurnAnswer

Result = TypeVar("Result")
HERE = "http://127.0.0.1:3003"
RETRIES = 3
PATIENCE = 660.0
"""Seconds for an answer: a turn takes as long as it takes, and has a limit of its own."""


def _headers(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Authorization": f"Bearer {key.strip()}"}


def _plain(method: str, path: str, body: Any, query: dict[str, Any]) -> Asked:
    content = None if body is None else orjson.dumps(body)
    return Asked(method, path, query, content, {"Idempotency-Key": str(uuid.uuid4())} if method == "POST" else {})


def _json(content: bytes) -> Any:
    return orjson.loads(content) if content else None


class AsyncPreceptor(Groups[Awaiting]):
    """`async with AsyncPreceptor(url, key=...) as preceptor: await preceptor.agents.create(name="Support")`."""

    def __init__(
        self,
        url: str = HERE,
        *,
        key: str | None = None,
        retries: int = RETRIES,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(self)
        self.http = httpx2.AsyncClient(base_url=url, headers=_headers(key), timeout=PATIENCE, transport=transport)
        self.retries = retries

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.http.aclose()

    async def say(
        self,
        text: Content,
        *,
        agent: str = "assistant",
        conversation: str | None = None,
        idempotency_key: Key = None,
        **fields: Unpack[MessageFields],
    ) -> TurnAnswer:
        """Say something, in a conversation or in a new one, and wait for the answer."""
        here = conversation or (await self.conversations.start(agent_id=agent)).conversation_id
        return await self.messages.send(here, text, idempotency_key=idempotency_key, **fields)

    async def stream(
        self,
        text: Content,
        *,
        agent: str = "assistant",
        conversation: str | None = None,
        idempotency_key: Key = None,
        **fields: Unpack[MessageFields],
    ) -> AsyncIterator[Event]:
        """Say something, and hear of each event of the turn. A connection that breaks is taken up where it broke."""
        here = conversation or (await self.conversations.start(agent_id=agent)).conversation_id
        async for event in self.messages.stream(here, text, idempotency_key=idempotency_key, **fields):
            yield event

    async def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """An operation that has no name here. Takes and gives plain JSON."""
        return await self.call(_plain(method, path, body, query), _json)

    async def call(self, asked: Asked, read: Callable[[bytes], Result]) -> Result:
        """Send it until there is an answer, and read that."""
        tries = Tries(self.retries)
        while True:
            try:
                outcome = await self.http.request(asked.method, asked.path, **asked.options)
            except httpx2.TransportError as error:
                outcome = error
            answer = tries.judge(outcome)
            if isinstance(answer, httpx2.Response):
                return read(answer.content)
            await asyncio.sleep(answer)

    async def listen(self, listening: Listening) -> AsyncIterator[Event]:
        """Hear of events until there are no more, over as many connections as it takes."""
        listening.retries = self.retries
        while True:
            asked = listening.asked
            try:
                async with self.http.stream(asked.method, asked.path, **asked.options) as response:
                    if response.is_error:
                        await response.aread()
                        listening.refused(response)
                    async for line in response.aiter_lines():
                        for event in listening.hear(line):
                            yield event
                        if listening.over:
                            return
                    listening.ended(response)
            except httpx2.TransportError as error:
                listening.broken(error)
            if listening.over:
                return
            await asyncio.sleep(listening.again())


class SyncPreceptor(Groups[Waiting]):
    """`with SyncPreceptor(url, key=...) as preceptor: preceptor.agents.create(name="Support")`."""

    def __init__(
        self,
        url: str = HERE,
        *,
        key: str | None = None,
        retries: int = RETRIES,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        super().__init__(self)
        self.http = httpx2.Client(base_url=url, headers=_headers(key), timeout=PATIENCE, transport=transport)
        self.retries = retries

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()

    def say(
        self,
        text: Content,
        *,
        agent: str = "assistant",
        conversation: str | None = None,
        idempotency_key: Key = None,
        **fields: Unpack[MessageFields],
    ) -> TurnAnswer:
        """Say something, in a conversation or in a new one, and wait for the answer."""
        here = conversation or self.conversations.start(agent_id=agent).conversation_id
        return self.messages.send(here, text, idempotency_key=idempotency_key, **fields)

    def stream(
        self,
        text: Content,
        *,
        agent: str = "assistant",
        conversation: str | None = None,
        idempotency_key: Key = None,
        **fields: Unpack[MessageFields],
    ) -> Iterator[Event]:
        """Say something, and hear of each event of the turn. A connection that breaks is taken up where it broke."""
        here = conversation or self.conversations.start(agent_id=agent).conversation_id
        yield from self.messages.stream(here, text, idempotency_key=idempotency_key, **fields)

    def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """An operation that has no name here. Takes and gives plain JSON."""
        return self.call(_plain(method, path, body, query), _json)

    def call(self, asked: Asked, read: Callable[[bytes], Result]) -> Result:
        """Send it until there is an answer, and read that."""
        tries = Tries(self.retries)
        while True:
            try:
                outcome = self.http.request(asked.method, asked.path, **asked.options)
            except httpx2.TransportError as error:
                outcome = error
            answer = tries.judge(outcome)
            if isinstance(answer, httpx2.Response):
                return read(answer.content)
            time.sleep(answer)

    def listen(self, listening: Listening) -> Iterator[Event]:
        """Hear of events until there are no more, over as many connections as it takes."""
        listening.retries = self.retries
        while True:
            asked = listening.asked
            try:
                with self.http.stream(asked.method, asked.path, **asked.options) as response:
                    if response.is_error:
                        response.read()
                        listening.refused(response)
                    for line in response.iter_lines():
                        yield from listening.hear(line)
                        if listening.over:
                            return
                    listening.ended(response)
            except httpx2.TransportError as error:
                listening.broken(error)
            if listening.over:
                return
            time.sleep(listening.again())
