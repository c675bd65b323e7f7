"""Users: people (or programs) of an organisation, each with a role."""

from typing import Annotated

from pydantic import AwareDatetime, Field, StringConstraints

from preceptor.domain.ids import GroupId, UserId
from preceptor.domain.orgs import Name
from preceptor.domain.ownership import Role
from preceptor.domain.value import Value

HANDLE_TEXT = r"^[A-Za-z0-9][A-Za-z0-9@._|-]{0,127}$"
Handle = Annotated[str, StringConstraints(pattern=HANDLE_TEXT)]


class NewUser(Value):
    user_id: Handle = Field(description="Chosen by you; with OIDC, the token's `sub`.")
    name: Name
    role: Role = Role.VIEWER
    group_id: Handle | None = None


class User(Value):
    user_id: UserId
    name: str
    role: Role
    group_id: GroupId | None = None
    created_at: AwareDatetime
