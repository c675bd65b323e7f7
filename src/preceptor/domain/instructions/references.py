"""References between instructions: which documents they mention, whether those can be told, and who said what.

Nothing is ever cut: a document is told whole, or a line says that it is not told and why.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import ClassVar, NamedTuple

from preceptor.domain.errors import Invalid, recorded
from preceptor.domain.ids import AssignmentId, InstructionId
from preceptor.domain.instructions.content import Content, text_of
from preceptor.domain.instructions.documents import Document, Quoted, names_in, tokens_in
from preceptor.domain.instructions.effective import Effective, Notice, Rule, Source
from preceptor.domain.instructions.render import render
from preceptor.domain.value import Value, texts_in

Library = Mapping[str, Document]
"""What is mentioned, by instructions or by other documents, under the name used. What does not exist is missing."""
MOST_DOCUMENTS = 50


class Budget(Value):
    """In tokens, as `tokens_in` counts them."""

    each: int = 4_000
    total: int = 16_000


class UnknownDocument(Invalid):
    code: ClassVar[str] = "unknown_document"
    name: str = ""

    def __str__(self) -> str:
        return (
            f"There is no document {self.name!r} to mention. Create an instruction of that name first, "
            "or write @@document: if you mean the words."
        )


class CyclicReference(Invalid):
    code: ClassVar[str] = "cyclic_reference"
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"These documents mention each other in a circle: {' → '.join(self.names)}. Take one mention away."


class DocumentsTooLong(Invalid):
    code: ClassVar[str] = "token_budget_exceeded"
    name: str = ""
    tokens: int = 0
    limit: int = 0

    def __str__(self) -> str:
        return (
            f"With {self.name!r} the documents mentioned here have {self.tokens} tokens; {self.limit} are allowed. "
            "Shorten it, or mention fewer."
        )


def mentioned_in(content: Value) -> tuple[str, ...]:
    """Every document that is mentioned anywhere in it, once, in the order of the first mention."""
    return tuple(dict.fromkeys(name for text in texts_in(content.model_dump(mode="json")) for name in names_in(text)))


def document_text(content: Content) -> str:
    """What is quoted of an instruction: all that it says, as an agent that follows it alone would read it."""
    alone = Effective(
        prompts=() if content.system_prompt is None else (content.system_prompt,),
        constraints=tuple(map(text_of, content.constraints)),
        **{
            name: getattr(content, name)
            for name in Content.model_fields
            if name not in {"system_prompt", "constraints"}
        },
    )
    return render(alone).prompt


def require_quotable(
    content: Content, library: Library, own: Collection[str] = (), budget: Budget | None = None
) -> None:
    """Refuse, when an instruction is saved, mentions that could not be told. `own` are the instruction's own ids."""
    limit = budget or Budget()
    known = dict(library)
    for name in _reached(mentioned_in(content), known):
        if name not in known:
            raise UnknownDocument(name=name)
        if known[name].instruction_id in own:
            raise CyclicReference(names=(name, name))
        if circle := _circle(name, known):
            raise CyclicReference(names=circle)
    total = 0
    for name in _reached(mentioned_in(content), known):
        size = tokens_in(known[name].text)
        total += size
        if size > limit.each:
            raise DocumentsTooLong(name=name, tokens=size, limit=limit.each)
        if total > limit.total:
            raise DocumentsTooLong(name=name, tokens=total, limit=limit.total)


class _Mention(NamedTuple):
    name: str
    path: str
    instruction_id: InstructionId
    assignment: AssignmentId
    ours: bool


def quote(
    effective: Effective, library: Library, foreign: Collection[InstructionId] = (), budget: Budget | None = None
) -> Effective:
    """Effective instructions with the documents they mention, each once, in the order of the first mention.

    What another organisation wrote (`foreign`) cannot make us tell our documents.
    """
    first: dict[str, _Mention] = {}
    for mention in sorted(_mentions(effective, foreign), key=lambda mention: not mention.ours):
        first.setdefault(mention.name, mention)
    if not first:
        return effective
    limit, spent = budget or Budget(), 0
    documents: list[Quoted] = []
    by = list(_spread(first, library))
    for mention in by:
        quoted = _quoted(mention, library, limit, spent)
        spent += quoted.tokens if quoted.text is not None else 0
        documents.append(quoted)
    told = list(enumerate(zip(documents, by, strict=True)))
    sources = (_source(place, quoted, mention) for place, (quoted, mention) in told)
    notices = (_notice(place, quoted, mention) for place, (quoted, mention) in told if quoted.left_out)
    return effective.model_copy(
        update={
            "documents": tuple(documents),
            "sources": (*effective.sources, *sources),
            "warnings": (*effective.warnings, *notices),
        }
    )


