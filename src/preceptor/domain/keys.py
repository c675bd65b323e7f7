"""API keys: shown once, kept as a hash, found by their public part."""

import hashlib
import re
from datetime import datetime
from typing import Annotated, Self

from pydantic import AwareDatetime, ConfigDict, Field, JsonValue, model_validator

from preceptor.domain.ids import KeyId, OrgId, UserId
from preceptor.domain.orgs import Name
from preceptor.domain.ownership import Caller, Owner, Permission, Role, permissions_of
from preceptor.domain.times import Moment
from preceptor.domain.users import Handle
from preceptor.domain.value import Value

BOOTSTRAP = KeyId("bootstrap")
"""The admin key of `PRECEPTOR_ADMIN_KEY`, which may have any shape."""

_ROLES: list[JsonValue] = [role.value for role in Role if role is not Role.SERVICE]
_EITHER: dict[str, JsonValue] = {
    "oneOf": [
        {"required": ["role"], "properties": {"role": {"enum": _ROLES}, "permissions": {"type": "null"}}},
        {"required": ["permissions"], "properties": {"permissions": {"type": "array"}, "role": {"type": "null"}}},
    ]
}
_SHAPE = re.compile(r"pcp_([a-z0-9]{12})_[A-Za-z0-9_-]{43}")


class NewKey(Value):
    """What a key is for. Exactly one of `role` and `permissions`."""

    model_config = ConfigDict(json_schema_extra=_EITHER)

    name: Name
    role: Annotated[Role | None, Field(description="What the key may do, by role.")] = None
    permissions: Annotated[
        tuple[Permission, ...] | None, Field(min_length=1, description="What the key may do, one by one.")
    ] = None
    expires_at: Moment | None = None
    user_id: Annotated[
        Handle | None,
        Field(
            description="Whom the key acts for. Left out: you, if it may do all that you may, else itself. "
            "Another user needs `user:manage`."
        ),
    ] = None

    @model_validator(mode="after")
    def _says_what_it_may_do(self) -> Self:
        if (self.role is None) == (self.permissions is None):
            raise ValueError("give either role or permissions")
        if self.role is Role.SERVICE:
            raise ValueError("the role service has only what its key lists: give permissions")
        return self


class ApiKey(Value):
    """A key as it may be shown: all but the secret."""

    key_id: KeyId
    name: str
    role: Role
    permissions: tuple[Permission, ...]
    user_id: UserId
    created_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    revoked_at: AwareDatetime | None = None


class MintedKey(ApiKey):
    """A new key. `key` is shown this once."""

    key: str


class StoredKey(Value):
    """A key as it is stored."""

    org_id: OrgId
    shown: ApiKey
    secret_hash: str

    def usable(self, now: datetime) -> bool:
        expired = self.shown.expires_at is not None and self.shown.expires_at <= now
        return not expired and self.shown.revoked_at is None

    def caller(self) -> Caller:
        return Caller(
            owner=Owner(org_id=self.org_id, user_id=self.shown.user_id),
            permissions=frozenset(self.shown.permissions),
            credential=self.shown.key_id,
        )


def key_text(key_id: KeyId, secret: str) -> str:
    return f"pcp_{key_id}_{secret}"


def public_part(key: str) -> KeyId:
    """The id a key is looked up by. Anything that is not of our shape can only be the bootstrap key."""
    match = _SHAPE.fullmatch(key)
    return KeyId(match[1]) if match else BOOTSTRAP


def hash_of(key: str) -> str:
    """Plain SHA-256 is enough: the secret is 256 random bits, there is nothing to guess."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def granted(new: NewKey, org_id: OrgId) -> tuple[Role, tuple[Permission, ...]]:
    """The role a key is listed under and the permissions it has, in a stable order."""
    role = new.role or Role.SERVICE
    permissions = permissions_of(role, org_id) if new.permissions is None else frozenset(new.permissions)
    return role, tuple(sorted(permissions))
