"""Providers: where an organisation's own models are, and the key that belongs to that address and to no other."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field, SecretStr, StringConstraints, WithJsonSchema

from preceptor.domain.ids import OrgId
from preceptor.domain.value import VISIBLE_TEXT, Revised, Value, left_out

ID_TEXT = r"^[a-z][a-z0-9-]{0,31}$"
URL_TEXT = r"^https?://[\x21-\x5b\x5d-\x7e]{1,490}$"
ConnectionId = Annotated[
    str,
    StringConstraints(pattern=ID_TEXT),
    Field(description="Chosen by you: small letters, digits and hyphens."),
]
Url = Annotated[str, StringConstraints(pattern=URL_TEXT)]

_VISIBLE_ASCII = r"^[\x21-\x7e]{1,4000}$"


def _sendable(secret: SecretStr) -> SecretStr:
    text = secret.get_secret_value()
    if not 1 <= len(text) <= 4000 or any(not "\x21" <= letter <= "\x7e" for letter in text):
        raise ValueError("a key is 1 to 4,000 visible ASCII characters")
    return secret


Secret = Annotated[
    SecretStr,
    AfterValidator(_sendable),
    WithJsonSchema({"type": "string", "format": "password", "writeOnly": True, "pattern": _VISIBLE_ASCII}),
]
"""A key on its way in. It is never told again."""


class ProviderKind(StrEnum):
    """The format that its server speaks."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    OPENAI_COMPATIBLE = "openai-compatible"


class NewProvider(Value):
    provider_id: ConnectionId
    kind: ProviderKind
    url: Url | None = Field(default=None, description="Where its API begins. Default: the provider's own address.")
    api_key: Secret | None = Field(default=None, description="Sealed at once, and never shown again.")


class ProviderChange(Value):
    """What to change; what is left out stays. A new address forgets the key: it belonged to the one before."""

    url: Url = left_out()
    api_key: Secret | None = None


class Provider(Revised):
    """A provider as it may be shown: agents use `providerId:NAME` as their model."""

    provider_id: str
    kind: ProviderKind
    url: str
    has_key: bool
    created_at: AwareDatetime
    updated_at: AwareDatetime
    revision: int

    def context(self, org: OrgId) -> bytes:
        """What its key is sealed for: whoever moves it to another address or another row cannot open it."""
        return f"provider/{org}/{self.provider_id}/{self.kind}/{self.url}".encode()


class ProviderQuestion(Value):
    model: Annotated[
        str,
        StringConstraints(max_length=160, pattern=VISIBLE_TEXT),
        Field(description="The model's name at the provider."),
    ]


class ProviderAnswer(Value):
    """What came of asking a provider one short question, at the stored address with the stored key."""

    ok: bool
    sentence: str = Field(description="What it said, or what went wrong.")
    seconds: float
