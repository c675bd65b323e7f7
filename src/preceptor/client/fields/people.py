"""Written by `make docs` from the values that the API takes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NotRequired, TypedDict


class NewUserFields(TypedDict):
    """The fields of `NewUser`."""

    user_id: str
    """Chosen by you; with OIDC, the token's `sub`."""
    name: str
    role: NotRequired[Literal["viewer", "editor", "operator", "admin", "service"]]
    group_id: NotRequired[str | None]


class NewKeyFields(TypedDict):
    """The fields of `NewKey`."""

    name: str
    role: NotRequired[Literal["viewer", "editor", "operator", "admin", "service"] | None]
    """What the key may do, by role."""
    permissions: NotRequired[
        Sequence[
            Literal[
                "agent:read",
                "agent:write",
                "conversation:read",
                "conversation:write",
                "conversation:read_any",
                "conversation:erase",
                "delegate",
                "instruction:read",
                "instruction:write",
                "constraint:override",
                "record:read",
                "context:read",
                "execution:run",
                "replay:run",
                "experiment:run",
                "key:manage",
                "user:manage",
                "settings:manage",
                "org:manage",
            ]
        ]
        | None
    ]
    """What the key may do, one by one."""
    expires_at: NotRequired[datetime | str | None]
    user_id: NotRequired[str | None]
    """Whom the key acts for. Left out: you, if it may do all that you may, else itself. Another user needs `user:manage`."""
