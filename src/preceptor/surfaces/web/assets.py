"""Style and scripts. Their address holds a hash of all of them, so a browser may keep them for ever."""

import gzip
import hashlib
from functools import cache
from pathlib import Path

import msgspec
from fastapi import Request, Response

from preceptor.domain.errors import NotFound
from preceptor.surfaces.rest.parameters import Name
from preceptor.surfaces.rest.routing import Api, open_to_anyone

router = Api("/static", "web")
FOLDER = Path(__file__).parent / "static"
KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}


class Asset(msgspec.Struct, frozen=True):
    kind: str
    plain: bytes
    packed: bytes


@cache
def assets() -> dict[str, Asset]:
    files = sorted(file for file in FOLDER.iterdir() if file.suffix in KINDS)
    return {file.name: _read(file) for file in files}


@cache
def digest() -> str:
    together = hashlib.sha256()
    for name, asset in assets().items():
        together.update(name.encode() + b"\0" + asset.plain)
    return together.hexdigest()[:12]


def address(name: str) -> str:
    """Where a browser finds an asset of ours."""
    assert name in assets(), name
    return f"/static/{digest()}/{name}"


@router.get("/{version}/{name}", include_in_schema=False)
@open_to_anyone
async def get(version: Name, name: Name, request: Request) -> Response:
    asset = assets().get(name)
    if asset is None or version != digest():
        raise NotFound("asset", name)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.packed, 200, {**FOR_EVER, "Content-Encoding": "gzip"}, asset.kind)
    return Response(asset.plain, 200, FOR_EVER, asset.kind)


def _read(file: Path) -> Asset:
    plain = file.read_bytes()
    return Asset(KINDS[file.suffix], plain, gzip.compress(plain, mtime=0))
