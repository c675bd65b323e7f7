"""Every other provider, through pydantic-ai: the extra `providers`.

Other people's libraries write these requests: what we account for is what they are given, in OpenAI's format. They call
through the egress gateway; a provider whose library brings a way out of its own is refused.
"""

import asyncio
import inspect
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import msgspec
import orjson

from preceptor.adapters.egress import Egress, NotAllowedOut
from preceptor.adapters.models.openai_compatible import accounted
from preceptor.domain.errors import Invalid
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Ask, Prompt, Request
from preceptor.domain.prompts.reply import Delta, Fault, ModelFailure, ModelTimeout, Reply
from preceptor.wire.openai_chat import render
from preceptor.wire.openai_pieces import fault_of_status

IDLE = 120.0


@dataclass(eq=False)
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


@dataclass(frozen=True, slots=True)
class Provided:
    """`name` is `PROVIDER:NAME`, as pydantic-ai spells it. Its key is read from the environment, as it says there."""

    name: str
    model: Any
    """Of pydantic-ai."""
    capabilities: Capabilities = field(default_factory=Capabilities)

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
    status = next(
        (found for one in _causes(error) if isinstance(found := getattr(one, "status_code", None), int)), None
    )
    if refused := next((one for one in _causes(error) if isinstance(one, NotAllowedOut)), None):
        return ModelFailure(Fault.REJECTED, f"The model {name} cannot be called: {refused}", partial=partial)
    if status is not None:
        sentence = f"The server of {name} answered {status}. Check its key and its name, or try again later."
        kind = ModelTimeout if fault_of_status(status) is Fault.TIMEOUT else ModelFailure
        return kind(fault_of_status(status), sentence, status=status, partial=partial)
    named = {type(one).__name__ for one in _causes(error)}
    unreachable = bool(named & {"ConnectError", "ConnectTimeout"})
    fault = Fault.UNREACHABLE if unreachable else Fault.BROKEN_STREAM if "ReadError" in named else Fault.BAD_ANSWER
    return ModelFailure(fault, f"The model {name} gave no answer that can be used ({fault}).", partial=partial)


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
