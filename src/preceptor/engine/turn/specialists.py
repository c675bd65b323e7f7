"""Specialists of the library: an instruction can be delegated to by its name, such as critic@^1."""

from preceptor.domain.delegation import DELEGATE
from preceptor.domain.ids import AgentId, AssignmentId
from preceptor.domain.instructions.effective import Assignment
from preceptor.domain.instructions.instruction import InstructionType, InstructionVersion
from preceptor.domain.instructions.specialist import chosen, named
from preceptor.domain.messages.message import ToolCall
from preceptor.domain.turns.control import asked
from preceptor.engine.repositories.work import Work
from preceptor.engine.telling.compiled import Told
from preceptor.engine.telling.documents import with_documents
from preceptor.engine.telling.named import family_named
from preceptor.engine.turn.run import Run, Specialist

_NOBODY = AgentId("specialist")


async def meet(run: Run, calls: tuple[ToolCall, ...]) -> None:
    """Look up the specialists that these calls name. Which version it is, is pinned when the delegation opens."""
    longest = run.turn.limits.prompt
    names = {name for call in calls for name in _names(call, longest)} - run.specialists.keys()
    if not names:
        return

    async def program(work: Work) -> dict[str, Specialist]:
        return {name: found for name in sorted(names) if (found := await _find(work, name)) is not None}

    run.specialists |= await run.journal.store.read(run.journal.owner, program)


def _names(call: ToolCall, longest: int) -> tuple[str, ...]:
    told = asked(call.arguments, longest) if call.name == DELEGATE and call.malformed is None else ()
    return () if isinstance(told, str) else tuple(one.specialist for one in told if one.specialist is not None)


async def _find(work: Work, text: str) -> Specialist | None:
    meant = named(text)
    family = None if meant is None else await family_named(work, meant[0])
    if meant is None or family is None:
        return None
    labels = {label.name: label.instruction_id for label in await work.labels.of_family(family.family_id)}
    version = chosen(meant[1], await work.instructions.versions(family.family_id), labels)
    if version is None or version.type is InstructionType.TEMPLATE:
        return None
    return Specialist(await _prompt(work, version), version.instruction_id, str(version.version))


async def _prompt(work: Work, version: InstructionVersion) -> str:
    """What the instruction says by itself, with the documents that it mentions."""
    alone = Assignment(assignment_id=AssignmentId(version.instruction_id), version=version, applied_at=work.now)
    return (await with_documents(work, Told.by(_NOBODY, [alone]))).prompt
