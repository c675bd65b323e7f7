"""What an agent is told, as people read it: line by line with its source, and struck out what it is not told."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

import msgspec

from preceptor.domain.errors import phrased
from preceptor.domain.ids import AssignmentId
from preceptor.domain.instructions.effective import Assignment, Origin, Overridden, Reason, Rule, Source
from preceptor.domain.instructions.render import RenderedLine
from preceptor.engine.impact import NEXT
from preceptor.engine.telling.compiled import Told
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.views.sources import placed, said_at
from preceptor.surfaces.web.views.wording import MODES

RULES = {
    Rule.CONCATENATED: "",
    Rule.LISTED: "",
    Rule.LOCKED: msg("locked"),
    Rule.RENUMBERED: msg("renumbered"),
    Rule.CUSTOMIZED: msg("added by the customization"),
    Rule.ONLY: "",
    Rule.BY_TYPE: msg("behavior counts before task, task before system"),
    Rule.BY_PRIORITY: msg("has the lower priority number"),
    Rule.BY_AGE: msg("was applied first"),
    Rule.STRICTEST: msg("is the strictest"),
    Rule.QUOTED: msg("a mentioned document"),
}
REASONS = {
    Reason.DUPLICATE: msg("said already"),
    Reason.DISABLED: msg("disabled by the customization"),
    Reason.LOCK_OVERRIDDEN: msg("locked, and disabled with leave"),
    Reason.OUTRANKED: msg("outranked"),
    Reason.LESS_STRICT: msg("less strict"),
}
_STYLE = {"language": "tone", "formality": "tone"}
_RULES = "validationRules"


class From(msgspec.Struct, frozen=True):
    """Where a line was said."""

    label: str
    link: str | None
    rule: str
    custom: bool


class Line(msgspec.Struct, frozen=True):
    text: str
    sources: tuple[From, ...]
    reason: str = ""
    """Why it is not told; empty for a line that is."""
    because: str = ""

    @property
    def hue(self) -> str:
        return "customization" if any(one.custom for one in self.sources) else "instruction"


class Section(msgspec.Struct, frozen=True):
    key: str
    heading: str
    lines: tuple[Line, ...]


def sections(told: Told) -> list[Section]:
    """In the order of the prompt; the rules that answers are held to come last, as they are not part of it."""
    by = {one.assignment_id: one for one in told.speakers}
    named = _Named(told.agent_id, by)
    struck: dict[str, list[Line]] = {}
    for one in told.effective.overridden:
        struck.setdefault(_key(one.path), []).append(_struck(one, named))
    found: list[Section] = []
    for key, lines in groupby(told.rendered.lines, lambda line: _key(line.path)):
        found.append(_section(key, list(lines), struck.pop(key, []), named))
    if rules := _rules(told, named, struck.pop(_RULES, [])):
        found.append(rules)
    return [*found, *(Section(key, placed(key), tuple(lines)) for key, lines in struck.items())]


class _Named(msgspec.Struct, frozen=True):
    agent_id: str
    by: Mapping[AssignmentId, Assignment]

    def source(self, origin: Origin, rule: str = "") -> From:
        speaker = self.by.get(origin.assignment)
        name = speaker.version.name if speaker else origin.instruction_id
        custom = origin.field == "additionalGuidelines"
        label = said_at(name, origin.version, origin.field, origin.index)
        return From(label, self._link(origin, custom=custom), rule, custom)

    def _link(self, origin: Origin, *, custom: bool) -> str | None:
        if custom:
            return f"/agents/{self.agent_id}#assignment-{origin.assignment}"
        if origin.instruction_id == NEXT:
            return None
        line = origin.field if origin.index is None else f"{origin.field}-{origin.index}"
        return f"/instructions/{origin.instruction_id}#{line}"

    def sources(self, sources: Iterable[Source]) -> tuple[From, ...]:
        return tuple(self.source(one, RULES[one.rule]) for one in sources)


def _key(path: str) -> str:
    name = path.split("/")[1] if "/" in path else path
    return _STYLE.get(name, name)


def _section(key: str, lines: Sequence[RenderedLine], struck: Sequence[Line], named: _Named) -> Section:
    rest = list(lines)
    if rest and not rest[0].text and key != "systemPrompt":
        rest = rest[1:]
    heading = rest.pop(0).text if key != "systemPrompt" else ""
    told: list[Line] = []
    for (_, sources), group in groupby(rest, lambda line: (line.path, line.sources)):
        text = "\n".join(line.text for line in group).strip("\n")
        told.append(Line(text, named.sources(sources)))
    return Section(key, heading, (*told, *struck))


def _struck(one: Overridden, named: _Named) -> Line:
    leave = f"{one.by}: {one.because}" if one.by and one.because else ""
    text = phrased(MODES[one.text]) if one.field == f"{_RULES}.mode" else one.text
    return Line(text, (named.source(one),), REASONS[one.reason], leave)


def _rules(told: Told, named: _Named, struck: Sequence[Line]) -> Section | None:
    rules = told.effective.validation_rules
    if rules is None:
        return None
    said = rules.model_dump(mode="json", exclude_none=True)
    lines: list[Line] = []
    for name, value in said.items():
        if value or name == "mode":
            text = ", ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else str(value)
            sources = [one for one in told.effective.sources if one.path.startswith(f"/{_RULES}/{name}")]
            place, meant = placed(f"{_RULES}.{name}"), phrased(MODES[text]) if name == "mode" else text
            said_so = phrased("%(place)s: %(value)s", place=place, value=meant)
            lines.append(Line(said_so, named.sources(sources)))
    return Section(_RULES, "", (*lines, *struck))
