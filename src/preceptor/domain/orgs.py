"""Organisations: the walls between tenants."""

from typing import Annotated

from pydantic import AwareDatetime, Field, StringConstraints

from preceptor.domain.ids import OrgId
from preceptor.domain.value import VISIBLE_TEXT, Value

SLUG_TEXT = r"^[a-z0-9][a-z0-9-]{0,62}$"
Slug = Annotated[str, StringConstraints(pattern=SLUG_TEXT)]
Name = Annotated[str, StringConstraints(max_length=200, pattern=VISIBLE_TEXT)]


class NewOrg(Value):
    org_id: Slug = Field(description="Chosen by you, for good: it is part of every address.")
    name: Name


class Org(Value):
    org_id: OrgId
    name: str
    created_at: AwareDatetime


class FoundedOrg(Org):
    """A new organisation, with the key of its first admin. `adminKey` is shown this once."""

    admin_key: str
