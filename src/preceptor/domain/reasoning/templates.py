"""The templates of the four actions: what the analysis says, and what the user is told.

A line whose variables are all empty is left out; that is the only condition there is. The response may name only what
users may see, so no template can show them the analysis, and what a model may see and no line names is added by itself.
"""

from collections.abc import Iterable, Mapping
from typing import Self

from pydantic import model_validator

from preceptor.domain.gaps import gaps, pieces, require_known
from preceptor.domain.reasoning.plan import Action
from preceptor.domain.reasoning.texts import KEYS
from preceptor.domain.reasoning.visibility import MATRIX, SECTIONS, Reader, shown_to
from preceptor.domain.value import Text, Value

TEXT_VARIABLES = tuple(f"i18n_{key}" for key in KEYS)
OPEN_VARIABLES = ("product_name", *TEXT_VARIABLES)
"""They come from us, so anyone may read them."""
ANALYSIS_VARIABLES = (*(name for name in MATRIX if name not in SECTIONS), "confidence_label", *OPEN_VARIABLES)
ON_LINES_OF_THEIR_OWN = ("uncertainties", "action_plan")
"""Lists that begin with a line break, unless they are empty."""
_MOST_SHAPES = 256


class _Part:
    """A text with gaps, made ready: for each way in which its variables can be empty there is one form to fill in."""

    __slots__ = ("_names", "_paragraphs", "_shapes")

    def __init__(self, text: str) -> None:
        paragraphs = text.strip().split("\n\n")
        self._paragraphs = [[pieces(line) for line in paragraph.split("\n")] for paragraph in paragraphs]
        self._names = tuple(gaps(text.strip()))
        self._shapes: dict[tuple[bool, ...], str] = {}

    def render(self, values: Mapping[str, str]) -> str:
        given = tuple([values[name] for name in self._names])
        shape = tuple(map(bool, given))
        form = self._shapes.get(shape)
        if form is None:
            form = self._form(values)
            if len(self._shapes) < _MOST_SHAPES:
                self._shapes[shape] = form
        return form % given

    def _form(self, values: Mapping[str, str]) -> str:
        """The lines that have something to say. The gaps of the others stay: they are filled with nothing."""
        told: list[str] = []
        unused = ""
        for paragraph in self._paragraphs:
            lines: list[str] = []
            for line in paragraph:
                names = [name for _, name in line if name is not None]
                if names and not any(values[name] for name in names):
                    unused += "%s" * len(names)
                else:
                    said = "".join(text.replace("%", "%%") + ("" if name is None else "%s") for text, name in line)
                    lines.append(unused + said)
                    unused = ""
            if lines:
                told.append("\n".join(lines))
        return "\n\n".join(told) + unused


class PlanTemplate(Value):
    """One action's texts, as they are written, stored and edited. `{{name}}` and nothing else."""

    action: Action
    analysis: Text
    response: Text

    @model_validator(mode="after")
    def _names_only_what_its_readers_may_see(self) -> Self:
        require_known(self.analysis, ANALYSIS_VARIABLES)
        require_known(self.response, (*shown_to(Reader.USER, self.action), *OPEN_VARIABLES))
        return self


class ReadyTemplate:
    """A template made ready to be filled in many times."""

    __slots__ = ("_analysis", "_response", "texts")

    def __init__(self, template: PlanTemplate) -> None:
        named = {*gaps(template.analysis), *gaps(template.response)}
        added = [name for name in shown_to(Reader.MODEL, template.action) if name not in named]
        self._analysis = _Part("\n".join([template.analysis, *map(_standard_line, added)]))
        self._response = _Part(template.response)
        self.texts = tuple(key for key in KEYS if f"i18n_{key}" in named)
        """The keys of the texts it names."""

    def render(self, values: Mapping[str, str]) -> tuple[str, str]:
        """Analysis and response, apart."""
        return self._analysis.render(values), self._response.render(values)


def _standard_line(name: str) -> str:
    space = "" if name in ON_LINES_OF_THEIR_OWN else " "
    return f"**{MATRIX[name].label}**:{space}{{{{{name}}}}}"


SHIPPED: Mapping[Action, PlanTemplate] = {
    Action.NORMAL: PlanTemplate(
        action=Action.NORMAL,
        analysis=(
            "**Topic**: {{topic}}\n"
            "**Intent**: {{user_intent}}\n"
            "**Category**: {{category}}\n"
            "**Validity**: Legitimate support request [spam_score: {{spam_score}}]\n"
            "**Confidence**: {{confidence_label}} ({{intent_confidence}})\n"
            "**Subqueries**: {{subqueries}}\n"
            "**Action Plan**:{{action_plan}}"
        ),
        response="{{i18n_sgr_normal_response}}",
    ),
    Action.CLARIFY: PlanTemplate(
        action=Action.CLARIFY,
        analysis=(
            "**Topic**: {{topic}}\n"
            "**Intent**: {{user_intent}} (not completely understood)\n"
            "**Category**: {{category}}\n"
            "**Validity**: Request needs clarification [spam_score: {{spam_score}}]\n"
            "**Confidence**: {{confidence_label}} ({{intent_confidence}})\n"
            "**Uncertainties**:{{uncertainties}}\n"
            "**Subqueries**: {{subqueries}}"
        ),
        response="{{i18n_sgr_clarify_intro}}\n\n{{clarification_question}}\n\n{{i18n_sgr_clarify_outro}}",
    ),
    Action.BLOCK: PlanTemplate(
        action=Action.BLOCK,
        analysis=(
            "**Assessment**: Off-topic or spam request\n"
            "**Validity**: Request unrelated to {{product_name}} [spam_score: {{spam_score}}]\n"
            "**Reason**: {{spam_reason}}\n"
            "**Action**: {{action}}"
        ),
        response="{{i18n_sgr_spam_response}}",
    ),
    Action.GUARDIAN_BLOCK: PlanTemplate(
        action=Action.GUARDIAN_BLOCK,
        analysis=(
            "**Assessment**: Request blocked by safety policy\n"
            "**Validity**: Potentially harmful [guard_categories: {{guard_categories}}]\n"
            "**Category**: Unsafe request\n"
            "**Action**: {{action}}"
        ),
        response="{{i18n_sgr_guardian_response}}",
    ),
}

DEFAULTS: Mapping[Action, ReadyTemplate] = {action: ReadyTemplate(written) for action, written in SHIPPED.items()}


def ready(changed: Iterable[PlanTemplate] = ()) -> Mapping[Action, ReadyTemplate]:
    """All four: those that were changed, and ours for the rest."""
    return {**DEFAULTS, **{template.action: ReadyTemplate(template) for template in changed}}
