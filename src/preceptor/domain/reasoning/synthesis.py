"""One plan, three readers, three types: nothing has to be parsed back out of text, and nothing leaks by forgetting."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from preceptor.domain.decision import Hit
from preceptor.domain.reasoning.neutral import all_neutral
from preceptor.domain.reasoning.plan import Action, Plan
from preceptor.domain.reasoning.routing import Flow, Patience, Route, Routed
from preceptor.domain.reasoning.templates import ANALYSIS_VARIABLES, DEFAULTS, ReadyTemplate
from preceptor.domain.reasoning.texts import get_text
from preceptor.domain.reasoning.verdict import Gate, Judged, Level, Verdict
from preceptor.domain.reasoning.visibility import Reader, may_see

ANALYSIS, RESPONSE = "## Analysis", "## Response"
ASKED_ENOUGH = (
    "**Note**: The user has been asked enough. Answer now, on the likeliest reading, and say what was assumed."
)
WITHHELD = "[The safety check withheld this message.]"
"""What models are shown, then and later, in place of a message that was blocked."""
UNSAFE_REASON = "guardian_unsafe"

_HEADING = re.compile(r"^##[ \t]+Response[ \t]*$", re.MULTILINE)


class ForModel(msgspec.Struct, frozen=True, rename="camel"):
    """Output 1. The two sections of the one synthetic message; they meet only in `full`, for a model."""

    analysis: str
    response: str

    @property
    def full(self) -> str:
        return f"{ANALYSIS}\n{self.analysis}\n\n{RESPONSE}\n{self.response}"


class UiType(StrEnum):
    ANSWER = "answer"
    SGR_RESPONSE = "sgr_response"
    GUARDIAN_BLOCK = "guardian_block"


class ForUser(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Output 2: the `ui` of a turn."""

    type: UiType
    response: str
    user_intent: str | None = None

    def markdown(self, language: str = "en") -> str:
        if not self.user_intent:
            return self.response
        return f"**{get_text('user_intent_prefix', language)}**\n\n{self.user_intent}\n\n{self.response}"

    def answered(self, answer: str) -> "ForUser":
        """After a normal plan: the understanding stays, the final text takes the response's place."""
        return ForUser(UiType.ANSWER, answer, self.user_intent)


class ForRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Output 3: what happened, whole and as it was. For holders of `record:read` alone."""

    action: Action
    sgr_plan: Plan | None
    guardian_result: Judged | None
    raw_plan: Any = None
    """What the model wrote, before it was read."""
    analysis: str
    response: str
    opinion: Action | None = None
    disagrees: bool = False
    routing: Hit[Route] | None = None
    patience: Hit[Patience] | None = None
    gate: Hit[Gate] | None = None
    blocked: bool = False
    block_reason: str | None = None


class Synthesis(NamedTuple):
    for_model: ForModel
    for_user: ForUser
    for_record: ForRecord


class Voice(msgspec.Struct, frozen=True):
    """How an agent speaks of its plans."""

    language: str = "en"
    product_name: str = "Preceptor"
    templates: Mapping[Action, ReadyTemplate] = msgspec.field(default_factory=lambda: DEFAULTS)

    def text(self, key: str, user_intent: str = "") -> str:
        return get_text(key, self.language, product_name=self.product_name, user_intent=user_intent)


PLAIN_VOICE = Voice()


def synthesise(
    plan: Plan, routed: Routed, judged: Judged | None, voice: Voice = PLAIN_VOICE, *, raw_plan: Any = None
) -> Synthesis:
    action = routed.action
    values = _values(plan, action, judged, voice)
    analysis, response = voice.templates[action].render(values)
    if routed.asked_enough:
        analysis = f"{analysis}\n{ASKED_ENOUGH}"
    intent = values["user_intent"] if may_see(Reader.USER, "user_intent", action) else ""
    guarded = action is Action.GUARDIAN_BLOCK
    return Synthesis(
        ForModel(analysis, response),
        ForUser(UiType.GUARDIAN_BLOCK if guarded else UiType.SGR_RESPONSE, response, intent or None),
        ForRecord(
            action=action,
            sgr_plan=plan,
            guardian_result=judged,
            raw_plan=raw_plan,
            analysis=analysis,
            response=response,
            opinion=routed.opinion,
            disagrees=routed.disagrees,
            routing=routed.table,
            patience=routed.patience,
            blocked=routed.flow is Flow.STOP,
            block_reason=UNSAFE_REASON if guarded else None,
        ),
    )


def refuse(judged: Judged, gate: Hit[Gate], voice: Voice = PLAIN_VOICE) -> Synthesis:
    """The guardian stopped the turn before anything was planned."""
    template = voice.templates[Action.GUARDIAN_BLOCK]
    values = dict.fromkeys(ANALYSIS_VARIABLES, "") | {
        "action": Action.GUARDIAN_BLOCK.value,
        "guard_categories": _categories(judged),
        "product_name": voice.product_name,
    }
    analysis, _ = template.render(values)
    response = voice.text("guardian_refusal_unsafe")
    return Synthesis(
        ForModel(analysis, response),
        ForUser(UiType.GUARDIAN_BLOCK, response),
        ForRecord(
            action=Action.GUARDIAN_BLOCK,
            sgr_plan=None,
            guardian_result=judged,
            analysis=analysis,
            response=response,
            gate=gate,
            blocked=True,
            block_reason=UNSAFE_REASON,
        ),
    )


def render_sgr_template(plan: Plan, action: Action, judged: Judged | None, voice: Voice = PLAIN_VOICE) -> ForModel:
    return ForModel(*voice.templates[action].render(_values(plan, action, judged, voice)))


def extract_response_section(text: str) -> str:
    """The response in text that came from elsewhere: what follows the last heading, else all of it.

    Ours is never taken apart like this: it is stored in parts.
    """
    headings = list(_HEADING.finditer(text))
    return text[headings[-1].end() :].strip() if headings else text


def format_bullets(items: Iterable[str]) -> str:
    return "\n".join([f"- {item}" for item in items])


def format_numbered(items: Iterable[str]) -> str:
    return "\n".join([f"{number}. {item}" for number, item in enumerate(items, 1)])


def confidence_label(confidence: float) -> str:
    return "Low" if confidence < 0.6 else "Medium" if confidence < 0.8 else "High"


def _values(plan: Plan, action: Action, judged: Judged | None, voice: Voice) -> dict[str, str]:
    """Every variable of a template."""
    intent = plan.user_intent
    values = {
        "user_intent": intent,
        "topic": plan.topic,
        "category": plan.category,
        "spam_score": f"{plan.spam_score:g}",
        "spam_reason": plan.spam_reason,
        "intent_confidence": f"{plan.intent_confidence:g}",
        "confidence_label": confidence_label(plan.intent_confidence),
        "uncertainties": f"\n{format_bullets(plan.uncertainties)}" if plan.uncertainties else "",
        "subqueries": ", ".join(plan.subqueries),
        "action_plan": f"\n{format_numbered(plan.action_plan)}" if plan.action_plan else "",
        "action": action.value,
        "clarification_question": _question(plan, action, voice),
        "guard_categories": _categories(judged),
        "product_name": voice.product_name,
    }
    for key in voice.templates[action].texts:
        values[f"i18n_{key}"] = voice.text(key, intent)
    return values


def _question(plan: Plan, action: Action, voice: Voice) -> str:
    """A user who is waited for is always asked something, also when the model had no question of its own."""
    unasked = voice.text("sgr_clarify_question") if action is Action.CLARIFY else ""
    return plan.clarification_question or unasked


def _categories(judged: Judged | None) -> str:
    match judged:
        case Verdict(level=Level.CONTROVERSIAL | Level.UNSAFE, categories=categories):
            return ", ".join(all_neutral(categories))
        case _:
            return ""
