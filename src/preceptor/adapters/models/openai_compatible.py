"""Any server that speaks OpenAI's chat format, over HTTP."""

from collections.abc import AsyncGenerator
from typing import Any, cast

import msgspec
from pydantic import SecretStr

from preceptor.adapters.egress import Egress
from preceptor.adapters.models.calling import IDLE, Line, answer_of
from preceptor.adapters.models.sending import Call
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Ask, Prompt, Request
from preceptor.domain.prompts.reply import Delta, Reply
from preceptor.wire.openai_chat import render
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

    def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        parser = Parser(self.name, f"call_{request.sha256[:12]}")
        call = Call(self.name, self.capabilities, self._line, "/chat/completions", self._key, parser)
        return call.answered(request, deadline)

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

    @property
    def _line(self) -> Line:
        return Line(self.url, self.key, self.egress, "OpenAI's chat completions", self.idle)

    @property
    def _key(self) -> dict[str, str]:
        return {} if self.key is None else {"Authorization": f"Bearer {self.key.get_secret_value()}"}
