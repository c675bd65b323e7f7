"""Instructions and their immutable versions."""

from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import AwareDatetime, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from preceptor.domain.errors import Invalid, phrased, recorded
from preceptor.domain.ids import FamilyId, InstructionId, UserId
from preceptor.domain.instructions.content import Content, ValidationRules, Word
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.version import Version
from preceptor.domain.orgs import Name
from preceptor.domain.ownership import Owner
from preceptor.domain.value import ANY_TEXT, FROM_JSON, JsonReal, JsonWhole, Text, Value

Description = Annotated[str, StringConstraints(max_length=10_000, pattern=ANY_TEXT)]
Changelog = Annotated[str, StringConstraints(max_length=10_000, pattern=ANY_TEXT)]
Tags = Annotated[tuple[Word, ...], Field(max_length=100)]
VARIABLE_TEXT = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"
VariableName = Annotated[str, StringConstraints(pattern=VARIABLE_TEXT)]
Scalar = bool | JsonWhole | JsonReal | Text

SUGGESTED: dict[str, frozenset[str]] = {
    "category": frozenset({"support", "coding", "analysis", "general"}),
    "targetRole": frozenset({"assistant", "analyst", "reviewer"}),
    "content.tone": frozenset({"professional", "casual", "friendly"}),
    "content.language": frozenset({"en", "vi", "ru", "multilingual"}),
    "content.formality": frozenset({"formal", "informal"}),
}
"""Other words are kept as well, with a warning."""
OVERRIDABLE = ("language", "tone", "formality")
"""Fields of content that whoever fills in a template may set by name; no variable can be called so."""


class InstructionType(StrEnum):
    """In the order in which they speak. A template does not speak until it is filled in."""

    SYSTEM = "system"
    TASK = "task"
    BEHAVIOR = "behavior"
    TEMPLATE = "template"


class VariableType(StrEnum):
    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ENUM = "enum"


_OPTIONS: dict[str, JsonValue] = {
    "oneOf": [
        {"required": ["type", "options"], "properties": {"type": {"const": "enum"}, "options": {"minItems": 1}}},
        {"properties": {"type": {"enum": ["string", "number", "boolean"]}, "options": {"maxItems": 0}}},
    ]
}


class Variable(Value):
    """A gap in a template. One that is not required and has no default is left empty."""

    model_config = ConfigDict(json_schema_extra=_OPTIONS)

    name: VariableName
    type: VariableType = VariableType.STRING
    description: Description = ""
    required: bool = True
    default: Scalar | None = None
    options: Annotated[tuple[Text, ...], Field(max_length=200)] = Field(default=(), description="Of an enum.")
    max_length: Annotated[int, Field(ge=1, le=10_000), FROM_JSON] = Field(
        default=1_000, description="Of what is inserted, in characters."
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.name in OVERRIDABLE:
            raise ValueError(
                phrased(
                    "%(name)s is a field of content and is set by its name; call the variable otherwise", name=self.name
                )
            )
        if (self.type is VariableType.ENUM) != bool(self.options):
            raise ValueError(phrased("an enum, and nothing else, lists its options"))
        return self


Variables = Annotated[tuple[Variable, ...], Field(max_length=100)]


class TwoSetsOfRules(Invalid):
    code: ClassVar[str] = "invalid"

    def __str__(self) -> str:
        return "validationRules and content.validationRules differ. Send one of them; the first is where they are kept."


class Authored(Value):
    """What its author decides about an instruction, in one version or before there is any."""

    name: Name
    description: Description = ""
    type: InstructionType
    category: Word = "general"
    target_role: Word = "assistant"
    content: Content = Content.as_declared()
    variables: Variables = ()
    validation_rules: ValidationRules | None = None
    tags: Tags = ()
    is_public: bool = False

    @model_validator(mode="after")
    def _keeps_rules_on_top(self) -> Self:
        """Rules inside `content` are moved. This value is being made, so no one has seen it yet."""
        inner = self.content.validation_rules
        if inner is None:
            return self
        if self.validation_rules not in (None, inner):
            raise TwoSetsOfRules
        object.__setattr__(self, "content", self.content.model_copy(update={"validation_rules": None}))
        object.__setattr__(self, "validation_rules", inner)
        return self

    @model_validator(mode="after")
    def _declares_once(self) -> Self:
        names = [variable.name for variable in self.variables]
        if len(names) != len(set(names)):
            raise ValueError(phrased("a variable is declared twice"))
        if names and self.type is not InstructionType.TEMPLATE:
            raise ValueError(phrased("only a template has variables"))
        return self


class NewInstruction(Authored):
    status: Status = Status.ACTIVE
    changelog: Changelog | None = None


class Remark(Value):
    """A warning about what was saved; it was saved all the same."""

    code: str
    sentence: str
    path: str = Field(description="A JSON pointer into the instruction.")


class InstructionVersion(Authored):
    """One immutable version of an instruction; only its status moves. Editing makes another."""

    family_id: FamilyId
    instruction_id: InstructionId
    version: Version
    status: Status
    parent_instruction_id: InstructionId | None = None
    restored_from: InstructionId | None = None
    created_from_template: str | None = Field(default=None, description="The template's instructionId, @ and version.")
    copied_from: str | None = Field(default=None, description="The original's instructionId, @ and version.")
    changelog: Changelog | None = None
    bump_reason: str | None = None
    warnings: tuple[Remark, ...] = ()
    owner: Owner
    created_by: UserId
    updated_by: UserId
    created_at: AwareDatetime
    updated_at: AwareDatetime


def authored(instruction: Authored) -> Authored:
    """Only what the author decided: two versions that are equal here say the same."""
    return Authored.model_construct(**{name: getattr(instruction, name) for name in Authored.model_fields})


class Suggestion(Value):
    """A warning: the word is kept, but it is none of those that others use."""

    field: str
    value: str
    suggested: tuple[str, ...]

    def __str__(self) -> str:
        return recorded(
            "%(field)s is %(value)s, which is kept as it is. Usual words: %(usual)s.",
            field=self.field,
            value=repr(self.value),
            usual=", ".join(self.suggested),
        )


def unusual_words(instruction: Authored) -> tuple[Suggestion, ...]:
    content = instruction.content
    said = {
        "category": instruction.category,
        "targetRole": instruction.target_role,
        "content.tone": content.tone,
        "content.language": content.language,
        "content.formality": content.formality,
    }
    return tuple(
        Suggestion(field=field, value=word, suggested=tuple(sorted(SUGGESTED[field])))
        for field, word in said.items()
        if word is not None and word not in SUGGESTED[field]
    )
