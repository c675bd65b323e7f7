"""How an installation or an agent wants its turns guarded and planned."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from preceptor.domain.reasoning.routing import Opinions, RoutingPolicy, Thresholds
from preceptor.domain.reasoning.verdict import Mode, OnError
from preceptor.domain.reasoning.wording import NOBODYS, OURS, PlanTexts, TemplateNames
from preceptor.domain.value import FROM_JSON, Value


class Switch(StrEnum):
    AUTO = "auto"
    """On for models whose capability record says that they can plan."""
    ON = "true"
    OFF = "false"


def _switch(given: Any) -> Any:
    return Switch(str(given).lower()) if isinstance(given, bool) else given


def _or_boolean(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"$ref": schema.pop("$ref")}, {"type": "boolean"}]


class Injection(StrEnum):
    """How the plan is put before the model."""

    CLEAN = "clean"
    FORMATTED_TOOL_RESULT = "formatted_tool_result"
    RAW_TOOL_RESULT = "raw_tool_result"


class GuardProvider(StrEnum):
    """Who judges. `rules` are ours, and no model."""

    RULES = "rules"
    VLLM = "vllm"
    MOSEC = "mosec"
    OFF = "off"


class GuardPolicy(Value):
    enabled: bool = True
    mode: Mode = Mode.ENFORCE
    on_error: OnError = OnError.BLOCK
    answers: bool = Field(default=False, description="Judge answers too, before anyone sees them.")
    tool_results: bool = Field(default=False, description="Judge what tools return.")
    delegation_prompts: bool = Field(default=False, description="Judge the prompts of specialists.")
    images: bool = Field(
        default=False, description="In enforce, let pictures through, marked as unchecked: only words are judged."
    )
    history_turns: Annotated[int, Field(ge=0, le=20), FROM_JSON] = Field(
        default=0, description="Earlier turns the guardian reads together with a message."
    )


class SgrPolicy(Value):
    enabled: Annotated[Switch, BeforeValidator(_switch)] = Field(
        default=Switch.AUTO,
        description="`auto` plans with models that can. Sent as a boolean, it is read back by its name.",
        json_schema_extra=_or_boolean,
    )
    injection: Injection = Injection.CLEAN
    thresholds: Thresholds = Thresholds.as_declared()
    max_clarifications: Annotated[int, Field(ge=0, le=100), FROM_JSON] = 2
    opinions: Opinions = Opinions.MAX
    retain_analysis_turns: Annotated[int, Field(ge=0, le=100), FROM_JSON] = 1
    template_instructions: TemplateNames = Field(
        default=NOBODYS,
        description="What is said of a plan, in the words of instructions of type `template`: `systemPrompt` to "
        "models, `guidelines` to users. The version in force when a turn begins is the one it uses.",
        exclude_if=lambda names: names == NOBODYS,
    )
    templates: PlanTexts = Field(
        default=OURS,
        description="What is said of a plan where no instruction is named for it. Edit words in the library instead.",
        exclude_if=lambda texts: texts == OURS,
    )

    @property
    def routing(self) -> RoutingPolicy:
        return RoutingPolicy(self.thresholds, self.opinions, self.max_clarifications)

    def plans_with(self, *, capable: bool) -> bool:
        """Whether a turn of a model is planned, given what its capability record says."""
        return self.enabled is Switch.ON or (self.enabled is Switch.AUTO and capable)
