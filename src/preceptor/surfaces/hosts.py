"""Names in Host headers, and whose page asks."""

import re
from collections.abc import Mapping

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+?)\.?)(?::\d{1,5})?", re.ASCII)


def host_name(host: str) -> str:
    """The name in a Host header, without its port; empty when it is not a name."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""


def from_elsewhere(headers: Mapping[str, str]) -> bool:
    """Whether a browser says that a page of another scheme, host or port asks.

    Not all browsers say it outright: else `Origin` does, beside the Host that was asked. Programs say nothing.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site not in {"same-origin", "none"}
    return origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower()
