"""Documents that instructions mention: looking them up, and telling them."""

from collections.abc import Collection, Iterable
from datetime import datetime

from preceptor.domain.ids import FamilyId, InstructionId
from preceptor.domain.instructions.documents import Document, names_in
from preceptor.domain.instructions.family import Family
from preceptor.domain.instructions.instruction import Authored, InstructionType, InstructionVersion
from preceptor.domain.instructions.references import (
    MOST_DOCUMENTS,
    document_text,
    mentioned_in,
    quote,
    require_quotable,
)
from preceptor.domain.instructions.version import Latest, resolve
from preceptor.engine.repositories.work import Work
from preceptor.engine.telling.compiled import Told
from preceptor.engine.telling.named import family_named


async def with_documents(
    work: Work, told: Told, foreign: Collection[InstructionId] = (), at: datetime | None = None
) -> Told:
    """What an agent is told, and the documents that it mentions, as they are now or were at a moment."""
    if not told.mentions:
        return told
    names = [name for line in told.rendered.lines for name in names_in(line.text)]
    return told.quoting(quote(told.effective, await look_up(work, names, at), foreign))


async def require_mentions(work: Work, said: Authored, family_id: FamilyId | None = None) -> None:
    """Refuse to save what mentions a document that is not there, is too long, or leads back to it."""
    names = mentioned_in(said.content)
    if not names:
        return
    own = await work.instructions.versions(family_id) if family_id else []
    known = await look_up(work, names)
    require_quotable(said.content, known, frozenset(version.instruction_id for version in own))


async def look_up(work: Work, names: Iterable[str], at: datetime | None = None) -> dict[str, Document]:
    """The documents of these names, and those that they mention in turn."""
    known: dict[str, Document] = {}
    asked = dict.fromkeys(names)
    waiting = list(asked)
    while waiting and len(known) < MOST_DOCUMENTS:
        name = waiting.pop(0)
        version = await _find(work, name, at)
        if version is None:
            continue
        text = document_text(version.content)
        known[name] = Document(
            name=version.name, instruction_id=version.instruction_id, version=version.version, text=text
        )
        news = [inner for inner in dict.fromkeys(names_in(text)) if inner not in asked]
        asked |= dict.fromkeys(news)
        waiting += news
    return known


async def _find(work: Work, name: str, at: datetime | None) -> InstructionVersion | None:
    """By a version's id, by an instruction's, or by its name. A template has gaps, so it is nobody's document."""
    version = await work.instructions.version(InstructionId(name))
    if version is None:
        family = await family_named(work, name)
        version = await _in_force(work, family, at) if family else None
    if version is None or version.type is InstructionType.TEMPLATE:
        return None
    return version


async def _in_force(work: Work, family: Family, at: datetime | None) -> InstructionVersion | None:
    if at is None:
        return resolve(Latest(), await work.instructions.versions(family.family_id))
    then = resolve(Latest(), await work.instructions.candidates_at(family.family_id, at))
    return None if then is None else await work.instructions.version(then.instruction_id)
