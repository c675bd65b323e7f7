"""What a model saw, as people read it: parts with their sources, how much each source takes, what is new."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from preceptor.domain.ids import InstructionId
from preceptor.domain.prompts.source import FromInstruction
from preceptor.engine.contexts import Context, Piece
from preceptor.surfaces.web.views.sources import Sourced, kind_of, link_to, named


class Part(Sourced, frozen=True):
    text: str
    tokens: int
    source: str
    link: str | None
    new: bool
    """The call before was not shown it."""


class Share(Sourced, frozen=True):
    """What one kind of source takes of the whole."""

    tokens: int
    start: float
    width: float


class Inspected(msgspec.Struct, frozen=True):
    context: Context
    parts: tuple[Part, ...]
    shares: tuple[Share, ...]
    dropped: tuple[Part, ...]
    """What the call before was shown, and this one was not."""

    @property
    def total(self) -> int:
        return sum(part.tokens for part in self.parts)

    @property
    def request(self) -> Any:
        return msgspec.json.decode(self.context.request)


def inspected(
    context: Context, before: Context | None, conversation: str, names: Mapping[InstructionId, str]
) -> Inspected:
    seen = Counter(map(_key, before.segments)) if before else None
    parts: list[Part] = []
    for piece in context.segments:
        key = _key(piece)
        new = seen is not None and not seen[key]
        if seen is not None and seen[key]:
            seen[key] -= 1
        parts.append(_part(piece, conversation, names, new=new))
    dropped: list[Part] = []
    for piece in before.segments if before else ():
        if seen is not None and seen[_key(piece)] and piece.text:
            seen[_key(piece)] -= 1
            dropped.append(_part(piece, conversation, names, new=False))
    return Inspected(context, tuple(parts), _shares(parts), tuple(dropped))


def instructions_in(context: Context) -> list[InstructionId]:
    return [one.source.instruction_id for one in context.segments if isinstance(one.source, FromInstruction)]


def _part(piece: Piece, conversation: str, names: Mapping[InstructionId, str], *, new: bool) -> Part:
    source = piece.source
    told, link = named(source, piece.role, names), link_to(source, conversation)
    return Part(kind_of(source), piece.text, piece.tokens, told, link, new)


def _key(piece: Piece) -> tuple[str, str]:
    return kind_of(piece.source), piece.text


def _shares(parts: list[Part]) -> tuple[Share, ...]:
    sums: Counter[str] = Counter()
    for part in parts:
        sums[part.kind] += part.tokens
    total, start, shares = sum(sums.values()) or 1, 0.0, list[Share]()
    for kind, tokens in sums.items():
        if tokens:
            width = tokens / total * 100
            shares.append(Share(kind, tokens, start, width))
            start += width
    return tuple(shares)
