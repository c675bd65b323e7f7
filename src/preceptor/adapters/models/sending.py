"""Sending a request to a model, and reading the answer as it comes, whatever its format."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

import msgspec

from preceptor.adapters.models.calling import LARGEST_ERROR, Line, expect_goodbye, part_from, read, refusal_of
from preceptor.adapters.tokens import counter
from preceptor.domain.messages.message import ToolCall
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Request
from preceptor.domain.prompts.reply import Delta, Finish, ModelFailure, Reply, Usage
from preceptor.wire.openai_chat import arguments_of


class Parser(Protocol):
    """Reads answers in one format."""

    finish_reason: Finish | None
    done: bool
    usage: Usage | None

    @property
    def partial(self) -> str: ...

    def feed(self, chunk: bytes) -> list[Delta]: ...

    def whole(self, body: bytes) -> list[Delta]: ...

    def finish(self) -> Reply: ...


class Call(msgspec.Struct, frozen=True):
    """One request to a model, and the parser of its answer."""

    model: str
    capabilities: Capabilities
    line: Line
    path: str
    headers: dict[str, str]
    """Those of the format, and the key."""
    parser: Parser

    async def answered(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        parser = self.parser
        try:
            async with aclosing(self._heard(request, deadline)) as heard:
                async for delta in heard:
                    yield delta
            reply = parser.finish()
        except ModelFailure as failure:
            raise self.line.failed(self.model, failure) from None
        except Exception as error:  # noqa: BLE001 - what is no fault of the model's is raised again
            if parser.finish_reason is None:
                raise self.line.failed(self.model, error, parser.partial, parser.usage) from None
            reply = parser.finish()  # all had been said; only the goodbye was missing
        yield msgspec.structs.replace(reply, usage=accounted(reply, request, self.capabilities))

    async def _heard(self, request: Request, deadline: float) -> AsyncGenerator[Delta]:
        parser = self.parser
        headers = {**request.headers, "Content-Type": "application/json", **self.headers}
        async with self.line.call("POST", self.path, headers, request.body, deadline) as response:
            if response.status != 200:
                raise refusal_of(response, await read(response, LARGEST_ERROR))
            if response.content_type != "text/event-stream":
                for delta in parser.whole(await read(response)):
                    yield delta
                return
            expect_goodbye(response)
            async for chunk in response.content.iter_any():
                for delta in parser.feed(chunk):
                    yield delta
                if parser.done:
                    break
            await part_from(response)


def accounted(reply: Reply, request: Request, capabilities: Capabilities) -> Usage:
    """What a call cost: as the provider says, or, where it says nothing, as we count."""
    usage = reply.usage
    if usage.estimated:
        tokens = counter(capabilities.vocabulary)
        said = [f"{part.name}{arguments_of(part)}" if isinstance(part, ToolCall) else part.text for part in reply.parts]
        usage = Usage(request.tokens, sum(map(tokens.count, said)), estimated=True)
    return capabilities.priced(usage)
