"""Anthropic's models, over HTTP."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec
from pydantic import SecretStr

from preceptor.adapters.egress import Egress
from preceptor.adapters.models.calling import IDLE, LARGEST_ERROR, Line, part_from, read, refusal_of
from preceptor.adapters.models.openai_compatible import accounted
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Ask, Prompt, Request
from preceptor.domain.prompts.reply import Delta, ModelFailure, Reply
from preceptor.wire.anthropic_request import render
from preceptor.wire.anthropic_stream import Parser

VERSION = "2023-06-01"
"""Of the format, which they keep as it was on that day."""


class Anthropic(msgspec.Struct, frozen=True):
    """`name` is the model's name on the wire; `url` is where the API begins, such as https://host/v1."""

    name: str
    url: str
    key: SecretStr | None
    egress: Egress
    capabilities: Capabilities = msgspec.field(default_factory=Capabilities)
    idle: float = IDLE

    def render(self, prompt: Prompt, ask: Ask) -> Request:
        return render(prompt, ask, prefill=self.capabilities.prefill)

    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        line = Line(self.url, self.key, self.egress, "Anthropic's messages", self.idle)
        parser = Parser(self.name, f"call_{request.sha256[:12]}")
        try:
            async with aclosing(self._heard(line, request, deadline, parser)) as heard:
                async for delta in heard:
                    yield delta
            reply = parser.finish()
        except ModelFailure as failure:
            raise line.failed(self.name, failure) from None
        except Exception as error:  # noqa: BLE001 - what is no fault of the model's is raised again
            if parser.finish_reason is None:
                raise line.failed(self.name, error, parser.partial, parser.usage) from None
            reply = parser.finish()  # all had been said; only the goodbye was missing
        yield msgspec.structs.replace(reply, usage=accounted(reply, request, self.capabilities))

    async def _heard(self, line: Line, request: Request, deadline: float, parser: Parser) -> AsyncGenerator[Delta]:
        headers = {**request.headers, "Content-Type": "application/json", "anthropic-version": VERSION}
        if self.key is not None:
            headers["x-api-key"] = self.key.get_secret_value()
        async with line.call("POST", "/messages", headers, request.body, deadline) as response:
            if response.status != 200:
                raise refusal_of(response, await read(response, LARGEST_ERROR))
            if response.content_type != "text/event-stream":
                for delta in parser.whole(await read(response)):
                    yield delta
                return
            async for chunk in response.content.iter_any():
                for delta in parser.feed(chunk):
                    yield delta
                if parser.done:
                    break
            await part_from(response)
