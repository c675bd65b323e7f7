"""Options that take the place of settings. One that cannot be is wrong usage, where a wrong setting is wrong set-up."""

from typing import TYPE_CHECKING, Any

from preceptor.domain.errors import CannotStart, Invalid

if TYPE_CHECKING:
    from preceptor.settings import Settings

OF_WORKERS = "worker_"
"""What the names of some settings begin with, and their options leave out."""


def settings_with(**options: Any) -> "Settings":
    """The settings, and in their place the options that were given, by the names of the settings."""
    from preceptor.adapters.storage.locating import locate
    from preceptor.settings import Settings

    given = {name: value for name, value in options.items() if value is not None}
    try:
        settings = Settings.load(**given)
        if "database_url" in given:
            locate(settings.database)
    except CannotStart as wrong:
        raise _as_usage(wrong, given) from None
    return settings


def _as_usage(wrong: CannotStart, given: dict[str, Any]) -> CannotStart | Invalid:
    from preceptor.kept_secrets import PREFIX

    said = str(wrong)
    for name in given:
        said = said.replace(PREFIX + name.upper(), f"--{name.removeprefix(OF_WORKERS).replace('_', '-')}")
    return wrong if said == str(wrong) else Invalid(said)
