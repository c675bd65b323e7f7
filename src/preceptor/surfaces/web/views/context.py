"""What a model saw, as people read it: parts with their sources, how much each source takes, what is new."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from preceptor.domain.ids import InstructionId
from preceptor.domain.instructions.effective import Rule
from preceptor.domain.prompts.source import (
    AnySource,
    FromDirective,
    FromEngine,
    FromFormat,
    FromGuardian,
    FromInstruction,
    FromMessage,
    FromPlan,
    FromSpecialist,
    FromSummary,
    FromTool,
)
from preceptor.engine.contexts import Context, Piece
from preceptor.surfaces.web.languages import msg

LABELS = {
    "instruction": msg("instruction"),
    "customization": msg("customization"),
    "message": msg("message"),
    "compression": msg("compression"),
    "plan": msg("plan"),
    "guardian": msg("guardian"),
    "specialist": msg("specialist"),
    "tool": msg("tool"),
    "engine": msg("engine"),
    "format": msg("format"),
}
KINDS: dict[type, str] = {
    FromMessage: "message",
    FromSummary: "compression",
    FromPlan: "plan",
    FromGuardian: "guardian",
    FromSpecialist: "specialist",
    FromDirective: "specialist",
    FromTool: "tool",
    FromEngine: "engine",
    FromFormat: "format",
}
HUES = {"message": "user", "guardian": "danger", "tool": "ok", "engine": "compression", "format": "compression"}
"""The colour of a kind, where it has none of its own."""


class Sourced(msgspec.Struct, frozen=True):
    """Something that has a kind of source, and is named and coloured by it."""

    kind: str

    @property
    def label(self) -> str:
        return LABELS[self.kind]

    @property
    def hue(self) -> str:
        return HUES.get(self.kind, self.kind)


class Part(Sourced, frozen=True):
    role: str
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


def kind_of(source: AnySource) -> str:
    if isinstance(source, FromInstruction):
        return "customization" if source.rule == Rule.CUSTOMIZED else "instruction"
    return KINDS[type(source)]


def named(source: AnySource, names: Mapping[InstructionId, str]) -> str:
    match source:
        case FromInstruction():
            where = source.field if source.index is None else f"{source.field}[{source.index}]"
            by = f" · {source.assignment}" if source.assignment and kind_of(source) == "customization" else ""
            return f"{names.get(source.instruction_id, '')} {source.version} · {where}{by}".strip()
        case FromSummary():
            return f"{source.strategy} · {len(source.of)} → 1"
        case FromEngine(what=what) | FromFormat(what=what):
            return what.replace("_", " ")
        case FromTool(name=name):
            return name
        case FromSpecialist(version=version):
            return version or ""
        case FromDirective(directive=directive):
            return directive
        case FromMessage(place=place) | FromPlan(place=place):
            return f"#{place}"
        case FromGuardian():
            return ""


def link_to(source: AnySource, conversation: str) -> str | None:
    match source:
        case FromInstruction():
            line = source.field if source.index is None else f"{source.field}-{source.index}"
            return f"/instructions/{source.instruction_id}#{line}"
        case FromMessage(message_id=message_id) | FromSummary(message_id=message_id):
            return f"/conversations/{conversation}?view=all#m-{message_id}"
        case FromSpecialist(span_id=span_id) | FromDirective(span_id=span_id):
            return f"/conversations/{conversation}?view=all#d-{span_id}"
        case FromGuardian(turn_id=turn_id):
            return f"/conversations/{conversation}?view=all#t-{turn_id}"
        case _:
            return None


def _part(piece: Piece, conversation: str, names: Mapping[InstructionId, str], *, new: bool) -> Part:
    source = piece.source
    return Part(
        kind_of(source), piece.role, piece.text, piece.tokens, named(source, names), link_to(source, conversation), new
    )


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
