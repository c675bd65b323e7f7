"""An instruction as lines of text, whole or field by field, for comparing versions."""

from collections.abc import Iterator

from preceptor.domain.gaps import pieces
from preceptor.domain.instructions.content import Constraint, Example, Step, WrittenConstraint, text_of
from preceptor.domain.instructions.instruction import Authored, Variable
from preceptor.surfaces.web.languages import msg

LABELS = {
    "name": msg("Name"),
    "description": msg("Description"),
    "type": msg("Type"),
    "category": msg("Category"),
    "targetRole": msg("For the role"),
    "tags": msg("Tags"),
    "isPublic": msg("Published"),
    "systemPrompt": msg("System prompt"),
    "guidelines": msg("Guidelines"),
    "constraints": msg("Constraints"),
    "suggestions": msg("Suggestions"),
    "doList": msg("Do"),
    "dontList": msg("Do not"),
    "tone": msg("Tone"),
    "language": msg("Language"),
    "formality": msg("Formality"),
    "steps": msg("Steps"),
    "examples": msg("Examples"),
    "variables": msg("Variables"),
    "validationRules": msg("Validation rules"),
}
"""In the order in which they are shown."""
TYPES = (msg("system"), msg("task"), msg("behavior"), msg("template"))
"""What a type is called."""
RULES = {
    "maxResponseLength": msg("Longest answer, in characters"),
    "requiredKeywords": msg("An answer must contain"),
    "prohibitedKeywords": msg("An answer must not contain"),
    "mode": msg("If an answer breaks them"),
}
"""What answers are held to."""
MODES = {
    "report": msg("it is noted"),
    "retry": msg("it is asked for once more"),
    "block": msg("nobody is shown it"),
}
"""What is done about an answer that breaks the rules."""
STATES = (msg("draft"), msg("active"), msg("deprecated"), msg("archived"))
"""What a status is called."""


def by_field(said: Authored) -> dict[str, list[str]]:
    """Each field as lines. A field that says nothing has none."""
    content = said.content
    lists = {
        "guidelines": content.guidelines,
        "constraints": tuple(map(_constraint, content.constraints)),
        "suggestions": content.suggestions,
        "doList": content.do_list,
        "dontList": content.dont_list,
        "steps": tuple(map(_step, content.steps)),
        "examples": tuple(map(_example, content.examples)),
        "variables": tuple(map(_variable, said.variables)),
    }
    plain = {
        "name": said.name,
        "description": said.description,
        "type": said.type.value,
        "category": said.category,
        "targetRole": said.target_role,
        "tags": ", ".join(said.tags),
        "isPublic": "true" if said.is_public else "",
        "systemPrompt": content.system_prompt,
        "tone": content.tone,
        "language": content.language,
        "formality": content.formality,
        "validationRules": "\n".join(_rules(said)),
    }
    found = {name: (text or "").split("\n") if text else [] for name, text in plain.items()}
    found |= {name: [line for item in items for line in _item(item)] for name, items in lists.items()}
    return {name: found[name] for name in LABELS}


def as_lines(said: Authored) -> list[str]:
    """The whole instruction, with a heading over each field."""
    lines: list[str] = []
    for name, texts in by_field(said).items():
        if texts:
            lines += [*([""] if lines else []), f"## {name}", *texts]
    return lines


def marked(text: str) -> list[tuple[bool, str]]:
    """The text in pieces, the gaps of a template among them."""
    found: list[tuple[bool, str]] = []
    for piece, gap in pieces(text):
        found += [(False, piece)] if piece else []
        found += [(True, f"{{{{{gap}}}}}")] if gap else []
    return found


def _item(text: str) -> list[str]:
    first, *rest = text.split("\n")
    return [f"- {first}", *(f"  {line}" for line in rest)]


def _constraint(constraint: WrittenConstraint) -> str:
    if not isinstance(constraint, Constraint):
        return constraint
    marks = [constraint.id] if constraint.id else []
    marks += ["locked"] if constraint.locked else []
    return f"{text_of(constraint)} [{', '.join(marks)}]" if marks else text_of(constraint)


def _step(step: Step) -> str:
    said = f"{step.order}. {step.name}{' (optional)' if step.optional else ''}"
    return f"{said}\n{step.description}" if step.description else said


def _example(example: Example) -> str:
    lines = [f"Input: {example.input}", f"Answer: {example.expected_output}"]
    return "\n".join([*lines, f"Why: {example.explanation}"] if example.explanation else lines)


def _variable(variable: Variable) -> str:
    facts = [variable.type.value, "required" if variable.required else "optional"]
    facts += [f"default {variable.default}"] if variable.default is not None else []
    facts += [f"one of {', '.join(variable.options)}"] if variable.options else []
    said = f"{variable.name} ({'; '.join(facts)})"
    return f"{said}\n{variable.description}" if variable.description else said


def _rules(said: Authored) -> Iterator[str]:
    rules = said.validation_rules
    if rules is None:
        return
    if rules.max_response_length is not None:
        yield f"maxResponseLength: {rules.max_response_length}"
    if rules.required_keywords:
        yield f"requiredKeywords: {', '.join(rules.required_keywords)}"
    if rules.prohibited_keywords:
        yield f"prohibitedKeywords: {', '.join(rules.prohibited_keywords)}"
    yield f"mode: {rules.mode}"