def _quoted(mention: _Mention, library: Library, limit: Budget, spent: int) -> Quoted:
    name, document = mention.name, library.get(mention.name)
    if not mention.ours:
        return Quoted(name=name, left_out=recorded("only another organisation mentions it"))
    if document is None:
        return Quoted(name=name, left_out=recorded("there is no such document"))
    size = tokens_in(document.text)
    reason = None
    if circle := _circle(name, library):
        reason = recorded("it mentions itself (%(names)s)", names=" → ".join(circle))
    elif size > limit.each:
        reason = recorded("it has %(size)s tokens, and %(limit)s are allowed", size=size, limit=limit.each)
    elif spent + size > limit.total:
        reason = recorded(
            "it has %(size)s tokens, and %(left)s of %(limit)s are left for it",
            size=size,
            left=limit.total - spent,
            limit=limit.total,
        )
    told = None if reason else document.text
    return Quoted(
        name=name,
        instruction_id=document.instruction_id,
        version=document.version,
        tokens=size,
        text=told,
        left_out=reason,
    )


def _source(place: int, quoted: Quoted, by: _Mention) -> Source:
    return Source(
        path=f"/documents/{place}",
        instruction_id=quoted.instruction_id or by.instruction_id,
        version="" if quoted.version is None else str(quoted.version),
        field="document",
        assignment=by.assignment,
        rule=Rule.QUOTED,
    )


def _notice(place: int, quoted: Quoted, by: _Mention) -> Notice:
    return Notice(
        code="document_left_out",
        sentence=recorded(
            "@document:%(name)s, mentioned at %(path)s, is not told: %(why)s.",
            name=quoted.name,
            path=by.path,
            why=quoted.left_out,
        ),
        path=f"/documents/{place}",
        instruction_id=by.instruction_id,
        assignment=by.assignment,
    )


def _spread(first: Mapping[str, _Mention], library: Library) -> Iterator[_Mention]:
    """What is mentioned, then what that mentions, on behalf of whoever mentioned it first."""
    seen = set(first)
    waiting = list(first.values())
    while waiting:
        mention = waiting.pop(0)
        yield mention
        if mention.ours:
            news = [name for name in _mentions_of(mention.name, library) if name not in seen]
            seen.update(news)
            waiting += [mention._replace(name=name) for name in news]


def _reached(names: Iterable[str], library: Library) -> tuple[str, ...]:
    reached = dict.fromkeys(names)
    waiting = list(reached)
    while waiting:
        news = [name for name in _mentions_of(waiting.pop(0), library) if name not in reached]
        reached |= dict.fromkeys(news)
        waiting += news
    return tuple(reached)


def _mentions_of(name: str, library: Library) -> tuple[str, ...]:
    document = library.get(name)
    return () if document is None else tuple(dict.fromkeys(names_in(document.text)))


def _circle(name: str, library: Library) -> tuple[str, ...] | None:
    """How a document leads back to itself, whatever names it is mentioned by."""
    start = library.get(name)
    came_from: dict[str, str] = {}
    waiting = [name]
    while waiting and start is not None:
        here = waiting.pop()
        for inner in _mentions_of(here, library):
            document = library.get(inner)
            if document is not None and document.instruction_id == start.instruction_id:
                return _way(came_from, here, (inner,))
            if inner not in came_from:
                came_from[inner] = here
                waiting.append(inner)
    return None


def _way(came_from: Mapping[str, str], here: str, end: tuple[str, ...]) -> tuple[str, ...]:
    steps = [here]
    while steps[-1] in came_from:
        steps.append(came_from[steps[-1]])
    return (*reversed(steps), *end)


def mentions(effective: Effective) -> bool:
    """Whether there is anything to look up. Asked for every merge, so it is quick."""
    return any("@document:" in text for _, _, text in _speech(effective))


def _mentions(effective: Effective, foreign: Collection[InstructionId]) -> Iterator[_Mention]:
    """In the order of what is said. A document is mentioned only by what reaches the agent."""
    said: dict[str, list[Source]] = {}
    for source in effective.sources:
        said.setdefault(source.path, []).append(source)
    for path, place, text in _speech(effective):
        for name in names_in(text):
            source = said[path][place] if path == "/systemPrompt" else said[f"{path}/{place}"][0]
            ours = source.rule is Rule.CUSTOMIZED or source.instruction_id not in foreign
            yield _Mention(name, source.path, source.instruction_id, source.assignment, ours)


def _speech(effective: Effective) -> Iterator[tuple[str, int, str]]:
    """All that is said: in which list, at which place, and the text."""
    lists = (
        ("/systemPrompt", effective.prompts),
        ("/guidelines", effective.guidelines),
        ("/suggestions", effective.suggestions),
        ("/doList", effective.do_list),
        ("/dontList", effective.dont_list),
        ("/steps", tuple(f"{step.name}\n{step.description}" for step in effective.steps)),
        (
            "/examples",
            tuple("\n".join(filter(None, (e.input, e.expected_output, e.explanation))) for e in effective.examples),
        ),
        ("/constraints", effective.constraints),
    )
    for path, texts in lists:
        yield from ((path, place, text) for place, text in enumerate(texts))
