"""A guard model behind a MOSEC server."""

from urllib.parse import urlsplit, urlunsplit

from preceptor.adapters.egress import Egress
from preceptor.adapters.guardians.remote import Patience, RemoteGuardian
from preceptor.wire import mosec


def mosec_guardian(url: str, egress: Egress, patience: Patience) -> RemoteGuardian:
    return RemoteGuardian("mosec", url, egress, mosec.request, mosec.read_answer, patience)


def mosec_address(url: str, port: int | None = None, path: str = "") -> str:
    """One address, from the address itself or from its parts."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or ""
    netloc = f"{host}:{port}" if port is not None else parts.netloc
    whole = parts.path.rstrip("/") + ("/" + path.lstrip("/") if path else "")
    return urlunsplit((parts.scheme, netloc, whole, parts.query, ""))
