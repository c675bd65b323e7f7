"""The MCP servers of the operator's own configuration: PRECEPTOR_MCP_SERVERS. Only there can one be a command."""

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import SecretStr, TypeAdapter, ValidationError, model_validator

from preceptor.adapters.egress import Door, NotAllowedOut, door_to
from preceptor.domain.errors import CannotStart
from preceptor.domain.providers import ConnectionId, Url
from preceptor.domain.value import Value


class OperatorServer(Value):
    """Either a command that is started here, or an address."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str | None = None
    url: Url | None = None
    key: SecretStr | None = None
    key_env: str | None = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("give either command or url")
        return self

    @property
    def secret(self) -> str | None:
        if self.key is not None:
            return self.key.get_secret_value()
        return os.environ.get(self.key_env) if self.key_env else None

    @property
    def door(self) -> Door | None:
        """The way out that it needs. The operator named it, so it may lie in the operator's own network."""
        return None if self.url is None else door_to(self.url, private=True)


_FILE: TypeAdapter[dict[str, OperatorServer]] = TypeAdapter(dict[ConnectionId, OperatorServer])


def read_servers(file: Path) -> Mapping[str, OperatorServer]:
    """Read them, and check every one: a slip of the pen is told at start."""
    try:
        raw = file.read_text(encoding="utf-8")
        found: dict[str, Any] = json.loads(raw) if file.suffix == ".json" else tomllib.loads(raw)
        servers = _FILE.validate_python(found.get("mcpServers", found))
        for server in servers.values():
            assert server.door is None or server.door.private
    except OSError as error:
        raise CannotStart(f"The file {file} of PRECEPTOR_MCP_SERVERS cannot be read ({error.strerror}).") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise CannotStart(f"{file} names an MCP server that is not usable: {where}: {first['msg']}.") from None
    except (ValueError, AttributeError, NotAllowedOut) as error:
        raise CannotStart(f"{file} of PRECEPTOR_MCP_SERVERS is not usable: {error}.") from None
    return servers
