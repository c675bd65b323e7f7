"""What a page says of a failure, in the language of whoever looks: by its kind, and with its facts.

Words are looked for at the failure's own class, then at those it is a kind of and shares the code with. A failure that
only carries a sentence is said by that; what has no words here is said in English, as the API says it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from preceptor.domain.errors import NotFound, Phrased, PreceptorError
from preceptor.domain.executions.graph import CyclicSteps
from preceptor.domain.instructions.content import Misfit, misfit
from preceptor.domain.instructions.lifecycle import MOVES, CannotMove, Status
from preceptor.domain.turns.facts import Ended
from preceptor.engine.library.gatekeeping import GateClosed
from preceptor.surfaces.web.failing_words import (
    ADVICE,
    BY_CODE,
    BY_KIND,
    COMPLAINTS,
    FIELDS,
    ITSELF,
    LOOK_THERE,
    NOT_HERE,
    ONCE_MORE,
    TYPES,
    UNSEEN,
)
from preceptor.surfaces.web.languages import Speaker
from preceptor.surfaces.web.remembering import recalled


class Recorded(str):
    """What was noted in English, among the facts of a failure."""

    __slots__ = ()


def failure(speaker: Speaker, error: PreceptorError) -> str:
    """One failure, as a sentence with what to do."""
    if isinstance(error, Misfit):
        return _misfit(speaker, error)
    words = words_of(error)
    if words is not None:
        said = speaker.say(words, **_filled(speaker, facts_of(error)))
        return f"{said} {speaker.say(LOOK_THERE)}" if isinstance(error, NotFound) else said
    sentence: object = getattr(error, "sentence", None)
    if isinstance(sentence, Phrased) and sentence == str(error):
        return _shown(speaker, sentence)
    return speaker.say(str(error))


def coded(speaker: Speaker, code: str | None) -> str:
    """What a code means, for a failure of which the record keeps an English sentence; nothing where that is enough."""
    words = BY_CODE.get(code or "")
    return "" if words is None or speaker.language == "en" else speaker.say(words)


def advised(speaker: Speaker, ended: Ended) -> str:
    """What to do about a turn that failed."""
    known = (ADVICE[one] for one in (ended.outcome, ended.code) if one in ADVICE)
    return speaker.say(next(known, ONCE_MORE))


def faults_in(error: ValidationError) -> dict[str, PreceptorError]:
    """What is wrong with a form, by the field as the API names it."""
    found = error.errors(include_url=False, include_input=False)
    return {".".join(map(str, one["loc"])): misfit(_without_place(one)) for one in found}


def words_of(error: PreceptorError) -> str | None:
    """The text for this failure, before its blanks are filled in."""
    if isinstance(error, NotFound) and type(error) is NotFound:
        return NOT_HERE.get(error.what)
    if isinstance(error, CyclicSteps) and len(error.steps) == 1:
        return ITSELF
    kinds = (kind for kind in type(error).__mro__ if issubclass(kind, PreceptorError) and kind.code == error.code)
    return next((BY_KIND[kind] for kind in kinds if kind in BY_KIND), None)


def facts_of(error: PreceptorError) -> dict[str, Any]:
    facts = {name: getattr(error, name) for name in error.facts}
    match error:
        case CyclicSteps(steps=steps):
            return facts | {"chain": " → ".join(map(str, (*steps, *steps[:1]))), "step": steps[0]}
        case CannotMove(before=before):
            return facts | {"allowed": tuple(sorted(MOVES[before]))}
        case GateClosed(why=why):
            return facts | {"why": Recorded(why)}
        case _:
            return facts


def _misfit(speaker: Speaker, error: Misfit) -> str:
    kind = UNSEEN if error.blank else error.kind
    words = COMPLAINTS.get(TYPES.get(kind, kind))
    if words is not None:
        said = speaker.say(words, **_filled(speaker, dict(error.limits)))
    elif error.cause is not None:
        said = f"{_shown(speaker, error.cause).removesuffix('.')}."
    else:
        said = error.sentence
    return f"{_place(speaker, error.where)}: {said}" if error.where else said


def _place(speaker: Speaker, where: str) -> str:
    """What a form calls the field; for what no form has, as the API names it."""
    name, _, number = where.removeprefix("content.").partition(".")
    label = FIELDS.get(where) or FIELDS.get(name)
    if label is None or (number and where not in FIELDS and not number.isdecimal()):
        return where
    return f"{speaker.say(label)} {int(number) + 1}" if number.isdecimal() else speaker.say(label)


def _without_place(one: ErrorDetails) -> ErrorDetails:
    """Said at its field, a complaint need not name it."""
    return {**one, "loc": ()}


def _filled(speaker: Speaker, facts: Mapping[str, Any]) -> dict[str, str]:
    return {name: _shown(speaker, value) for name, value in facts.items()}


def _shown(speaker: Speaker, value: Any) -> str:
    match value:
        case PreceptorError():
            return failure(speaker, value)
        case Phrased():
            return speaker.say(value.pattern, **_filled(speaker, value.facts))
        case Recorded() | Status():
            return speaker.say(recalled(speaker, value))
        case bool():
            return str(value).lower()
        case int():
            return speaker.number(value)
        case float() if value.is_integer():
            return speaker.number(int(value))
        case tuple() | list():
            return ", ".join(_shown(speaker, one) for one in cast("Sequence[Any]", value)) or "–"  # noqa: RUF001
        case _:
            return str(value)
