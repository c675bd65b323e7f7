"""Plans in an installation's or an agent's own words: the texts of the four actions, checked when they are saved.

What an action's own words leave out is said in ours. The document of the API names the variables of each text.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Annotated

from pydantic import Field, StringConstraints

from preceptor.domain.reasoning.plan import Action
from preceptor.domain.reasoning.templates import (
    ANALYSIS_VARIABLES,
    DEFAULTS,
    OPEN_VARIABLES,
    PlanTemplate,
    ReadyTemplate,
    ready,
)
from preceptor.domain.reasoning.visibility import Reader, shown_to
from preceptor.domain.value import VISIBLE_TEXT, Value

LONGEST = 8_000


def _only(names: Iterable[str]) -> str:
    """Any text whose gaps have these names: the same that `require_known` lets through, as one pattern."""
    return r"^(?:[^{\x00]|\{[^{%\x00]|\{\{(?:" + "|".join(names) + r")\}\})*\{?$"


def _user_variables(action: Action) -> tuple[str, ...]:
    return *shown_to(Reader.USER, action), *OPEN_VARIABLES


def _for_user(action: Action) -> StringConstraints:
    return StringConstraints(pattern=_only(_user_variables(action)), max_length=LONGEST)


SPELLED = {
    _only(names): f"A placeholder is {{{{name}}}}, with one of these names: {', '.join(names)}"
    for names in (ANALYSIS_VARIABLES, *map(_user_variables, Action))
}
"""What a text with gaps has to look like, in words, by its pattern."""
Analysis = Annotated[str, StringConstraints(pattern=_only(ANALYSIS_VARIABLES), max_length=LONGEST)]


class NormalTexts(Value):
    analysis: Analysis
    response: Annotated[str, _for_user(Action.NORMAL)]


class ClarifyTexts(Value):
    analysis: Analysis
    response: Annotated[str, _for_user(Action.CLARIFY)]


class BlockTexts(Value):
    analysis: Analysis
    response: Annotated[str, _for_user(Action.BLOCK)]


class GuardianBlockTexts(Value):
    analysis: Analysis
    response: Annotated[str, _for_user(Action.GUARDIAN_BLOCK)]


class PlanTexts(Value):
    """Per action what the model is told of the plan, and what the user is told. `{{name}}` and nothing else."""

    normal: NormalTexts | None = Field(default=None, exclude_if=lambda texts: texts is None)
    clarify: ClarifyTexts | None = Field(default=None, exclude_if=lambda texts: texts is None)
    block: BlockTexts | None = Field(default=None, exclude_if=lambda texts: texts is None)
    guardian_block: GuardianBlockTexts | None = Field(default=None, exclude_if=lambda texts: texts is None)

    def templates(self) -> Iterator[PlanTemplate]:
        for action in Action:
            texts: NormalTexts | None = getattr(self, action.value)
            if texts is not None:
                yield PlanTemplate(action=action, analysis=texts.analysis, response=texts.response)


OURS = PlanTexts.as_declared()

Named = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=VISIBLE_TEXT)] | None


class TemplateNames(Value):
    """Per action the instruction of type `template` that words its plans: `name`, `name@^1`, `name@label`, or an id."""

    normal: Named = Field(default=None, exclude_if=lambda name: name is None)
    clarify: Named = Field(default=None, exclude_if=lambda name: name is None)
    block: Named = Field(default=None, exclude_if=lambda name: name is None)
    guardian_block: Named = Field(default=None, exclude_if=lambda name: name is None)

    def by_action(self) -> dict[Action, str]:
        return {action: name for action in Action if (name := getattr(self, action.value)) is not None}


NOBODYS = TemplateNames.as_declared()


def worded(texts: PlanTexts) -> Mapping[Action, ReadyTemplate]:
    """All four, ready to be filled in."""
    return _made_ready(tuple((one.action, one.analysis, one.response) for one in texts.templates()))


@lru_cache(maxsize=64)
def _made_ready(changed: tuple[tuple[Action, str, str], ...]) -> Mapping[Action, ReadyTemplate]:
    own = (PlanTemplate(action=action, analysis=analysis, response=response) for action, analysis, response in changed)
    return ready(own) if changed else DEFAULTS
