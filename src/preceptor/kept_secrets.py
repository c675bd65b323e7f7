"""The secrets of an installation: given by its settings, or made once and kept in its data folder."""

import os
import re
import secrets
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from pydantic import SecretStr

from preceptor.domain.errors import CannotStart

PREFIX = "PRECEPTOR_"
_SENT = re.compile("[!-~]+")


class Secrets(msgspec.Struct, frozen=True):
    admin_key: str
    secret_key: str

    def __repr__(self) -> str:
        return "Secrets(…)"


class Kept(msgspec.Struct, frozen=True):
    """A secret: as the settings give it, else as it is in its file."""

    given: SecretStr | None
    file: Path

    def found(self) -> str | None:
        """None where there is none yet."""
        if self.given is None:
            return self._read() if self._is_there() else None
        if not self.given.get_secret_value().strip():
            raise CannotStart(f"{PREFIX}{self.file.stem.upper()}_KEY is blank. Give it a value, or leave it out.")
        return self.given.get_secret_value()

    def found_or_made(self) -> str:
        found = self.found()
        if found is not None:
            return found
        with _usable(self.file):
            return _made(self.file)

    def _is_there(self) -> bool:
        with _usable(self.file):
            return self.file.exists()

    def _read(self) -> str:
        with _usable(self.file):
            kept = self.file.read_text(encoding="utf-8").strip()
        if not kept:
            raise CannotStart(f"{self.file} is empty. {_remedy(self.file)}")
        return kept


@contextmanager
def _usable(file: Path) -> Generator[None]:
    try:
        yield
    except UnicodeDecodeError:
        raise CannotStart(f"{file} is not text. {_remedy(file)}") from None
    except OSError as error:
        raise CannotStart(
            f"The data folder {file.parent} cannot be used ({error.strerror}). "
            "Make it writable and see that the disk has room, or choose another PRECEPTOR_DATA_DIR."
        ) from None


def sendable(key: str) -> str:
    """The admin key, if a request can carry it: one that does not fit into a header would let nobody in."""
    if not _SENT.fullmatch(key):
        raise CannotStart(
            f"{PREFIX}ADMIN_KEY cannot be sent with a request. Use letters, digits and signs of ASCII, and no spaces."
        )
    return key


def is_there(path: Path) -> bool:
    """Whether there is such a file or folder, as far as we may look."""
    try:
        return path.exists()
    except OSError:
        return False


def _remedy(file: Path) -> str:
    return f"Put the secret back, set {PREFIX}{file.stem.upper()}_KEY, or delete the file to get a new one."


def _made(file: Path) -> str:
    """A new one, whole and on the disk before it has its name. Of several who begin at once, the first makes it."""
    made = secrets.token_urlsafe(32)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(made)
            out.flush()
            os.fsync(descriptor)
        _name(draft, file)
    except FileExistsError:
        return file.read_text(encoding="utf-8").strip()
    finally:
        draft.unlink(missing_ok=True)
    return made


def _name(draft: Path, file: Path) -> None:
    try:
        os.link(draft, file)
    except FileExistsError:
        raise
    except OSError:  # a disk on which a file has one name
        draft.replace(file)
