"""Preceptor over HTTP: one client that awaits and one that waits, with the same operations, types and retries."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any, Self

import httpx2
import orjson

from preceptor.client.asking import IN_PROGRESS, ApiError, Asked, Operation, Unreachable, problem_of, wait_before
from preceptor.client.groups import (
    AsyncAgents,
    AsyncAssignments,
    AsyncConversations,
    AsyncInstructions,
    AsyncKeys,
    AsyncMcpServers,
    AsyncMessages,
    AsyncOrgs,
    AsyncProviders,
    AsyncReasoning,
    AsyncTurns,
    AsyncUsers,
    AsyncViews,
    AsyncWebhooks,
    SyncAgents,
    SyncAssignments,
    SyncConversations,
    SyncInstructions,
    SyncKeys,
    SyncMcpServers,
    SyncMessages,
    SyncOrgs,
    SyncProviders,
    SyncReasoning,
    SyncTurns,
    SyncUsers,
    SyncViews,
    SyncWebhooks,
)
from preceptor.client.operations import CONVERSATION
from preceptor.client.streams import Event, Lines
from preceptor.surfaces.rest.shapes import SentMessage, TurnAnswer

HERE = "http://127.0.0.1:3003"
RETRIES = 3
PATIENCE = 660.0
"""Seconds for an answer: a turn takes as long as it takes, and has a limit of its own."""


def _headers(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def _options(asked: Asked) -> dict[str, Any]:
    headers = asked.headers | ({} if asked.body is None else {"Content-Type": "application/json"})
    return {"params": asked.query, "content": asked.body, "headers": headers}


def _said(conversation_id: str, text: str, fields: dict[str, Any]) -> Asked:
    """A message whose turn is to be told as it happens. Sent again, it is the same message."""
    body = SentMessage(content=text, **fields).model_dump_json(exclude_unset=True).encode()
    headers = {"Accept": "text/event-stream", "Idempotency-Key": str(uuid.uuid4())}
    return Asked("POST", f"{CONVERSATION}/messages".format(conversation_id), body=body, headers=headers)


def _rest(conversation_id: str, seq: int) -> Asked:
    """What has happened since."""
    path = f"{CONVERSATION}/events".format(conversation_id)
    return Asked("GET", path, {"after": seq}, headers={"Accept": "text/event-stream"})


def _raise_unless_in_progress(response: httpx2.Response) -> None:
    """A message that arrived before its connection broke is being answered: soon it can be heard from the start."""
    problem = problem_of(response)
    if problem.code != IN_PROGRESS:
        raise problem


def _unreachable(error: Exception) -> Unreachable:
    return Unreachable(0, "unreachable", f"The server gave no answer ({type(error).__name__}). Check its address.")


class AsyncPreceptor:
    """`async with AsyncPreceptor(url, key=...) as preceptor: await preceptor.agents.create(name="Support")`."""

    def __init__(
        self,
        url: str = HERE,
        *,
        key: str | None = None,
        retries: int = RETRIES,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.http = httpx2.AsyncClient(base_url=url, headers=_headers(key), timeout=PATIENCE, transport=transport)
        self.retries = retries
        self.orgs = AsyncOrgs(self._call)
        self.users = AsyncUsers(self._call)
        self.keys = AsyncKeys(self._call)
        self.agents = AsyncAgents(self._call)
        self.assignments = AsyncAssignments(self._call)
        self.instructions = AsyncInstructions(self._call)
        self.providers = AsyncProviders(self._call)
        self.webhooks = AsyncWebhooks(self._call)
        self.mcp_servers = AsyncMcpServers(self._call)
        self.conversations = AsyncConversations(self._call)
        self.messages = AsyncMessages(self._call)
        self.turns = AsyncTurns(self._call)
        self.views = AsyncViews(self._call)
        self.reasoning = AsyncReasoning(self._call)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.http.aclose()

    async def say(
        self, text: str, *, agent: str = "assistant", conversation: str | None = None, **fields: Any
    ) -> TurnAnswer:
        """Say something, in a conversation or in a new one, and wait for the answer."""
        if conversation is None:
            conversation = (await self.conversations.start(agent_id=agent)).conversation_id
        return await self.messages.send(conversation, content=text, **fields)

    async def stream(
        self, text: str, *, agent: str = "assistant", conversation: str | None = None, **fields: Any
    ) -> AsyncIterator[Event]:
        """Say something, and hear of each event of the turn. A connection that breaks is taken up where it broke."""
        if conversation is None:
            conversation = (await self.conversations.start(agent_id=agent)).conversation_id
        asked, attempt, turn, lines = _said(conversation, text, fields), 0, None, Lines()
        while True:
            try:
                async with self.http.stream(asked.method, asked.path, **_options(asked)) as response:
                    if response.is_error:
                        await response.aread()
                        _raise_unless_in_progress(response)
                    async for line in response.aiter_lines():
                        for event in lines.feed(line):
                            turn = turn or event.data.get("turnId")
                            if event.data.get("turnId") == turn:
                                yield event
                            if event.turn is not None and event.data.get("turnId") == turn:
                                return
            except httpx2.TransportError as error:
                if (attempt := attempt + 1) > self.retries:
                    raise _unreachable(error) from error
            await asyncio.sleep(wait_before(attempt, None) or 0)
            lines = Lines(lines.seq)
            asked = asked if turn is None else _rest(conversation, lines.seq)

    async def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """An operation that has no name here. Takes and gives plain JSON."""
        content = None if body is None else orjson.dumps(body)
        headers = {"Idempotency-Key": str(uuid.uuid4())} if method == "POST" else {}
        answer = await self._send(Asked(method, path, query, content, headers))
        return orjson.loads(answer.content) if answer.content else None

    async def _call(self, operation: Operation[Any], asked: Asked) -> Any:
        return operation.read((await self._send(asked)).content)

    async def _send(self, asked: Asked) -> httpx2.Response:
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            try:
                response = await self.http.request(asked.method, asked.path, **_options(asked))
            except httpx2.TransportError as error:
                if last:
                    raise _unreachable(error) from error
                response = None
            pause = None if last and response is not None else wait_before(attempt, response)
            if response is not None and pause is None:
                return _checked(response)
            await asyncio.sleep(pause or 0)
        raise AssertionError("the last try answers or raises")


class SyncPreceptor:
    """`with SyncPreceptor(url, key=...) as preceptor: preceptor.agents.create(name="Support")`."""

    def __init__(
        self,
        url: str = HERE,
        *,
        key: str | None = None,
        retries: int = RETRIES,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.http = httpx2.Client(base_url=url, headers=_headers(key), timeout=PATIENCE, transport=transport)
        self.retries = retries
        self.orgs = SyncOrgs(self._call)
        self.users = SyncUsers(self._call)
        self.keys = SyncKeys(self._call)
        self.agents = SyncAgents(self._call)
        self.assignments = SyncAssignments(self._call)
        self.instructions = SyncInstructions(self._call)
        self.providers = SyncProviders(self._call)
        self.webhooks = SyncWebhooks(self._call)
        self.mcp_servers = SyncMcpServers(self._call)
        self.conversations = SyncConversations(self._call)
        self.messages = SyncMessages(self._call)
        self.turns = SyncTurns(self._call)
        self.views = SyncViews(self._call)
        self.reasoning = SyncReasoning(self._call)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()

    def say(self, text: str, *, agent: str = "assistant", conversation: str | None = None, **fields: Any) -> TurnAnswer:
        """Say something, in a conversation or in a new one, and wait for the answer."""
        if conversation is None:
            conversation = self.conversations.start(agent_id=agent).conversation_id
        return self.messages.send(conversation, content=text, **fields)

    def stream(
        self, text: str, *, agent: str = "assistant", conversation: str | None = None, **fields: Any
    ) -> Iterator[Event]:
        """Say something, and hear of each event of the turn. A connection that breaks is taken up where it broke."""
        if conversation is None:
            conversation = self.conversations.start(agent_id=agent).conversation_id
        asked, attempt, turn, lines = _said(conversation, text, fields), 0, None, Lines()
        while True:
            try:
                with self.http.stream(asked.method, asked.path, **_options(asked)) as response:
                    if response.is_error:
                        response.read()
                        _raise_unless_in_progress(response)
                    for line in response.iter_lines():
                        for event in lines.feed(line):
                            turn = turn or event.data.get("turnId")
                            if event.data.get("turnId") == turn:
                                yield event
                            if event.turn is not None and event.data.get("turnId") == turn:
                                return
            except httpx2.TransportError as error:
                if (attempt := attempt + 1) > self.retries:
                    raise _unreachable(error) from error
            time.sleep(wait_before(attempt, None) or 0)
            lines = Lines(lines.seq)
            asked = asked if turn is None else _rest(conversation, lines.seq)

    def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """An operation that has no name here. Takes and gives plain JSON."""
        content = None if body is None else orjson.dumps(body)
        headers = {"Idempotency-Key": str(uuid.uuid4())} if method == "POST" else {}
        answer = self._send(Asked(method, path, query, content, headers))
        return orjson.loads(answer.content) if answer.content else None

    def _call(self, operation: Operation[Any], asked: Asked) -> Any:
        return operation.read(self._send(asked).content)

    def _send(self, asked: Asked) -> httpx2.Response:
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            try:
                response = self.http.request(asked.method, asked.path, **_options(asked))
            except httpx2.TransportError as error:
                if last:
                    raise _unreachable(error) from error
                response = None
            pause = None if last and response is not None else wait_before(attempt, response)
            if response is not None and pause is None:
                return _checked(response)
            time.sleep(pause or 0)
        raise AssertionError("the last try answers or raises")


def _checked(response: httpx2.Response) -> httpx2.Response:
    if response.is_error:
        raise problem_of(response)
    return response


__all__ = ["ApiError", "AsyncPreceptor", "SyncPreceptor"]
