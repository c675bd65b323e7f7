"""HTTP for libraries that bring their own client: their requests leave through the one way out, or not at all."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import httpx2

from preceptor.adapters.egress import Egress

if TYPE_CHECKING:
    import aiohttp

CONNECT = 10.0
LARGEST = 8_000_000
"""Bytes of an answer that is not a stream of events."""
_OURS = frozenset({"accept-encoding", "connection", "content-length", "host", "transfer-encoding"})


class Outward(httpx2.AsyncBaseTransport):
    def __init__(self, egress: Egress) -> None:
        self.egress = egress

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        import aiohttp

        idle = request.extensions.get("timeout", {}).get("read")
        patience = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT, sock_read=idle)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _OURS}
        body = await request.aread()
        going = self.egress.request(
            request.method, str(request.url), headers=headers, body=body or None, timeout=patience
        )
        try:
            response = await going.__aenter__()
        except TimeoutError as error:
            raise httpx2.ConnectTimeout(str(error), request=request) from error
        except aiohttp.ClientError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        heard = Heard(going, response)
        if 300 <= response.status < 400:
            await heard.aclose()
            raise httpx2.RequestError("It points to another address, and redirects are not followed.", request=request)
        return httpx2.Response(response.status, headers=list(response.headers.items()), stream=heard)


class Heard(httpx2.AsyncByteStream):
    """An answer while it is being read."""

    def __init__(
        self, going: "AbstractAsyncContextManager[aiohttp.ClientResponse]", response: "aiohttp.ClientResponse"
    ) -> None:
        self.going = going
        self.response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        import aiohttp

        limit = None if self.response.content_type == "text/event-stream" else LARGEST
        read = 0
        try:
            async for chunk in self.response.content.iter_any():
                read += len(chunk)
                if limit is not None and read > limit:
                    raise httpx2.ReadError(f"The answer is larger than {limit} bytes.")
                yield chunk
        except (aiohttp.ClientError, TimeoutError) as error:
            raise httpx2.ReadError(str(error)) from error

    async def aclose(self) -> None:
        self.response.close()
        await self.going.__aexit__(None, None, None)
