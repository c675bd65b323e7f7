"""Calling a model over HTTP: what all providers share. One request is one attempt; retries are the engine's."""

import asyncio
import re
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
from pydantic import SecretStr

from preceptor.adapters.egress import Egress, NotAllowedOut
from preceptor.domain.errors import recorded
from preceptor.domain.prompts.reply import Fault, ModelFailure, ModelTimeout, Usage
from preceptor.wire.openai_pieces import complaint_of, fault_of, fault_of_status, fields_of

if TYPE_CHECKING:
    import aiohttp

CONNECT = 10.0
IDLE = 120.0
FAREWELL = 0.1
SHORTEST = 0.001
"""A client takes no time at all for all the time in the world."""
HANG_UP = frozenset({"llama.cpp"})
"""Servers that promise to keep a connection and close it after each stream: the next call would find it dead."""
LONGEST_WAIT = 3600.0
LARGEST_ERROR = 65_536
LARGEST_ANSWER = 16_000_000

_ADVICE = {
    Fault.UNAUTHORIZED: recorded("Check the key in the settings."),
    Fault.PAYMENT: recorded("Check the account at the provider."),
    Fault.REJECTED: recorded("Check the model's name and its parameters."),
    Fault.TOO_LONG: recorded("Compact the conversation, set `maxTokens`, or use a model with a larger window."),
    Fault.RATE_LIMITED: recorded("Try again later, or raise the limit at the provider."),
    Fault.OVERLOADED: recorded("Try again later."),
    Fault.SERVER: recorded("Try again later."),
    Fault.UNREACHABLE: recorded("Check its address, and that it runs."),
    Fault.TLS: recorded("Check its certificate, and the machine's clock."),
    Fault.TIMEOUT: recorded("Try again later, or allow more time."),
    Fault.BROKEN_STREAM: recorded("Try again."),
    Fault.BAD_ANSWER: recorded(
        "Check that its address is that of a server which speaks the format of %(format)s.", format="{format}"
    ),
}


class Line(msgspec.Struct, frozen=True):
    """The way to one server: where its API begins, and the key that belongs to this address and to no other."""

    url: str
    key: SecretStr | None
    egress: Egress
    format: str = "OpenAI"
    idle: float = IDLE

    def call(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None, deadline: float
    ) -> "AbstractAsyncContextManager[aiohttp.ClientResponse]":
        import aiohttp

        deadline = max(deadline, SHORTEST)
        patience = aiohttp.ClientTimeout(
            total=deadline, sock_connect=min(CONNECT, deadline), sock_read=min(self.idle, deadline)
        )
        url = self.url.rstrip("/") + path
        return self.egress.request(method, url, headers=headers, body=body, timeout=patience)

    def failed(self, model: str, error: Exception, partial: str = "", usage: Usage | None = None) -> ModelFailure:
        """The failure that this error is. What is no fault of the server's is raised again."""
        if isinstance(error, ModelFailure):
            return self._plain(error)
        fault, said = _transport_fault(model, error)
        kind = ModelTimeout if fault is Fault.TIMEOUT else ModelFailure
        return kind(fault, f"{said} {self._advice(fault)}", partial=partial, usage=usage)

    def _plain(self, failure: ModelFailure) -> ModelFailure:
        """The failure with advice, and without the key, should a server repeat it."""
        sentence = f"{failure.sentence.rstrip('. ')}. {self._advice(failure.fault)}"
        if self.key is not None and self.key.get_secret_value():
            sentence = sentence.replace(self.key.get_secret_value(), "***")
        facts: dict[str, Any] = vars(failure) | {"sentence": sentence}
        return type(failure)(**facts)

    def _advice(self, fault: Fault) -> str:
        return _ADVICE[fault].format(format=self.format)


def refusal_of(response: "aiohttp.ClientResponse", body: bytes) -> ModelFailure:
    try:
        answer = fields_of(orjson.loads(body))
    except orjson.JSONDecodeError:
        answer = {}
    error = answer.get("error") or answer.get("detail") or answer.get("message") or ""
    status = response.status
    fault = Fault.BAD_ANSWER if status < 300 else fault_of_status(status)
    if status in {400, 429} and (named := fault_of(error)) in {Fault.PAYMENT, Fault.TOO_LONG}:
        fault = named
    said = complaint_of(error)
    sentence = recorded("The model's server answered %(number)s.", number=status)
    if said:
        sentence = f"The model's server answered {status}: {said}"
    kind = ModelTimeout if fault is Fault.TIMEOUT else ModelFailure
    return kind(fault, sentence, status=status, retry_after=wait_of(response.headers, datetime.now(UTC)))


def wait_of(headers: Any, now: datetime) -> float | None:
    """How long a server asks us to wait, in seconds: never less than none, never longer than an hour."""
    asked = str(headers.get("Retry-After", "")).strip()
    if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", asked):
        return min(float(asked), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(asked)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max((moment - now).total_seconds(), 0.0), LONGEST_WAIT)


def _transport_fault(model: str, error: Exception) -> tuple[Fault, str]:
    import aiohttp

    match error:
        case NotAllowedOut():
            why = str(error).rstrip(".")
            return Fault.REJECTED, recorded("The model %(model)s cannot be called: %(why)s.", model=model, why=why)
        case aiohttp.ClientSSLError() | aiohttp.ClientConnectorCertificateError():
            return Fault.TLS, recorded(
                "The model %(model)s cannot be trusted: its certificate or its encryption is not in order.", model=model
            )
        case TimeoutError():
            return Fault.TIMEOUT, recorded("The model %(model)s did not answer in time.", model=model)
        case aiohttp.ClientConnectorError():
            return Fault.UNREACHABLE, recorded("The model %(model)s cannot be reached.", model=model)
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError():
            return Fault.BROKEN_STREAM, recorded(
                "The model %(model)s broke off before the end of its answer.", model=model
            )
        case aiohttp.ClientError() | ValueError():
            return Fault.BAD_ANSWER, recorded(
                "The model %(model)s answered with something that cannot be read.", model=model
            )
        case _:
            raise error


def expect_goodbye(response: "aiohttp.ClientResponse") -> None:
    """Do not use this connection again, if the server will close it whatever it says."""
    if response.headers.get("Server") in HANG_UP and response.connection is not None:
        protocol = response.connection.protocol
        if protocol is not None:
            protocol.force_close()


async def part_from(response: "aiohttp.ClientResponse") -> None:
    """Let the server say goodbye, so that the connection can be used again; but do not wait for it."""
    try:
        async with asyncio.timeout(FAREWELL):
            await response.content.readany()
    except TimeoutError:
        response.close()


async def read(response: "aiohttp.ClientResponse", limit: int = LARGEST_ANSWER) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit:
            raise ModelFailure(Fault.BAD_ANSWER, f"The model's server sent more than {limit} bytes")
    return bytes(body)


async def answer_of(response: "aiohttp.ClientResponse") -> dict[str, Any]:
    """The JSON object that a server answers with."""
    body = await read(response)
    if response.status != 200:
        raise refusal_of(response, body)
    return fields_of(orjson.loads(body))
