"""Any server that speaks OpenAI's chat format, over HTTP."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

import msgspec
from pydantic import SecretStr

from preceptor.adapters.egress import Egress
from preceptor.adapters.models.calling import (
    IDLE,
    LARGEST_ERROR,
    Line,
    answer_of,
    expect_goodbye,
    part_from,
    read,
    refusal_of,
)
from preceptor.adapters.tokens import counter
from preceptor.domain.messages.message import ToolCall
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Ask, Prompt, Request
from preceptor.domain.prompts.reply import Delta, ModelFailure, Reply, Usage
from preceptor.wire.openai_chat import arguments_of, render
from preceptor.wire.openai_pieces import fields_of, text_of
from preceptor.wire.openai_stream import Parser


class OpenAICompatible(msgspec.Struct, frozen=True):
    """`name` is the model's name on the wire; `url` is where the server's API begins, such as https://host/v1."""

    name: str
    url: str
    key: SecretStr | None
    egress: Egress
    capabilities: Capabilities = msgspec.field(default_factory=Capabilities)
    idle: float = IDLE

    def render(self, prompt: Prompt, ask: Ask) -> Request:
        return render(prompt, ask, prefill=self.capabilities.prefill)

    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        parser = Parser(self.name, f"call_{request.sha256[:12]}")
        try:
            async with aclosing(self._heard(request, deadline, parser)) as heard:
                async for delta in heard:
                    yield delta
            reply = parser.finish()
        except ModelFailure as failure:
            raise self._line.failed(self.name, failure) from None
        except Exception as error:  # noqa: BLE001 - what is no fault of the model's is raised again
            if parser.finish_reason is None:
                raise self._line.failed(self.name, error, parser.partial, parser.usage) from None
            reply = parser.finish()  # all had been said; only the goodbye was missing
        yield msgspec.structs.replace(reply, usage=accounted(reply, request, self.capabilities))

    async def list_models(self, deadline: float) -> list[str]:
        """The names of the models that the server has."""
        try:
            async with self._line.call("GET", "/models", self._key, None, deadline) as response:
                answer = await answer_of(response)
        except Exception as error:  # noqa: BLE001 - what is no fault of the model's is raised again
            raise self._line.failed(self.name, error) from None
        models = answer.get("data")
        listed = cast("list[Any]", models) if isinstance(models, list) else []
        return [name for model in listed if (name := text_of(fields_of(model).get("id")))]

    async def _heard(self, request: Request, deadline: float, parser: Parser) -> AsyncGenerator[Delta]:
        headers = {**request.headers, "Content-Type": "application/json", **self._key}
        async with self._line.call("POST", "/chat/completions", headers, request.body, deadline) as response:
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

    @property
    def _line(self) -> Line:
        return Line(self.url, self.key, self.egress, "OpenAI's chat completions", self.idle)

    @property
    def _key(self) -> dict[str, str]:
        return {} if self.key is None else {"Authorization": f"Bearer {self.key.get_secret_value()}"}


def accounted(reply: Reply, request: Request, capabilities: Capabilities) -> Usage:
    """What a call cost: as the provider says, or, where it says nothing, as we count."""
    usage = reply.usage
    if usage.estimated:
        tokens = counter(capabilities.vocabulary)
        said = [f"{part.name}{arguments_of(part)}" if isinstance(part, ToolCall) else part.text for part in reply.parts]
        usage = Usage(request.tokens, sum(map(tokens.count, said)), estimated=True)
    return capabilities.priced(usage)
