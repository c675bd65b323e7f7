"""How settings are read: the environment first, then `.env`, then `preceptor.toml`; and how they may be written."""

import json
import os
import re
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, TypeAdapter, ValidationError
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from preceptor.domain.errors import CannotStart
from preceptor.domain.reasoning.wording import SPELLED
from preceptor.kept_secrets import PREFIX

CONFIG = PREFIX + "CONFIG"
"""The variable that names another file than `preceptor.toml`."""
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*\]?", re.ASCII)
BESIDE = Path(".env")


class Readable(BaseSettings):
    """Settings that are read from where the installation keeps them."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_file=BESIDE,
        frozen=True,
        extra="ignore",
        env_ignore_empty=True,
        hide_input_in_errors=True,
        allow_inf_nan=False,
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
        if (named := os.environ.get(CONFIG)) and not Path(named).is_file():
            raise CannotStart(f"{CONFIG} names {named}, and there is no such file. Correct it, or leave it out.")
        try:
            _check_lines(BESIDE)
            return cls(**given)
        except ValidationError as error:
            raise CannotStart(_complaint(cls, error)) from None
        except (OSError, ValueError) as error:  # no TOML, no UTF-8, no JSON where there should be
            raise CannotStart(f"The settings cannot be read: {error}. Correct {config_file()} or .env.") from None

    @classmethod
    def slips(cls) -> list[str]:
        """Names that look like settings and are not, each with the file that it is in: most likely slips of the pen."""
        known = {PREFIX + name.upper() for name in cls.model_fields}
        around = sorted(name for name in os.environ if name.upper().startswith(PREFIX))
        beside = sorted(name.upper() for name in DotEnvSettingsSource(cls).env_vars)
        toml = config_file()
        return [
            *(name for name in around if name.upper() not in known | {CONFIG}),
            *(f"{name} in .env" for name in beside if name.startswith(PREFIX) and name not in known),
            *(
                f"{name} in {toml}"
                for name in TomlConfigSettingsSource(cls, toml_file=toml).toml_data
                if name not in cls.model_fields
            ),
        ]


def folders() -> list[Path]:
    """Where a file of settings would be, and a folder is: nothing is read there."""
    return [place for place in (BESIDE, config_file()) if place.is_dir()]


def config_file() -> Path:
    return Path(os.environ.get(CONFIG) or "preceptor.toml")


def _check_lines(file: Path) -> None:
    """Refuse a line that would be passed over: whoever wrote it meant something."""
    if not file.is_file():
        return
    from dotenv.parser import parse_stream  # most have no such file

    with file.open(encoding="utf-8") as lines:
        for line in parse_stream(lines):
            if line.error or (line.value is None and (line.key or "").startswith(PREFIX)):
                raise CannotStart(f"Line {line.original.line} of {file} is not NAME=value. Correct it, or take it out.")


def parsed(value: object) -> object:
    """What an environment variable says in JSON; a TOML file says it without."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("it must be JSON") from None


def switched(given: object) -> object:
    """Yes and no may be written as for every other setting: `1`, `True`, `off`."""
    try:
        return str(TypeAdapter(bool).validate_python(given)).lower()
    except ValidationError:
        return given


def _whole(path: Path) -> Path:
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def _split(given: object) -> object:
    """A variable's text, at its commas; a TOML file has a list."""
    return tuple(item.strip() for item in given.split(",") if item.strip()) if isinstance(given, str) else given


def _hosts(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names or not all(name == "*" or _HOST.fullmatch(name) for name in names):
        raise ValueError("name hosts, without scheme or port and separated by commas, or * for any")
    return names


WholePath = Annotated[Path, AfterValidator(_whole)]
Listed = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
HostNames = Annotated[Listed, AfterValidator(_hosts)]


def _complaint(settings: type[BaseSettings], error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    said = SPELLED.get(first.get("ctx", {}).get("pattern", ""), first["msg"].removeprefix("Value error, ").rstrip("."))
    if not first["loc"]:
        return f"{said}."
    name, *path = map(str, first["loc"])
    said = f"{'.'.join(path)}: {said}" if path else said
    field = settings.model_fields.get(name)
    meant = f" It is: {field.description}" if field and field.description else ""
    return f"{PREFIX}{name.upper()} is not usable: {said}.{meant}"
