"""Gatekeeping: a label that has a gate moves only to a version that a replay has let through."""

from typing import ClassVar

from preceptor.domain.errors import Conflict, recorded
from preceptor.domain.ids import FamilyId, InstructionId
from preceptor.domain.replays.gate import GateVerdict
from preceptor.engine.repositories.work import Work


class GateClosed(Conflict):
    code: ClassVar[str] = "gate_closed"
    label: str = ""
    version: str = ""
    why: str = recorded("no replay has been run with it")

    def __str__(self) -> str:
        return (
            f"The label {self.label!r} has a gate, and {self.version} has not passed it: {self.why.rstrip('.')}. "
            f"Run it with POST …/labels/{self.label}/gate/run, or change the version."
        )


async def require_open(work: Work, family_id: FamilyId, name: str, instruction_id: InstructionId) -> None:
    """Complain if the label has a gate that this version has not passed."""
    if await work.gates.find(family_id, name) is None:
        return
    body = await work.gates.verdict(family_id, name, instruction_id)
    if body is None:
        raise GateClosed(label=name, version=instruction_id)
    verdict = GateVerdict.model_validate_json(body)
    if not verdict.passed:
        raise GateClosed(label=name, version=instruction_id, why=" ".join(verdict.reasons))
