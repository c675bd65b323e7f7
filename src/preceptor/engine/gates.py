"""Gates of labels: set one, look at it, run its replay for a version that wants through."""

from typing import Any

import msgspec

from preceptor.domain.errors import NotFound
from preceptor.domain.ids import TaskId
from preceptor.domain.instructions.version import require_label
from preceptor.domain.replays.gate import Gate, GateRun, GateVerdict, NewGate
from preceptor.domain.replays.replay import Filter, NewReplay, Overrides, Replay, Verdict
from preceptor.domain.value import made
from preceptor.engine.audit import note
from preceptor.engine.library.shelf import Shelf, found
from preceptor.engine.replays import Replays
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session


class Gates(msgspec.Struct, frozen=True):
    session: Session
    replays: Replays

    async def put(self, any_id: str, name: str, given: NewGate | None = None, **fields: Any) -> Gate:
        """Set the gate of a label. What passed another gate has not passed this one."""
        new = made(NewGate, given, fields)
        caller = self.session.caller
        require_label(name)

        async def program(work: Work) -> Gate:
            family_id = (await found(work, any_id)).family.family_id
            user_id = caller.owner.user_id
            gate = Gate(**dict(new), family_id=family_id, label=name, set_by=user_id, set_at=work.now)
            await work.gates.put(family_id, name, gate.model_dump_json())
            await note(work, caller, "instruction.gate_set", familyId=family_id, label=name)
            return gate

        return await self.session.write(program)

    async def get(self, any_id: str, name: str) -> Gate:
        async def program(work: Work) -> Gate:
            return (await self._there(work, any_id, name))[0]

        return await self.session.read(program)

    async def remove(self, any_id: str, name: str) -> None:
        caller = self.session.caller

        async def program(work: Work) -> None:
            gate, _ = await self._there(work, any_id, name)
            await work.gates.remove(gate.family_id, name)
            await note(work, caller, "instruction.gate_removed", familyId=gate.family_id, label=name)

        await self.session.write(program)

    async def run(self, any_id: str, name: str, wanted: GateRun) -> Replay:
        """Replay the newest turns in which the instruction spoke with the version that wants through."""

        async def program(work: Work) -> tuple[Gate, str]:
            gate, shelf = await self._there(work, any_id, name)
            target = await found(work, wanted.instruction_id)
            if target.family.family_id != shelf.family.family_id:
                raise NotFound("version", wanted.instruction_id)
            return gate, target.meant.instruction_id

        gate, version = await self.session.read(program)
        new = NewReplay(
            filter=Filter(agent_id=gate.agent_id, limit=gate.turns),
            overrides=Overrides(instructions={gate.family_id: version}),
            mode=gate.mode,
            replies=gate.replies,
        )
        asked = Verdict(family_id=gate.family_id, label=name, instruction_id=version)
        return await self.replays.begin(new, TaskId(self.session.world.new_id()), asked, gate.family_id)

    async def _there(self, work: Work, any_id: str, name: str) -> tuple[Gate, Shelf]:
        shelf = await found(work, any_id)
        family_id = shelf.family.family_id
        body = await work.gates.find(family_id, name)
        if body is None:
            raise NotFound("gate of the label", name)
        verdicts = [GateVerdict.model_validate_json(one) for one in await work.gates.verdicts(family_id, name)]
        return Gate.model_validate_json(body).model_copy(update={"verdicts": tuple(verdicts)}), shelf
