"""Who owns a thing, who is calling, and what each role may do."""

from enum import StrEnum

import msgspec

from preceptor.domain.errors import Refused
from preceptor.domain.ids import GroupId, OrgId, UserId
from preceptor.domain.value import Value

DEFAULT_ORG = OrgId("default")
FIRST_ADMIN = UserId("admin")
INSTALLATION = OrgId("*")
"""Not an organisation: the scope of work that belongs to the whole installation, such as looking up a key."""


class Owner(Value):
    """On every stored thing. The organisation is a wall; user and group say whose it is inside."""

    org_id: OrgId
    user_id: UserId
    group_id: GroupId | None = None


class Permission(StrEnum):
    AGENT_READ = "agent:read"
    AGENT_WRITE = "agent:write"
    CONVERSATION_READ = "conversation:read"
    CONVERSATION_WRITE = "conversation:write"
    CONVERSATION_READ_ANY = "conversation:read_any"
    CONVERSATION_ERASE = "conversation:erase"
    DELEGATE = "delegate"
    """Send messages that hand over to a specialist at once."""
    INSTRUCTION_READ = "instruction:read"
    INSTRUCTION_WRITE = "instruction:write"
    CONSTRAINT_OVERRIDE = "constraint:override"
    RECORD_READ = "record:read"
    CONTEXT_READ = "context:read"
    EXECUTION_RUN = "execution:run"
    REPLAY_RUN = "replay:run"
    EXPERIMENT_RUN = "experiment:run"
    KEY_MANAGE = "key:manage"
    USER_MANAGE = "user:manage"
    SETTINGS_MANAGE = "settings:manage"
    ORG_MANAGE = "org:manage"
    """Create and list organisations. Only admins of the organisation `default` have it: they run the installation."""


class Role(StrEnum):
    VIEWER = "viewer"
    EDITOR = "editor"
    OPERATOR = "operator"
    ADMIN = "admin"
    SERVICE = "service"
    """Has what its key lists, and nothing else."""


_VIEWER = frozenset({Permission.AGENT_READ, Permission.CONVERSATION_READ, Permission.CONVERSATION_WRITE})
_EDITOR = _VIEWER | {
    Permission.INSTRUCTION_READ,
    Permission.INSTRUCTION_WRITE,
    Permission.AGENT_WRITE,
    Permission.DELEGATE,
}
_OPERATOR = _EDITOR | {
    Permission.CONVERSATION_READ_ANY,
    Permission.RECORD_READ,
    Permission.CONTEXT_READ,
    Permission.EXECUTION_RUN,
    Permission.REPLAY_RUN,
    Permission.EXPERIMENT_RUN,
}
_ADMIN = frozenset(Permission) - {Permission.ORG_MANAGE}

ROLES: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: _VIEWER,
    Role.EDITOR: _EDITOR,
    Role.OPERATOR: _OPERATOR,
    Role.ADMIN: _ADMIN,
    Role.SERVICE: frozenset(),
}


def permissions_of(role: Role, org_id: OrgId) -> frozenset[Permission]:
    """What a role may do. Admins of the organisation `default` run the installation as well."""
    if role is Role.ADMIN and org_id == DEFAULT_ORG:
        return frozenset(Permission)
    return ROLES[role]


class Caller(msgspec.Struct, frozen=True):
    """Who is asking, and what they may do. Everything below a surface acts for one."""

    owner: Owner
    permissions: frozenset[Permission]
    credential: str = "library"
    """What they showed us: a key's id, `oidc`, `session`; never the secret itself."""

    def may(self, permission: Permission) -> bool:
        return permission in self.permissions

    def require(self, *permissions: Permission) -> None:
        for permission in permissions:
            if permission not in self.permissions:
                raise Refused(permission)


SYSTEM = Caller(Owner(org_id=INSTALLATION, user_id=UserId("system")), frozenset(Permission), "system")
"""Preceptor itself, doing what no one asked for: first-run set-up, sweeps, looking up credentials."""


def installation_admin() -> Caller:
    """The caller of the library and of a server with authentication off: the admin of `default`."""
    return Caller(Owner(org_id=DEFAULT_ORG, user_id=UserId("admin")), permissions_of(Role.ADMIN, DEFAULT_ORG))
