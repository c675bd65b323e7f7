"""Organisations, their users and their keys."""

from typing import Unpack

from preceptor.client.fields.people import NewKeyFields, NewUserFields
from preceptor.client.operating import Group, Key, Kind, operation
from preceptor.domain.keys import ApiKey, MintedKey, NewKey
from preceptor.domain.orgs import FoundedOrg, NewOrg, Org
from preceptor.domain.paging import Page
from preceptor.domain.users import NewUser, User
from preceptor.engine.access import SignInLink


class Orgs(Group[Kind]):
    """Organisations, for the admin of the installation."""

    @operation("POST /api/orgs", NewOrg)
    def create(self, org_id: str, name: str, *, idempotency_key: Key = None) -> FoundedOrg:
        """Found an organisation. The key of its admin is told once."""
        ...

    @operation("GET /api/orgs")
    def page(self, *, cursor: str | None = None, limit: int | None = None) -> Page[Org]:
        """List the organisations of the installation."""
        ...


class Users(Group[Kind]):
    """The people of your organisation."""

    @operation("POST /api/users", NewUser)
    def create(self, *, idempotency_key: Key = None, **fields: Unpack[NewUserFields]) -> User:
        """Make someone known."""
        ...

    @operation("GET /api/users")
    def page(self, *, cursor: str | None = None, limit: int | None = None) -> Page[User]:
        """List the users of your organisation."""
        ...


class Keys(Group[Kind]):
    """API keys."""

    @operation("POST /api/keys", NewKey)
    def mint(self, *, idempotency_key: Key = None, **fields: Unpack[NewKeyFields]) -> MintedKey:
        """Make a key. It is told once."""
        ...

    @operation("GET /api/keys")
    def page(self, *, cursor: str | None = None, limit: int | None = None) -> Page[ApiKey]:
        """List the keys of your organisation, without their secrets."""
        ...

    @operation("DELETE /api/keys/{key_id}")
    def revoke(self, key_id: str) -> None:
        """Take a key back."""
        ...


class SignInLinks(Group[Kind]):
    """Links into the web pages."""

    @operation("POST /api/sign-in-links")
    def create(self, *, idempotency_key: Key = None) -> SignInLink:
        """Make a link that signs in whoever opens it first, as you, once, within 15 minutes."""
        ...
