"""Settings: read once from the environment (`PRECEPTOR_…`), `.env` and `preceptor.toml`, then passed down, frozen."""

import os
import secrets
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from platformdirs import user_data_path
from pydantic import AfterValidator, Field, SecretStr, StringConstraints, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from preceptor.domain.errors import CannotStart

PREFIX = "PRECEPTOR_"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")


def _whole(folder: Path) -> Path:
    try:
        return folder.expanduser().absolute()
    except RuntimeError as error:
        raise ValueError(str(error)) from None


class Auth(StrEnum):
    KEYS = "keys"
    OIDC = "oidc"
    OFF = "off"


class Settings(BaseSettings):
    """Each field is the environment variable `PRECEPTOR_` + its name in capitals."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_file=".env",
        frozen=True,
        extra="ignore",
        env_ignore_empty=True,
        hide_input_in_errors=True,
    )

    host: str = Field(
        default="127.0.0.1",
        description="Address to listen on. Anything but loopback is refused while authentication is off.",
    )
    port: int = Field(default=3003, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    data_dir: Annotated[Path, AfterValidator(_whole)] = Field(
        default_factory=lambda: user_data_path("preceptor", appauthor=False),
        description="Folder of the SQLite file, local models and first-run secrets.",
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="sqlite:///path or postgresql://user:password@host/database. Default: SQLite in the data folder.",
    )
    admin_key: SecretStr | None = Field(
        default=None, description="Admin API key of the organisation `default`. Default: generated, printed once."
    )
    secret_key: SecretStr | None = Field(
        default=None,
        description="Encrypts secrets and signs sessions; replicas must share it. Default: made in the data folder.",
    )
    auth: Auth = Field(
        default=Auth.KEYS,
        description="keys, oidc, or off (loopback only: every request is the admin of `default`).",
    )
    oidc_issuer: str | None = Field(default=None, description="Issuer of bearer tokens, with auth=oidc.")
    oidc_audience: str | None = Field(default=None, description="Audience that tokens must name, with auth=oidc.")
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=LOOPBACK, description="Host headers we answer to, separated by commas; * for any."
    )
    require_if_match: bool = Field(default=False, description="Refuse changes that come without If-Match (428).")
    max_body_bytes: int = Field(default=1_000_000, ge=1024, description="Largest request body we read.")
    rate_limit_per_key: float = Field(
        default=50, gt=0, description="Requests a second per key; bursts of four times that."
    )
    rate_limit_per_org: float = Field(
        default=200, gt=0, description="Requests a second per organisation; bursts of four times that."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severe log line shown."
    )
    log_format: Literal["console", "json"] = Field(default="console", description="How log lines look.")
    access_log: bool = Field(default=True, description="Log a line for each request.")
    otel_endpoint: str | None = Field(
        default=None,
        description="OTLP/HTTP address for traces, such as http://127.0.0.1:4318/v1/traces. Off when unset.",
    )
    language: Annotated[str, StringConstraints(pattern="^(en|ru|vi)$")] = Field(
        default="en", description="Language of texts for users: en, ru or vi."
    )
    product_name: str = Field(default="Preceptor", min_length=1, max_length=80, description="Name shown to users.")

    @model_validator(mode="before")
    @classmethod
    def _read_lists(cls, values: dict[str, Any]) -> dict[str, Any]:
        hosts = values.get("allowed_hosts")
        if isinstance(hosts, str):
            return values | {"allowed_hosts": tuple(host.strip() for host in hosts.split(",") if host.strip())}
        return values

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.auth is Auth.OFF and self.host not in LOOPBACK:
            raise ValueError(
                "PRECEPTOR_AUTH=off is for loopback only: set PRECEPTOR_HOST=127.0.0.1, or PRECEPTOR_AUTH=keys"
            )
        if self.auth is Auth.OIDC and not (self.oidc_issuer and self.oidc_audience):
            raise ValueError("PRECEPTOR_AUTH=oidc needs PRECEPTOR_OIDC_ISSUER and PRECEPTOR_OIDC_AUDIENCE")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is the library's
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        toml = TomlConfigSettingsSource(settings_cls, toml_file=config_file())
        return init_settings, env_settings, dotenv_settings, toml

    @classmethod
    def load(cls, **given: Any) -> "Settings":
        """Read the settings, or say in one sentence which one is wrong."""
        try:
            return cls(**given)
        except ValidationError as error:
            raise CannotStart(_complaint(error)) from None
        except (SettingsError, tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as error:
            raise CannotStart(f"The settings cannot be read: {error}. Correct {config_file()} or .env.") from None

    @property
    def database(self) -> str:
        """The database's URL."""
        if self.database_url is not None:
            return self.database_url.get_secret_value()
        return f"sqlite:///{self.data_dir / 'preceptor.db'}"

    def secrets(self) -> "Secrets":
        """The installation's secrets: from the settings, else from the data folder, else made there now."""
        return Secrets(
            admin_key=_secret(self.admin_key, self.data_dir / "admin.key"),
            secret_key=_secret(self.secret_key, self.data_dir / "secret.key"),
        )


@dataclass(frozen=True, slots=True)
class Secrets:
    admin_key: str
    secret_key: str

    def __repr__(self) -> str:
        return "Secrets(…)"


def config_file() -> Path:
    return Path(os.environ.get(PREFIX + "CONFIG", "preceptor.toml"))


def unknown_variables() -> list[str]:
    """Environment variables that look like ours and are not: most likely a slip of the pen."""
    known = {PREFIX + name.upper() for name in Settings.model_fields} | {PREFIX + "CONFIG"}
    return sorted(name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() not in known)


def _complaint(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    said = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:
        return f"{said}."
    name = str(first["loc"][0])
    field = Settings.model_fields.get(name)
    meant = f" It is: {field.description}" if field and field.description else ""
    return f"{PREFIX}{name.upper()} is not usable: {said}.{meant}"


def _secret(given: SecretStr | None, file: Path) -> str:
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
