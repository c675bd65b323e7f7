"""Version numbers, and pins that say which version an agent follows."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar, Protocol, TypeVar

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from preceptor.domain.errors import Invalid, phrased
from preceptor.domain.ids import InstructionId
from preceptor.domain.instructions.lifecycle import Status

_NUMBER = r"(0|[1-9][0-9]{0,8})"
VERSION_TEXT = rf"^{_NUMBER}\.{_NUMBER}\.{_NUMBER}$"
LABEL_TEXT = r"^[a-z][a-z0-9._-]{0,62}$"
PIN_TEXT = rf"^(latest|exact|\^{_NUMBER}(\.{_NUMBER}(\.{_NUMBER})?)?|label:[a-z][a-z0-9._-]{{0,62}})$"
_VERSION = re.compile(VERSION_TEXT[1:-1], re.ASCII)
_RANGE = re.compile(rf"\^{_NUMBER}(?:\.{_NUMBER})?(?:\.{_NUMBER})?", re.ASCII)
_LABEL = re.compile(LABEL_TEXT[1:-1], re.ASCII)
RESERVED_LABELS = frozenset({"latest", "exact"})
_SHOWN = 40


class BadVersion(Invalid):
    code: ClassVar[str] = "invalid"
    text: str = ""

    def __str__(self) -> str:
        return f"{self.text[:_SHOWN]!r} is not a version. Write three numbers, such as 1.2.0."


class BadPin(Invalid):
    code: ClassVar[str] = "invalid"
    text: str = ""

    def __str__(self) -> str:
        return f"{self.text[:_SHOWN]!r} is not a pin. Write latest, exact, a range such as ^1.2, or label:NAME."


class Part(StrEnum):
    MAJOR = "major"
    MINOR = "minor"
    PATCH = "patch"


@dataclass(frozen=True, slots=True, order=True)
class SemVer:
    """A semantic version that orders and prints like one."""

    major: int = 1
    minor: int = 0
    patch: int = 0

    @staticmethod
    def parse(text: str) -> "SemVer":
        match = _VERSION.fullmatch(text)
        if not match:
            raise BadVersion(text=text)
        return SemVer(*map(int, match.groups()))

    def bump(self, part: Part) -> "SemVer":
        match part:
            case Part.MAJOR:
                return SemVer(self.major + 1, 0, 0)
            case Part.MINOR:
                return SemVer(self.major, self.minor + 1, 0)
            case Part.PATCH:
                return SemVer(self.major, self.minor, self.patch + 1)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


FIRST = SemVer(1, 0, 0)


@dataclass(frozen=True, slots=True)
class Latest:
    """Follows the newest active version."""

    def __str__(self) -> str:
        return "latest"


@dataclass(frozen=True, slots=True)
class Exact:
    """Stays at the version that was named when the pin was set."""

    def __str__(self) -> str:
        return "exact"


@dataclass(frozen=True, slots=True)
class Range:
    """Follows the newest active version that promises the same: ^1.2 is 1.2.0 and up, below 2.0.0."""

    text: str
    lowest: SemVer
    beyond: SemVer

    def covers(self, version: SemVer) -> bool:
        return self.lowest <= version < self.beyond

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Labelled:
    """Follows whatever version carries the label."""

    name: str

    def __str__(self) -> str:
        return f"label:{self.name}"


Pin = Latest | Exact | Range | Labelled


def is_label(name: str) -> bool:
    """A label cannot be mistaken for a version or for another kind of pin."""
    return _LABEL.fullmatch(name) is not None and name not in RESERVED_LABELS


def require_label(name: str) -> None:
    if not is_label(name):
        raise Invalid(
            phrased(
                "%(name)s is not a label. Write small letters, digits, dots and dashes; not latest, exact.",
                name=repr(name),
            )
        )


def parse_pin(text: str) -> Pin:
    if text == "latest":
        return Latest()
    if text == "exact":
        return Exact()
    kind, colon, name = text.partition(":")
    if kind == "label" and colon and is_label(name):
        return Labelled(name)
    if match := _RANGE.fullmatch(text):
        return _range(text, [int(number) for number in match.groups() if number is not None])
    raise BadPin(text=text)


def _range(text: str, numbers: list[int]) -> Range:
    """The first number that is not zero is the promise; if all are zero, the last one written is."""
    promise = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1)
    lowest = SemVer(*[*numbers, 0, 0][:3])
    return Range(text, lowest, lowest.bump(list(Part)[promise]))


class Numbered(Protocol):
    """What a pin has to know about a version."""

    @property
    def instruction_id(self) -> InstructionId: ...
    @property
    def version(self) -> SemVer: ...
    @property
    def status(self) -> Status: ...


Found = TypeVar("Found", bound=Numbered)


def resolve(
    pin: Pin,
    versions: Iterable[Found],
    *,
    named: InstructionId | None = None,
    labels: Mapping[str, InstructionId] | None = None,
) -> Found | None:
    """The version of one family that a pin means now, or None if there is none.

    `named` is the version that an exact pin was set at. Exact pins and labels give what they point at whatever its
    status; the merge decides whether it speaks.
    """
    match pin:
        case Latest():
            return _newest(versions)
        case Range():
            return _newest([version for version in versions if pin.covers(version.version)])
        case Exact():
            return _with_id(versions, named)
        case Labelled(name=name):
            return _with_id(versions, (labels or {}).get(name))


def head(versions: Iterable[Found]) -> Found | None:
    """The highest version that is not a draft."""
    return _highest([version for version in versions if version.status is not Status.DRAFT])


def _newest(versions: Iterable[Found]) -> Found | None:
    """An active version before any deprecated one: deprecating a family must not silence it."""
    found = list(versions)
    active = _highest([version for version in found if version.status is Status.ACTIVE])
    return active or _highest([version for version in found if version.status is Status.DEPRECATED])


def _highest(versions: list[Found]) -> Found | None:
    return max(versions, key=lambda version: version.version, default=None)


def _with_id(versions: Iterable[Found], wanted: InstructionId | None) -> Found | None:
    return next((version for version in versions if version.instruction_id == wanted), None)


def _version_of(value: object) -> SemVer:
    """Text, or what text was read as: a record of another shape is not a version, though it could be made one."""
    if isinstance(value, SemVer):
        return value
    try:
        return SemVer.parse(value if isinstance(value, str) else repr(value))
    except BadVersion as error:
        raise ValueError(error) from None


def _pin_of(value: object) -> Pin:
    if isinstance(value, Pin):
        return value
    try:
        return parse_pin(value if isinstance(value, str) else repr(value))
    except BadPin as error:
        raise ValueError(error) from None


Version = Annotated[
    SemVer,
    BeforeValidator(_version_of),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": VERSION_TEXT}),
]
"""A version as a field of a value: text in JSON."""
WrittenPin = Annotated[
    Pin,
    BeforeValidator(_pin_of),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": PIN_TEXT}),
]
"""A pin as a field of a value: text in JSON."""
