"""Every other provider, through pydantic-ai: the extra `providers`.

Other people's libraries write these requests: what we account for is what they are given, in OpenAI's format. They call
through the egress gateway; a provider whose library brings a way out of its own is refused.
"""

import asyncio
import inspect
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import msgspec
import orjson

from preceptor.adapters.egress import Egress, NotAllowedOut
from preceptor.adapters.models.calling import wait_of
from preceptor.adapters.models.sending import accounted
from preceptor.domain.errors import Invalid
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Ask, Prompt, Request
from preceptor.domain.prompts.reply import Delta, Fault, ModelFailure, ModelTimeout, Reply
from preceptor.wire.openai_chat import render
from preceptor.wire.openai_pieces import fault_of, fault_of_status, fields_of

IDLE = 120.0
BROKE_OFF = "The model {} broke off before the end of its answer. Try again."


class NotProvided(Invalid):
    """A provider that cannot be had: which, why, and what to do."""


def knows(form: str) -> bool:
    """Whether pydantic-ai has a provider of this name."""
    if find_spec("pydantic_ai") is None:
        return False
    try:
        import_module("pydantic_ai.providers").infer_provider_class(form)
    except ValueError:
        return False
    except ImportError:
        return True  # it is known, and its library is missing: whoever wants it is told
    return True


class Provided(msgspec.Struct, frozen=True):
    """`name` is `PROVIDER:NAME`, as pydantic-ai spells it. Its key is read from the environment, as it says there."""

    name: str
    model: Any
    """Of pydantic-ai."""
    capabilities: Capabilities = msgspec.field(default_factory=Capabilities)

    def render(self, prompt: Prompt, ask: Ask) -> Request:
        return render(prompt, ask, prefill=self.capabilities.prefill)

    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        said = list[str]()
        try:
            async with asyncio.timeout(deadline), aclosing(self._heard(request)) as heard:
                async for piece in heard:
                    if isinstance(piece, Delta):
                        said.append("" if piece.thinking else piece.text)
                    yield piece
        except TimeoutError:
            sentence = f"The model {self.name} did not answer in time. Try again later, or allow more time."
            raise ModelTimeout(Fault.TIMEOUT, sentence, partial="".join(said)) from None
        except ModelFailure:
            raise
        except Exception as error:  # noqa: BLE001 - each library fails in ways of its own
            raise _failure(self.name, error, "".join(said)) from None

    async def _heard(self, request: Request) -> AsyncGenerator[Delta | Reply]:
        from preceptor.wire.pydantic_ai_request import asked_of, piece_of, reply_of

        direct: Any = import_module("pydantic_ai.direct")
        asked = asked_of(orjson.loads(request.body))
        streaming = direct.model_request_stream(
            self.model,
            asked.messages,
            model_settings=asked.settings,
            model_request_parameters=asked.parameters,
        )
        async with streaming as stream:
            async for event in stream:
                if (piece := piece_of(event)) is not None:
                    yield piece
            if getattr(stream, "_has_finish_reason", None) is False:  # the library would make one up
                raise ModelFailure(Fault.BROKEN_STREAM, BROKE_OFF.format(self.name))
            reply = reply_of(stream.get(), self.name)
        yield msgspec.structs.replace(reply, usage=accounted(reply, request, self.capabilities))


def model_of(name: str, egress: Egress) -> Any:
    """The model, with our way out in the place of the library's own."""
    from httpx2 import AsyncClient

    from preceptor.adapters.outward import Outward

    providers: Any = import_module("pydantic_ai.providers")
    models: Any = import_module("pydantic_ai.models")

    def provider(form: str) -> Any:
        kind = providers.infer_provider_class(form)
        if "http_client" not in inspect.signature(kind.__init__).parameters:
            raise NotProvided(f"The library of {form} brings a way out of its own, so it cannot be called from here.")
        made = kind(http_client=AsyncClient(transport=Outward(egress), trust_env=False, timeout=IDLE))
        if hasattr(made.client, "max_retries"):
            made.client.max_retries = 0  # one request is one attempt; retries are the engine's
        return made

    try:
        return models.infer_model(name, provider_factory=provider)
    except (ImportError, import_module("pydantic_ai.exceptions").UserError) as error:
        raise NotProvided(f"{name} cannot be had: {str(error).splitlines()[0]}") from None


def _failure(name: str, error: BaseException, partial: str) -> ModelFailure:
    causes = _causes(error)
    if refused := next((one for one in causes if isinstance(one, NotAllowedOut)), None):
        return ModelFailure(Fault.REJECTED, f"The model {name} cannot be called: {refused}", partial=partial)
    status = next((found for one in causes if isinstance(found := getattr(one, "status_code", None), int)), None)
    if status is not None:
        fault = _refusal(status, causes)
        sentence = f"The server of {name} answered {status}. Check its key and its name, or try again later."
        kind = ModelTimeout if fault is Fault.TIMEOUT else ModelFailure
        return kind(fault, sentence, status=status, retry_after=_wait(causes), partial=partial)
    fault = _transport(causes)
    kind = ModelTimeout if fault is Fault.TIMEOUT else ModelFailure
    return kind(fault, f"The model {name} gave no answer that can be used ({fault}).", partial=partial)


def _refusal(status: int, causes: list[BaseException]) -> Fault:
    """By its status, unless the server says more plainly what is wrong."""
    for one in causes:
        body = fields_of(getattr(one, "body", None))
        named = fault_of(body.get("error") or body)
        if status in {400, 429} and named in {Fault.PAYMENT, Fault.TOO_LONG}:
            return named
    return fault_of_status(status)


def _wait(causes: list[BaseException]) -> float | None:
    answers = (getattr(one, "response", None) for one in causes)
    headers = next((found for answer in answers if (found := getattr(answer, "headers", None)) is not None), None)
    return None if headers is None else wait_of(headers, datetime.now(UTC))


def _transport(causes: list[BaseException]) -> Fault:
    import aiohttp

    if any(isinstance(one, aiohttp.ClientSSLError | aiohttp.ClientConnectorCertificateError) for one in causes):
        return Fault.TLS
    if any(isinstance(one, TimeoutError) for one in causes):
        return Fault.TIMEOUT
    if any(isinstance(one, aiohttp.ClientConnectorError) for one in causes):
        return Fault.UNREACHABLE
    broken = aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError | aiohttp.ClientOSError
    return Fault.BROKEN_STREAM if any(isinstance(one, broken) for one in causes) else Fault.BAD_ANSWER


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
