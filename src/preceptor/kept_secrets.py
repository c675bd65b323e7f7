"""The secrets of an installation: given by its settings, or made once and kept in its data folder."""

import os
import secrets
from pathlib import Path

import msgspec
from pydantic import SecretStr

from preceptor.domain.errors import CannotStart

PREFIX = "PRECEPTOR_"


class Secrets(msgspec.Struct, frozen=True):
    admin_key: str
    secret_key: str

    def __repr__(self) -> str:
        return "Secrets(…)"


def secret(given: SecretStr | None, file: Path) -> str:
    if given is not None:
        if not given.get_secret_value().strip():
            raise CannotStart(f"{PREFIX}{file.stem.upper()}_KEY is blank. Give it a value, or leave it out.")
        return given.get_secret_value()
    try:
        kept = file.read_text(encoding="utf-8").strip() if file.exists() else _made(file)
    except OSError as error:
        raise CannotStart(
            f"The data folder {file.parent} cannot be used ({error.strerror}). "
            "Make it writable and see that the disk has room, or choose another PRECEPTOR_DATA_DIR."
        ) from None
    if not kept:
        name = f"{PREFIX}{file.stem.upper()}_KEY"
        raise CannotStart(f"{file} is empty. Put the secret back, set {name}, or delete the file to get a new one.")
    return kept


def _made(file: Path) -> str:
    made = secrets.token_urlsafe(32)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(made)
    except OSError:
        file.unlink()  # on a full disk: half a secret is worse than none
        raise
    return made
