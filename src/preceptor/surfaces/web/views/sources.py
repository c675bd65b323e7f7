"""What the sources of a prompt are called, and where they can be seen."""

from collections.abc import Mapping

import msgspec

from preceptor.domain.errors import Phrased, phrased
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
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.views import wording

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
ENGINE = {
    "agent_name": phrased("the name of the agent"),
    "go_on": phrased("that it is to go on"),
    "message_overhead": phrased("what the format of the provider takes"),
    "no_more_calls": phrased("that no tool can be called any more"),
    "plan_again": phrased("what was wrong with its plan"),
    "plan_schema": phrased("how a plan is written"),
    "role": phrased("where its role begins"),
    "rules": phrased("where its rules begin"),
    "rules_broken": phrased("which rules its answer broke"),
    "stopped": phrased("why the specialist was stopped"),
    "transcript": phrased("where the quoted messages begin and end"),
    "turn_directive": phrased("what its plan comes to"),
}
"""What our own words are about, by the name that the record has for it."""
DIRECTIVES = {
    "delegate_reasoning": phrased("that a specialist speaks"),
    "return_control": phrased("that the specialist is done"),
}
ROLES = {
    "system": phrased("system"),
    "user": phrased("user"),
    "assistant": phrased("assistant"),
    "tool": phrased("tool"),
    "format": phrased("format"),
}
PURPOSES = {
    "answer": msg("for the answer"),
    "final": msg("for the last answer, without tools"),
    "plan": msg("for the plan"),
    "summary": msg("for a summary"),
}
"""What a model is called for."""
PLACES = {
    **wording.LABELS,
    **{f"validationRules.{name}": label for name, label in wording.RULES.items()},
    "additionalGuidelines": msg("Additional guidelines"),
    "document": msg("a mentioned document"),
}
"""What the fields of an instruction are called; counted from 1, as people do."""


class Sourced(msgspec.Struct, frozen=True):
    """Something that has a kind of source, and is named and coloured by it."""

    kind: str

    @property
    def label(self) -> str:
        return LABELS[self.kind]

    @property
    def hue(self) -> str:
        return HUES.get(self.kind, self.kind)


def kind_of(source: AnySource) -> str:
    if isinstance(source, FromInstruction):
        return "customization" if source.rule == Rule.CUSTOMIZED else "instruction"
    return KINDS[type(source)]


def named(source: AnySource, role: str, names: Mapping[InstructionId, str]) -> str:
    """What it is called; by the role in which it was said, if by nothing else."""
    match source:
        case FromInstruction(instruction_id=instruction_id, version=version):
            return said_at(names.get(instruction_id, ""), version, source.field, source.index)
        case FromSummary():
            return f"{source.strategy} · {len(source.of)} → 1"
        case FromEngine(what=what) | FromFormat(what=what):
            return _ours(what)
        case FromTool(name=name):
            return name
        case FromDirective(directive=directive):
            return DIRECTIVES.get(directive, directive)
        case FromMessage(place=place) | FromPlan(place=place):
            return f"#{place}"
        case FromSpecialist(version=str() as version):
            return version
        case FromSpecialist() | FromGuardian():
            return ROLES.get(role, role)


def said_at(name: str, version: str, field: str, index: int | None) -> Phrased:
    """A line of a version of an instruction."""
    return phrased("%(name)s %(version)s · %(place)s", name=name, version=version, place=placed(field, index))


def placed(field: str, index: int | None = None) -> Phrased:
    label = phrased(PLACES.get(field, field))
    return label if index is None else phrased("%(place)s %(number)s", place=label, number=index + 1)


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


def _ours(what: str) -> str:
    kind, _, of = what.partition(" ")
    if kind == "heading":
        return phrased("the heading of %(place)s", place=placed(of.strip("/").partition("/")[0]))
    if kind == "template":
        return phrased("how a summary is written: %(name)s", name=of)
    return ENGINE.get(what, what.replace("_", " "))
