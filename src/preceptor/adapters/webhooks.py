"""Webhooks: one call each, to addresses that the operator allows, through the one way out."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from preceptor.adapters.egress import Egress, doors_of
from preceptor.engine.calling_out import NoAnswer, NotSent
from preceptor.engine.ports import Called

CONNECT = 10.0
LARGEST_ANSWER = 1_000_000


@dataclass(frozen=True, slots=True)
class EgressWebhooks:
    allowed: Iterable[str]
    egress: Egress = field(init=False)

    def __post_init__(self) -> None:
        doors = [door for one in self.allowed for door in doors_of(one)]
        object.__setattr__(self, "egress", Egress(doors))

    def check(self, url: str) -> None:
        self.egress.check(url)

    async def call(self, method: str, url: str, headers: dict[str, str], body: bytes | None, seconds: float) -> Called:
        import aiohttp

        patience = aiohttp.ClientTimeout(total=seconds, sock_connect=min(CONNECT, seconds))
        try:
            async with self.egress.request(method, url, headers=headers, body=body, timeout=patience) as response:
                return Called(response.status, _read(await _whole(response)))
        except aiohttp.ClientConnectorError as error:
            raise NotSent(f"The address cannot be reached ({type(error).__name__}).") from None
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise NoAnswer(f"No answer came ({type(error).__name__}); it may have arrived all the same.") from None

    async def close(self) -> None:
        await self.egress.close()


async def _whole(response: Any) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > LARGEST_ANSWER:
            raise ValueError(f"more than {LARGEST_ANSWER} bytes")
    return bytes(body)


def _read(body: bytes) -> Any:
    try:
        return orjson.loads(body) if body else None
    except orjson.JSONDecodeError:
        return body.decode("utf-8", "replace").replace("\x00", "")
