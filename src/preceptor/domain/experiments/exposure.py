"""Exposure: which arm a turn was assigned, and which arm what its models were really shown belongs to."""

from collections.abc import Iterable
from typing import Any

import msgspec

from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.ids import ExperimentId
from preceptor.domain.prompts.source import AnySource, FromInstruction

SHOWN = frozenset({"answer", "final", "plan"})
"""What a call is for, where the agent itself is asked."""


class Enrolment(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A turn's place in an experiment, pinned when the turn is accepted."""

    experiment_id: ExperimentId
    arm: Arm
    unit: str
    shows: str | None = None
    """The version that its models are to be shown."""
    instead: str | None = None
    """The version of the other arm, which they are not to be shown."""
    settings: dict[str, Any] = {}
    """Engine settings that it is to be taken with, as far as the arm names any."""


def versions_in(sources: Iterable[AnySource]) -> frozenset[str]:
    """The versions that speak in a prompt, by the sources of its pieces."""
    return frozenset(one.instruction_id for one in sources if isinstance(one, FromInstruction))


def arm_shown(enrolment: Enrolment, versions: frozenset[str]) -> Arm | None:
    """The arm that a prompt with these versions belongs to; None if that is neither, or both."""
    own, other = enrolment.shows in versions, enrolment.instead in versions
    if own == other:
        return None
    return enrolment.arm if own else enrolment.arm.other
