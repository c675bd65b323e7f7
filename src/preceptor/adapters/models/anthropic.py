"""Anthropic's models, over HTTP."""

from collections.abc import AsyncGenerator

import msgspec
from pydantic import SecretStr

from preceptor.adapters.egress import Egress
from preceptor.adapters.models.calling import IDLE, Line
from preceptor.adapters.models.sending import Call
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Ask, Prompt, Request
from preceptor.domain.prompts.reply import Delta, Reply
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

    def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        line = Line(self.url, self.key, self.egress, "Anthropic's messages", self.idle)
        headers = {"anthropic-version": VERSION}
        if self.key is not None:
            headers["x-api-key"] = self.key.get_secret_value()
        parser = Parser(self.name, f"call_{request.sha256[:12]}")
        return Call(self.name, self.capabilities, line, "/messages", headers, parser).answered(request, deadline)
