"""Names in Host headers."""

import re

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+?)\.?)(?::\d{1,5})?", re.ASCII)


def host_name(host: str) -> str:
    """The name in a Host header, without its port; empty when it is not a name."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""
