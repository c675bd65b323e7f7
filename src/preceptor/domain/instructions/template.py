"""Templates: `{{name}}` and nothing else. No logic, no attributes, no formats, nothing that can be run."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from preceptor.domain.errors import Invalid, phrased
from preceptor.domain.gaps import UndeclaredVariable, filled, filled_size, require_known
from preceptor.domain.instructions.content import LONGEST_PROMPT, Content, checked
from preceptor.domain.instructions.instruction import OVERRIDABLE, Variable, VariableType
from preceptor.domain.value import Value, texts_in


class MissingVariable(Invalid):
    code: ClassVar[str] = "invalid"
    name: str = ""

    def __str__(self) -> str:
        return f"The variable {self.name!r} is required. Give it a value."


class BadVariable(Invalid):
    code: ClassVar[str] = "invalid"
    name: str = ""
    wanted: str = ""

    def __str__(self) -> str:
        return f"The variable {self.name!r} must be {self.wanted}."


class FilledTooLong(Invalid):
    code: ClassVar[str] = "invalid"
    limit: int = LONGEST_PROMPT

    def __str__(self) -> str:
        return f"Filled in, a text is longer than {self.limit} characters. Give shorter values."


def require_declared(template: Value, variables: Sequence[Variable]) -> None:
    """Refuse, when a template is saved, whatever looks like a placeholder and is not a declared one."""
    declared = tuple(variable.name for variable in variables)
    for text in texts_in(template.model_dump(mode="json")):
        require_known(text, declared)
    for variable in variables:
        if variable.default is not None:
            written(variable, variable.default)


def fill(content: Content, variables: Sequence[Variable], customizations: Mapping[str, object]) -> Content:
    """Content with every gap filled. `language`, `tone` and `formality` replace the fields of that name."""
    declared = tuple(variable.name for variable in variables)
    for name in customizations:
        if name not in declared and name not in OVERRIDABLE:
            raise UndeclaredVariable(name=name, declared=declared)
    require_declared(content, variables)
    values = {variable.name: _value(variable, customizations) for variable in variables}
    said = _filled(content.model_dump(mode="json"), values)
    overrides = {name: customizations[name] for name in OVERRIDABLE if name in customizations}
    for name, word in overrides.items():
        if not isinstance(word, str):
            raise BadVariable(name=name, wanted=phrased("a word"))
    return checked(Content, said | overrides)


def written(variable: Variable, value: object) -> str:
    """A value as it is inserted, if it is of the declared type and not too long."""
    text = _written(variable, value)
    if text is None:
        raise BadVariable(name=variable.name, wanted=_wanted(variable))
    if len(text) > variable.max_length or "\0" in text:
        raise BadVariable(
            name=variable.name, wanted=phrased("at most %(most)s characters of text", most=variable.max_length)
        )
    return text


def _written(variable: Variable, value: object) -> str | None:
    match variable.type, value:
        case VariableType.STRING, str():
            return value
        case VariableType.ENUM, str() if value in variable.options:
            return value
        case VariableType.BOOLEAN, bool():
            return "true" if value else "false"
        case VariableType.NUMBER, bool():
            return None
        case VariableType.NUMBER, int() if abs(value) < 2**63:
            return str(value)
        case VariableType.NUMBER, float() if math.isfinite(value):
            return repr(value)
        case _:
            return None


def _wanted(variable: Variable) -> str:
    match variable.type:
        case VariableType.STRING:
            return phrased("text")
        case VariableType.NUMBER:
            return phrased("a number")
        case VariableType.BOOLEAN:
            return phrased("true or false")
        case VariableType.ENUM:
            return phrased("one of: %(options)s", options=", ".join(variable.options))


def _value(variable: Variable, customizations: Mapping[str, object]) -> str:
    if variable.name in customizations:
        return written(variable, customizations[variable.name])
    if variable.default is not None:
        return written(variable, variable.default)
    if variable.required:
        raise MissingVariable(name=variable.name)
    return ""


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    match value:
        case str():
            return _inserted(value, values)
        case list():
            return [_filled(item, values) for item in cast("list[Any]", value)]
        case dict():
            return {key: _filled(item, values) for key, item in cast("dict[str, Any]", value).items()}
        case _:
            return value


def _inserted(text: str, values: Mapping[str, str]) -> str:
    if filled_size(text, values) > LONGEST_PROMPT:
        raise FilledTooLong
    return filled(text, values)
