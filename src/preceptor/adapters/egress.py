"""The one way out: calls reach the hosts that the operator named, at addresses that were looked at first, and no other.

A name is looked up once per connection, every address it has is judged, and the connection goes to one of those:
a name that changes its mind in between gains nothing. Redirects are not followed.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from preceptor.domain.errors import CannotStart, Invalid

if TYPE_CHECKING:
    import aiohttp

Address = IPv4Address | IPv6Address
Lookup = Callable[[str, int], Awaitable[list[str]]]

_PORTS = {"http": 80, "https": 443}
_PLAIN = re.compile(r"[!-\[\]-~]+")
_NAME = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
)
_TRANSLATED = tuple(map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96")))


class NotAllowedOut(Invalid):
    """An address that this installation does not call."""

    sentence: str = "That address may not be called. Ask the operator to add it to PRECEPTOR_EGRESS_ALLOW."


class Door(msgspec.Struct, frozen=True):
    """Where calls may go. Only the operator's own addresses may lie in a private network."""

    scheme: str
    host: str
    port: int
    private: bool = False


def doors_of(entry: str) -> tuple[Door, ...]:
    """What one entry of PRECEPTOR_EGRESS_ALLOW opens: `host` for https, `host:port`, or a whole origin."""
    try:
        if "://" in entry:
            return (_opened(entry),)
        if re.search(r"(\]|^[^\[:]+):\d+$", entry):
            return _opened(f"https://{entry}"), _opened(f"http://{entry}")
        return (_opened(f"https://{entry}"),)
    except NotAllowedOut as error:
        raise CannotStart(f"PRECEPTOR_EGRESS_ALLOW holds {entry!r}, which is not a host: {error}") from None


def _opened(url: str) -> Door:
    """A door of the operator's: it may lie in a private network if it names an address there, or this machine."""
    door = door_to(url)
    return door_to(url, private=_is_address(door.host) or door.host == "localhost")


@lru_cache(maxsize=1024)
def door_to(url: str, *, private: bool = False) -> Door:
    """The place that a URL names, if it names it plainly."""
    if not _PLAIN.fullmatch(url):
        raise NotAllowedOut("An address must be written in plain ASCII, without spaces or backslashes.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise NotAllowedOut("That address cannot be read. Write it as https://host:port/path.") from None
    if parts.scheme not in _PORTS:
        raise NotAllowedOut("Only http and https addresses can be called.")
    if "@" in parts.netloc:
        raise NotAllowedOut("An address may not carry a name or a password. Give the key by its own setting.")
    if not host or port == 0 or not (_NAME.fullmatch(host) or _is_address(host)) or "%" in host:
        raise NotAllowedOut("That address names no host in plain form. Write it as https://host:port/path.")
    return Door(parts.scheme, host, port or _PORTS[parts.scheme], private)


@lru_cache(maxsize=1024)
def is_public(address: str) -> bool:
    """Whether it is out in the world: not this machine, not a network of one's own, nor a way into either."""
    found: Address = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return is_public(str(found.ipv4_mapped))
        if any(found in network for network in _TRANSLATED):
            return False
    return found.is_global and not found.is_multicast and not found.is_reserved


def _is_reachable(address: str) -> bool:
    """What even an operator's own name may not mean."""
    found = ip_address(address.partition("%")[0])
    return not (found.is_multicast or found.is_unspecified)


@lru_cache(maxsize=1024)
def _is_address(host: str) -> bool:
    try:
        return bool(ip_address(host))
    except ValueError:
        return False


async def _look_up(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


@dataclass
class Egress:
    """A client for HTTP that refuses every address it was not told of."""

    doors: Iterable[Door]
    look_up: Lookup = _look_up
    _open: dict[tuple[str, str, int], Door] = field(default_factory=dict[tuple[str, str, int], Door], init=False)
    _session: "aiohttp.ClientSession | None" = field(default=None, init=False)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        for door in self.doors:
            known = self._open.get((door.scheme, door.host, door.port))
            self._open[door.scheme, door.host, door.port] = door if known is None or door.private else known

    def check(self, url: str) -> Door:
        """The door for this address, or `NotAllowedOut`."""
        wanted = door_to(url)
        door = self._open.get((wanted.scheme, wanted.host, wanted.port))
        if door is None:
            raise NotAllowedOut
        if _is_address(door.host) and not (door.private or is_public(door.host)):
            raise NotAllowedOut
        return door

    async def addresses(self, host: str, port: int) -> list[str]:
        """Where this name is, if all of it may be called."""
        doors = [door for door in self._open.values() if (door.host, door.port) == (host, port)]
        if not doors:
            raise NotAllowedOut
        found = await self.look_up(host, port)
        private = any(door.private for door in doors)
        if not all(_is_reachable(address) if private else is_public(address) for address in found):
            raise NotAllowedOut(
                f"{host} lies in a private network, so it is not called. If it is yours, name its address in the "
                "settings."
            )
        return found

    def request(
        self, method: str, url: str, *, headers: dict[str, str], body: bytes | None, timeout: "aiohttp.ClientTimeout"
    ) -> "AbstractAsyncContextManager[aiohttp.ClientResponse]":
        import yarl

        self.check(url)
        return self._client().request(
            method,
            yarl.URL(url, encoded=True),
            data=body,
            headers={"Accept-Encoding": "identity", **headers},
            timeout=timeout,
            allow_redirects=False,
            max_line_size=65_536,
        )

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _client(self) -> "aiohttp.ClientSession":
        import aiohttp

        loop = asyncio.get_running_loop()
        if self._session is None or self._session.closed or self._loop is not loop:
            connector = aiohttp.TCPConnector(
                resolver=_resolver(self), use_dns_cache=False, limit=0, keepalive_timeout=30
            )
            self._loop = loop
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False, auto_decompress=False
            )
        return self._session


def _resolver(egress: Egress) -> Any:
    from aiohttp.abc import AbstractResolver, ResolveResult

    class Checked(AbstractResolver):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            found = await egress.addresses(host, port)
            families = {address: socket.AF_INET6 if ":" in address else socket.AF_INET for address in found}
            return [
                ResolveResult(
                    hostname=host,
                    host=address,
                    port=port,
                    family=kind,
                    proto=0,
                    flags=socket.AI_NUMERICHOST,
                )
                for address, kind in families.items()
                if family in {socket.AF_UNSPEC, kind}
            ]

        async def close(self) -> None:
            """Nothing to close."""

    return Checked()
