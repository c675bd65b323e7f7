"""How a specialist of the library is named: `critic`, `critic@^1`, `critic@1.2.0`, `critic@production`."""

from collections.abc import Iterable, Mapping

from preceptor.domain.ids import InstructionId
from preceptor.domain.instructions.lifecycle import IN_FORCE
from preceptor.domain.instructions.version import (
    BadPin,
    BadVersion,
    Found,
    Labelled,
    Latest,
    Pin,
    SemVer,
    is_label,
    parse_pin,
    resolve,
)


def named(text: str) -> tuple[str, Pin | SemVer] | None:
    """The instruction's name, and which version of it; None if that cannot be one."""
    name, at, which = text.rpartition("@")
    if not at:
        return text, Latest()
    if is_label(which):
        return name, Labelled(which)
    try:
        return name, parse_pin(which)
    except BadPin:
        pass
    try:
        return name, SemVer.parse(which)
    except BadVersion:
        return None


def chosen(which: Pin | SemVer, versions: Iterable[Found], labels: Mapping[str, InstructionId]) -> Found | None:
    """The version that is meant, if it may speak."""
    given = list(versions)
    if isinstance(which, SemVer):
        found = next((one for one in given if one.version == which), None)
    else:
        found = resolve(which, given, labels=labels)
    return found if found is not None and found.status in IN_FORCE else None
