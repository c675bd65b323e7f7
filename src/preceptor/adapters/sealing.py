"""What is kept secret at rest, and what is handed out to be shown back: both hang on the installation's secret key."""

import hmac
import os
from base64 import urlsafe_b64encode
from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar

from preceptor.domain.errors import Invalid

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_VERSION = b"\x01"
_NONCE_BYTES = 12
_TAG_BYTES = 16


class SealBroken(Invalid):
    code: ClassVar[str] = "seal_broken"
    sentence: str = (
        "A stored secret cannot be opened: PRECEPTOR_SECRET_KEY differs from the one it was sealed with, or the stored "
        "value was changed. Start with the former key, or enter the secret again."
    )


class NoSecretKey(Invalid):
    code: ClassVar[str] = "no_secret_key"
    sentence: str = "PRECEPTOR_SECRET_KEY is empty. Set it to a long random text, or unset it to have one generated."


class SealedBox:
    """Seals, opens, signs and verifies with keys derived from one secret, a separate one for each purpose.

    The secret may be a function that finds or makes it: it, like the ciphers, is called for by the first who needs it.
    """

    def __init__(self, secret_key: str | Callable[[], str]) -> None:
        if not secret_key:
            raise NoSecretKey
        self._given = secret_key

    @cached_property
    def _secret(self) -> bytes:
        given = self._given if isinstance(self._given, str) else self._given()
        return given.encode(errors="surrogatepass")

    @cached_property
    def _cipher(self) -> "AESGCM":
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self._derive("seal"))

    def seal(self, plain: bytes, context: bytes) -> bytes:
        """It opens again only with the same `context`: name the row there, so that it cannot be moved to another."""
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._cipher.encrypt(nonce, plain, _VERSION + context)

    def open(self, sealed: bytes, context: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        version, nonce, body = sealed[:1], sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        if version != _VERSION or len(body) < _TAG_BYTES:
            raise SealBroken
        try:
            return self._cipher.decrypt(nonce, body, version + context)
        except InvalidTag:
            raise SealBroken from None

    def sign(self, message: bytes, purpose: str) -> str:
        """Safe in a URL or a cookie. A signature for one purpose is worth nothing for another."""
        digest = hmac.digest(self._derive(f"sign {purpose}"), message, sha256)
        return urlsafe_b64encode(digest).rstrip(b"=").decode()

    def verify(self, message: bytes, signature: str, purpose: str) -> bool:
        """Takes the same time whether the first character is wrong or the last."""
        expected = self.sign(message, purpose)
        return hmac.compare_digest(expected.encode(), signature.encode(errors="surrogatepass"))

    def _derive(self, purpose: str) -> bytes:
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        label = f"preceptor/1 {purpose}".encode(errors="surrogatepass")
        return HKDF(SHA256(), length=32, salt=None, info=label).derive(self._secret)
