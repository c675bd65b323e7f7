"""How settings are read: the environment first, then `.env`, then `preceptor.toml`."""

import os
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from preceptor.domain.errors import CannotStart
from preceptor.kept_secrets import PREFIX


class Readable(BaseSettings):
    """Settings that are read from where the installation keeps them."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_file=".env",
        frozen=True,
        extra="ignore",
        env_ignore_empty=True,
        hide_input_in_errors=True,
    )

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
    def load(cls, **given: Any) -> Self:
        """Read the settings, or say in one sentence which one is wrong."""
        try:
            return cls(**given)
        except ValidationError as error:
            raise CannotStart(_complaint(cls, error)) from None
        except (OSError, ValueError) as error:  # no TOML, no UTF-8, no JSON where there should be
            raise CannotStart(f"The settings cannot be read: {error}. Correct {config_file()} or .env.") from None


def config_file() -> Path:
    return Path(os.environ.get(PREFIX + "CONFIG", "preceptor.toml"))


def _complaint(settings: type[BaseSettings], error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    said = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:
        return f"{said}."
    name = str(first["loc"][0])
    field = settings.model_fields.get(name)
    meant = f" It is: {field.description}" if field and field.description else ""
    return f"{PREFIX}{name.upper()} is not usable: {said}.{meant}"
