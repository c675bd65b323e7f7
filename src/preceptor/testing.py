"""Doubles for users' tests and ours: a steady world, and a model and a guardian that say what they are told."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import count

from preceptor.adapters.models.scripted import Called, Hang, Say, ScriptedModel
from preceptor.domain.prompts.reply import Fault, ModelFailure
from preceptor.domain.reasoning.verdict import GuardFailure, GuardFault, Judged, Level, Verdict

__all__ = [
    "EPOCH",
    "Called",
    "Fault",
    "FixedGuardian",
    "GuardFailure",
    "GuardFault",
    "Hang",
    "Level",
    "ModelFailure",
    "Say",
    "ScriptedModel",
    "SteadyWorld",
    "Verdict",
]

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class SteadyWorld:
    """Ids count up from 1; the clock stands still until it is moved."""

    def __init__(self, now: datetime = EPOCH) -> None:
        self.time = now
        self._numbers = count(1)

    def now(self) -> datetime:
        return self.time

    def move(self, **by: float) -> None:
        """Move the clock, in either direction: `world.move(hours=25)`."""
        self.time += timedelta(**by)

    def monotonic(self) -> float:
        return self.time.timestamp()

    def new_id(self) -> str:
        return f"{next(self._numbers):036d}"

    def new_secret(self) -> str:
        return f"{next(self._numbers):043d}"

    def new_handle(self) -> str:
        return f"{next(self._numbers):012d}"


class FixedGuardian:
    """Says the same of every text, or what `when` says of one with such a word in it; keeps what it was asked."""

    name = "fixed"

    def __init__(self, judged: Judged | None = None, when: Mapping[str, Judged] | None = None) -> None:
        self.judged: Judged = judged or Verdict(Level.SAFE)
        self.when = dict(when or {})
        self.asked: list[str] = []

    async def judge(self, text: str) -> Judged:
        self.asked.append(text)
        return next((judged for word, judged in self.when.items() if word in text), self.judged)

    async def close(self) -> None:
        """Nothing to close."""
