"""Retelling: what is different in a replay, and what an agent would have been told with it."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from preceptor.domain.errors import recorded
from preceptor.domain.ids import FamilyId, InstructionId
from preceptor.domain.instructions.instruction import InstructionVersion
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.reasoning.policy import SgrPolicy
from preceptor.domain.replays.replay import Overrides
from preceptor.domain.turns.turn import Turn
from preceptor.domain.value import told
from preceptor.engine.repositories.work import Work
from preceptor.engine.telling.compiled import Compilations, Told
from preceptor.engine.telling.documents import with_documents
from preceptor.engine.telling.effective import Present, foreign, speaking, with_versions

HISTORY = frozenset({"compression_strategy", "max_history_size", "max_tokens", "compress_when", "low_water"})
"""The parameters that say how much of a conversation is shown."""


class Changes(msgspec.Struct, frozen=True):
    """What is different from then."""

    overrides: Overrides
    versions: Mapping[FamilyId, InstructionVersion] = {}

    @property
    def refits(self) -> bool:
        parameters = self.overrides.parameters
        return parameters is not None and bool(HISTORY & parameters.model_fields_set)


def sgr_of(turn: Turn, overrides: Overrides) -> SgrPolicy | None:
    """How a turn would be planned: as then, but for what is said to be different. None if nothing is."""
    if overrides.sgr is None:
        return None
    return sgr_then(turn).model_copy(update=told(overrides.sgr))


def sgr_then(turn: Turn) -> SgrPolicy:
    return SgrPolicy.model_validate(turn.pins.sgr)


async def told_with(work: Work, turn: Turn, at: datetime, changes: Changes) -> tuple[Told, list[str]]:
    """What the agent would be told: the versions of then, with others in the place of some."""
    then = await _told(work, turn, at, {})
    if not changes.versions:
        return then, []
    pins, notes = turn.pins, list[str]()
    spoke = {pin.family_id for pin in pins.instructions}
    if not spoke & changes.versions.keys():
        notes.append(recorded("None of the instructions that are changed spoke in this turn."))
    if then.hash != pins.prompt_hash:
        notes.append(recorded("What the agent was told then cannot be put together again to the letter."))
    return await _told(work, turn, at, changes.versions), notes


async def _told(work: Work, turn: Turn, at: datetime, versions: Mapping[FamilyId, InstructionVersion]) -> Told:
    pins = turn.pins
    rows = {row.assignment_id: row for row in await work.assignments.of_agent_at(pins.agent_id, at)}
    wanted: list[InstructionId] = [pin.instruction_id for pin in pins.instructions]
    own = await work.instructions.named(wanted) if wanted else {}
    presents: list[Present] = []
    for pin in pins.instructions:
        row = rows.get(pin.assignment_id)
        if row is None:
            continue
        version = versions.get(pin.family_id) or own.get(pin.instruction_id)
        if version is None:
            presents += await with_versions(work, Compilations(), [row], {})
        else:
            spoken = version.model_copy(update={"status": Status.ACTIVE})
            presents.append(Present(row.model_copy(update={"is_active": True}), spoken))
    told = Told.by(pins.agent_id, speaking(presents))
    return await with_documents(work, told, foreign(presents), at)
