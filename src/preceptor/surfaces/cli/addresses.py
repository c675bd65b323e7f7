"""Where people on this machine reach a server."""

ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - turned into loopback
"""Hosts that mean every address of the machine, and the one to use from here."""


def address(host: str, port: int) -> str:
    """The URL of a server that listens on `host`, brackets or not."""
    bare = host.strip("[]")
    name = ANYWHERE.get(bare, bare)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
