"""How MCP reaches Preceptor: every tool is an operation of the HTTP API, with its permissions, limits and errors."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec

Json = dict[str, Any]


@dataclass(eq=False)
class Declined(Exception):
    """The API said no, in a sentence."""

    status: int
    code: str
    detail: str

    def __str__(self) -> str:
        return self.detail


class Rest(msgspec.Struct, frozen=True):
    """The HTTP API, acting for whoever speaks to us."""

    client: httpx2.AsyncClient

    async def get(self, path: str, *ids: str, **query: Any) -> Json:
        wanted = {name: value for name, value in query.items() if value is not None}
        return await self._ask("GET", path, ids, params=wanted)

    async def post(self, path: str, *ids: str, body: Json) -> Json:
        return await self._ask("POST", path, ids, json=body)

    async def put(self, path: str, *ids: str, body: Json, etag: str | None = None) -> Json:
        return await self._ask("PUT", path, ids, json=body, headers={"If-Match": etag} if etag else {})

    async def items(self, path: str, **query: Any) -> AsyncIterator[Json]:
        """All items of a list, page after page."""
        cursor: str | None = None
        while True:
            page = await self.get(path, limit=200, cursor=cursor, **query)
            for item in page["items"]:
                yield item
            cursor = page["nextCursor"]
            if cursor is None:
                return

    async def _ask(self, method: str, path: str, ids: tuple[str, ...], **options: Any) -> Json:
        where = path.format(*(quote(one, safe="") for one in ids))
        # A turn takes as long as it takes: it has a limit of its own.
        answer = await self.client.request(method, where, timeout=None, **options)
        if answer.is_error:
            raise _declined(answer)
        told: Json = answer.json()
        return told | ({"etag": answer.headers["etag"]} if "etag" in answer.headers else {})


def _declined(answer: httpx2.Response) -> Declined:
    try:
        problem = answer.json()
        return Declined(answer.status_code, str(problem["code"]), str(problem["detail"]))
    except (ValueError, TypeError, KeyError):
        return Declined(answer.status_code, "unknown", f"The server answered {answer.status_code}.")
