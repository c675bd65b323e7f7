"""What an operator knows better about models than we do: PRECEPTOR_MODEL_CAPABILITIES."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from pydantic import TypeAdapter, ValidationError

from preceptor.domain.errors import CannotStart
from preceptor.domain.models import Capabilities

_FILE: TypeAdapter[dict[str, dict[str, Any]]] = TypeAdapter(dict[str, dict[str, Any]])


class Corrections(msgspec.Struct, frozen=True):
    """By the name that agents use, such as `openai:gpt-5-mini`."""

    by_name: Mapping[str, dict[str, Any]] = {}

    def applied(self, name: str, known: Capabilities) -> Capabilities:
        given = self.by_name.get(name)
        return known if given is None else Capabilities.model_validate(known.model_dump(by_alias=False) | given)


def read_corrections(file: Path) -> Corrections:
    """Read them, and check every one: a slip of the pen is told at start."""
    try:
        raw = file.read_text(encoding="utf-8")
        found = _FILE.validate_python(json.loads(raw) if file.suffix == ".json" else tomllib.loads(raw))
        corrections = Corrections({name: _spelled(given) for name, given in found.items()})
        for name in corrections.by_name:
            corrections.applied(name, Capabilities())
    except OSError as error:
        raise CannotStart(
            f"The file {file} of PRECEPTOR_MODEL_CAPABILITIES cannot be read ({error.strerror})."
        ) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise CannotStart(f"{file} says something of a model that is not usable: {where}: {first['msg']}.") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise CannotStart(f"{file} of PRECEPTOR_MODEL_CAPABILITIES cannot be read: {error}.") from None
    return corrections


def _spelled(given: Mapping[str, Any]) -> dict[str, Any]:
    """Both spellings are taken, `contextWindow` and `context_window`."""
    names = {one.alias or name: name for name, one in Capabilities.model_fields.items()}
    return {names.get(name, name): value for name, value in given.items()}
