"""What a guardian says of a text, and whether that stops the turn (DT-001)."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from preceptor.domain.decision import Hit, HitPolicy, Is, Row, Table


class Level(StrEnum):
    SAFE = "Safe"
    CONTROVERSIAL = "Controversial"
    UNSAFE = "Unsafe"


SEVERITY = {Level.SAFE: 0, Level.CONTROVERSIAL: 1, Level.UNSAFE: 2}


class Verdict(msgspec.Struct, frozen=True, rename="camel", tag_field="type", tag="verdict"):
    """A guardian has judged. There is no default: a level that was not said is a failure."""

    level: Level
    categories: tuple[str, ...] = ()


class GuardFault(StrEnum):
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    SERVER = "server"
    """It answered 5xx."""
    REJECTED = "rejected"
    """It did not accept the request."""
    UNREADABLE = "unreadable"
    """Whatever it answered, it was not exactly one verdict."""
    TOO_LARGE = "too_large"
    UNFIT = "unfit"
    """It is nothing that a guardian can judge: a picture."""
    REPORTED = "reported"
    """It said itself that it failed."""


class GuardFailure(msgspec.Struct, frozen=True, rename="camel", tag_field="type", tag="failure"):
    """There is no verdict. This never means Safe."""

    kind: GuardFault
    detail: str = ""


Judged = Verdict | GuardFailure


class Standing(StrEnum):
    """A level, or why there is none."""

    SAFE = "Safe"
    CONTROVERSIAL = "Controversial"
    UNSAFE = "Unsafe"
    UNKNOWN = "Unknown"
    OFF = "N/A"


class Mode(StrEnum):
    ENFORCE = "enforce"
    REPORT = "report"


class OnError(StrEnum):
    """What enforce does without a verdict."""

    BLOCK = "block"
    CONTINUE = "continue"


class Gate(StrEnum):
    BLOCK = "block"
    UNAVAILABLE = "unavailable"
    """Without a verdict nothing goes on: the turn fails, and can be tried again."""
    WITH_ASSESSMENT = "continue with the assessment"
    FLAGGED = "continue, flagged as unchecked"
    CONTINUE = "continue"


class GateFacts(msgspec.Struct, frozen=True):
    level: Standing
    mode: Mode
    on_error: OnError


GATE: Table[GateFacts, Gate] = Table(
    "DT-001",
    "whether the guardian stops a turn",
    {"level": tuple(Standing), "mode": tuple(Mode), "on_error": tuple(OnError)},
    (
        Row("unsafe-enforced", {"level": Is(Standing.UNSAFE), "mode": Is(Mode.ENFORCE)}, Gate.BLOCK),
        Row("unsafe-reported", {"level": Is(Standing.UNSAFE), "mode": Is(Mode.REPORT)}, Gate.WITH_ASSESSMENT),
        Row("controversial", {"level": Is(Standing.CONTROVERSIAL)}, Gate.WITH_ASSESSMENT),
        Row(
            "unknown-enforced",
            {"level": Is(Standing.UNKNOWN), "mode": Is(Mode.ENFORCE), "on_error": Is(OnError.BLOCK)},
            Gate.UNAVAILABLE,
        ),
        Row(
            "unknown-allowed",
            {"level": Is(Standing.UNKNOWN), "mode": Is(Mode.ENFORCE), "on_error": Is(OnError.CONTINUE)},
            Gate.FLAGGED,
        ),
        Row("unknown-reported", {"level": Is(Standing.UNKNOWN), "mode": Is(Mode.REPORT)}, Gate.FLAGGED),
        Row("safe", {"level": Is(Standing.SAFE)}, Gate.CONTINUE),
        Row("off", {"level": Is(Standing.OFF)}, Gate.CONTINUE),
    ),
    HitPolicy.UNIQUE,
)


def standing(judged: Judged | None) -> Standing:
    match judged:
        case Verdict(level=level):
            return Standing(level)
        case GuardFailure():
            return Standing.UNKNOWN
        case None:
            return Standing.OFF


def gate(judged: Judged | None, mode: Mode, on_error: OnError = OnError.BLOCK) -> Hit[Gate]:
    """What becomes of a turn. None is a guardian that is switched off."""
    return GATE.decide(GateFacts(standing(judged), mode, on_error))


WINDOW, OVERLAP = 8_000, 400


def windows(text: str, size: int = WINDOW, overlap: int = OVERLAP) -> list[str]:
    """A long text in pieces that a guardian can read. Whatever is shorter than `overlap` is whole in one of them."""
    if len(text) <= size:
        return [text]
    starts = range(0, len(text) - overlap, size - overlap)
    return [text[start : start + size] for start in starts]


def worst(judged: Iterable[Judged]) -> Judged:
    """One answer for all pieces: the severest. A piece without a verdict leaves only Unsafe certain."""
    found = list(judged)
    verdicts = [one for one in found if isinstance(one, Verdict)]
    level = max((one.level for one in verdicts), key=SEVERITY.__getitem__, default=Level.SAFE)
    failures = [one for one in found if isinstance(one, GuardFailure)]
    if level is not Level.UNSAFE and (failures or not verdicts):
        return failures[0] if failures else GuardFailure(GuardFault.UNREADABLE, "no verdict at all")
    return Verdict(level, _categories(verdicts))


def _categories(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(category for verdict in verdicts for category in verdict.categories))
