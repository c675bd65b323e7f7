"""What an instruction says."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from preceptor.domain.errors import Invalid, Phrased, PreceptorError
from preceptor.domain.value import ANY_TEXT, FROM_JSON, VISIBLE_TEXT, Value

LONGEST_PROMPT = 50_000
LONGEST_LINE = 10_000
MOST_LINES = 500

ONE_LINE = (
    r"^[^\x00-\x20\x7f-\xa0\u2028\u2029\ufeff]"
    r"([^\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\x00-\x20\x7f-\xa0\u2028\u2029\ufeff])?$"
)
"""A word or a few, that begin and end visibly and cannot start a line of their own in a prompt."""

Prompt = Annotated[str, StringConstraints(max_length=LONGEST_PROMPT, pattern=VISIBLE_TEXT)]
Line = Annotated[str, StringConstraints(max_length=LONGEST_LINE, pattern=VISIBLE_TEXT)]
LooseText = Annotated[str, StringConstraints(max_length=LONGEST_LINE, pattern=ANY_TEXT)]
Word = Annotated[str, StringConstraints(max_length=64, pattern=ONE_LINE)]
Keyword = Annotated[str, StringConstraints(max_length=200, pattern=VISIBLE_TEXT)]
Lines = Annotated[tuple[Line, ...], Field(max_length=MOST_LINES)]
Keywords = Annotated[tuple[Keyword, ...], Field(max_length=MOST_LINES)]
ConstraintId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$")]


def _unsaid(value: object) -> bool:
    return value is None


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


def _if_said() -> Any:
    """A field that is read back only if it was written."""
    return Field(default=None, exclude_if=_unsaid, json_schema_extra=_without_default)


class Constraint(Value):
    """A hard rule with an id to refer to it by, or a lock that no customization opens."""

    id: ConstraintId = _if_said()
    text: Line
    locked: bool = _if_said()


WrittenConstraint = Line | Constraint
"""Read back as it was written: text stays text."""


class Example(Value):
    input: LooseText
    expected_output: LooseText
    explanation: LooseText | None = Field(default=None, exclude_if=_unsaid)


class Step(Value):
    order: Annotated[int, Field(ge=0, lt=2**31), FROM_JSON]
    name: Line
    description: LooseText = ""
    optional: bool = False


class Mode(StrEnum):
    """What happens to an answer that breaks the rules, mildest first."""

    REPORT = "report"
    RETRY = "retry"
    BLOCK = "block"


class ValidationRules(Value):
    max_response_length: Annotated[int, Field(ge=1, lt=2**31), FROM_JSON] | None = Field(
        default=None, description="In characters."
    )
    required_keywords: Keywords = ()
    prohibited_keywords: Keywords = Field(
        default=(),
        description="Looked for in disguise as well (look-alikes, spaced letters), as well as that can be done.",
    )
    mode: Mode = Mode.REPORT


class Content(Value):
    """Everything is optional; merging fills the gaps."""

    system_prompt: Prompt | None = None
    guidelines: Lines = ()
    constraints: Annotated[tuple[WrittenConstraint, ...], Field(max_length=MOST_LINES)] = ()
    suggestions: Lines = ()
    tone: Word | None = None
    language: Word | None = None
    formality: Word | None = None
    do_list: Lines = ()
    dont_list: Lines = ()
    examples: Annotated[tuple[Example, ...], Field(max_length=MOST_LINES)] = ()
    steps: Annotated[tuple[Step, ...], Field(max_length=MOST_LINES)] = ()
    validation_rules: ValidationRules | None = Field(
        default=None,
        exclude_if=_unsaid,
        description="Accepted here too; they are kept, and read back, beside `content`.",
    )


class ContentPatch(Value):
    """A JSON merge patch of content: a field that is named is replaced whole, null takes it away, the rest stays."""

    system_prompt: Prompt | None = None
    guidelines: Lines | None = None
    constraints: Annotated[tuple[WrittenConstraint, ...], Field(max_length=MOST_LINES)] | None = None
    suggestions: Lines | None = None
    tone: Word | None = None
    language: Word | None = None
    formality: Word | None = None
    do_list: Lines | None = None
    dont_list: Lines | None = None
    examples: Annotated[tuple[Example, ...], Field(max_length=MOST_LINES)] | None = None
    steps: Annotated[tuple[Step, ...], Field(max_length=MOST_LINES)] | None = None
    validation_rules: ValidationRules | None = None


def text_of(constraint: WrittenConstraint) -> str:
    return constraint if isinstance(constraint, str) else constraint.text


def id_of(constraint: WrittenConstraint) -> str | None:
    return None if isinstance(constraint, str) else constraint.id


def is_locked(constraint: WrittenConstraint) -> bool:
    return not isinstance(constraint, str) and bool(constraint.locked)


Kind = TypeVar("Kind", bound=Value)


class Misfit(Invalid):
    """Something that was sent and cannot be: `where`, `kind` and `limits` as pydantic names them."""

    code: ClassVar[str] = "invalid"
    where: str = ""
    kind: str = ""
    limits: tuple[tuple[str, Any], ...] = ()
    cause: "Phrased | PreceptorError | None" = None
    """What a check of ours said, if it was one of ours."""

    @property
    def blank(self) -> bool:
        return self.kind == "string_pattern_mismatch" and ("pattern", VISIBLE_TEXT) in self.limits

    def __str__(self) -> str:
        return f"{self.where}: {self.sentence}" if self.where else self.sentence


def misfit(told: ErrorDetails) -> Misfit:
    context = told.get("ctx", {})
    limits = ((name, value) for name, value in context.items() if isinstance(value, str | int | float))
    where = ".".join(str(place) for place in told["loc"])
    raised: object = context.get("error")
    first: object = raised.args[0] if isinstance(raised, ValueError) and raised.args else None
    cause = first if isinstance(first, Phrased | PreceptorError) else None
    return Misfit(f"{told['msg']}.", where, told["type"], tuple(limits), cause)


def checked(kind: type[Kind], fields: dict[str, Any]) -> Kind:
    """Build a value from what someone sent; what cannot be is `Invalid` and says where."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise misfit(error.errors(include_url=False, include_input=False)[0]) from None


def patched(content: Content, patch: dict[str, Any]) -> Content:
    """RFC 7396 on content: a field that is named is replaced whole, null takes it away, the rest stays."""
    names = {name: field.alias or name for name, field in Content.model_fields.items()}
    merged = content.model_dump(mode="json") | {names.get(name, name): value for name, value in patch.items()}
    known = frozenset(names.values())
    return checked(Content, {name: value for name, value in merged.items() if value is not None or name not in known})
