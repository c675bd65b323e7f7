"""A guardian at the other end of HTTP. Whatever goes wrong there is a `GuardFailure`, never an error and never Safe."""

import asyncio
from collections.abc import Callable

import aiohttp
import msgspec

from preceptor.adapters.egress import Egress
from preceptor.domain.errors import PreceptorError
from preceptor.domain.reasoning.verdict import GuardFailure, GuardFault, Judged, Level, Verdict, windows, worst

OVERALL = 8.0
"""Seconds that a judgement may take, whatever the number of tries and of windows."""
LARGEST_ANSWER = 64 * 1024
AT_ONCE = 8
_AGAIN = frozenset({GuardFault.UNREACHABLE, GuardFault.TIMEOUT, GuardFault.SERVER})
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}


class Patience(msgspec.Struct, frozen=True):
    timeout: float = 5.0
    """Seconds for one try."""
    retries: int = 1
    """Further tries, after the first."""
    overall: float = OVERALL


class RemoteGuardian(msgspec.Struct, frozen=True):
    name: str
    url: str
    egress: Egress
    write: Callable[[str], bytes]
    read: Callable[[bytes], Judged]
    patience: Patience = Patience()

    async def judge(self, text: str) -> Judged:
        """One verdict on all of the text. A long one is judged in windows, and the severest counts."""
        try:
            async with asyncio.timeout(self.patience.overall):
                return await self._judge(windows(text.encode("utf-8", "replace").decode()))
        except TimeoutError:
            return GuardFailure(GuardFault.TIMEOUT, f"no verdict within {self.patience.overall:g} s")

    async def close(self) -> None:
        await self.egress.close()

    async def _judge(self, pieces: list[str]) -> Judged:
        """So many at once, and no more after the first that is Unsafe."""
        found: list[Judged] = []
        for start in range(0, len(pieces), AT_ONCE):
            async with asyncio.TaskGroup() as group:
                asked = [group.create_task(self._ask(piece)) for piece in pieces[start : start + AT_ONCE]]
            found += [task.result() for task in asked]
            if any(isinstance(one, Verdict) and one.level is Level.UNSAFE for one in found):
                break
        return worst(found)

    async def _ask(self, text: str) -> Judged:
        body = self.write(text)
        judged = await self._try(body)
        for _ in range(self.patience.retries):
            if isinstance(judged, Verdict) or judged.kind not in _AGAIN:
                break
            judged = await self._try(body)
        return judged

    async def _try(self, body: bytes) -> Judged:
        timeout = aiohttp.ClientTimeout(total=self.patience.timeout)
        try:
            async with self.egress.request("POST", self.url, headers=_HEADERS, body=body, timeout=timeout) as answer:
                if answer.status != 200:
                    server = answer.status >= 500
                    return GuardFailure(GuardFault.SERVER if server else GuardFault.REJECTED, f"HTTP {answer.status}")
                raw = await _all_of(answer.content)
        except TimeoutError:
            return GuardFailure(GuardFault.TIMEOUT, f"no answer within {self.patience.timeout:g} s")
        except (aiohttp.ClientError, OSError) as error:
            return GuardFailure(GuardFault.UNREACHABLE, type(error).__name__)
        except PreceptorError as error:
            return GuardFailure(GuardFault.REJECTED, str(error))
        return GuardFailure(GuardFault.TOO_LARGE) if raw is None else self.read(raw)


async def _all_of(stream: aiohttp.StreamReader) -> bytes | None:
    """The whole body, or None as soon as it is too large."""
    raw = b""
    async for chunk in stream.iter_any():
        raw += chunk
        if len(raw) > LARGEST_ANSWER:
            return None
    return raw
