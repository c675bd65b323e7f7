"""What a model is asked to fill in when it plans. The order of the fields is the order of the reasoning."""

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from preceptor.domain.reasoning.plan import TOOL_NAME, Action, Plan

LANGUAGES = {"en": "English", "ru": "Russian", "vi": "Vietnamese"}

_PURPOSE = (
    "Think a request through before answering it: (1) judge whether it is valid, (2) say what the user wants, "
    "(3) plan what to search for and do, (4) rate how sure you are and choose a route. Fill in the fields in the order "
    "given; each one builds on those before it."
)


class _Field(NamedTuple):
    name: str
    shape: dict[str, Any]
    guidance: str
    required: bool = True


_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_SCORE: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}

_FIELDS = (
    _Field(
        "spam_score",
        _SCORE,
        "REASONING STEP 1, validity. How far is this from a request that {product} should serve? "
        "0.0-0.2 it clearly belongs here; 0.3-0.5 it belongs in part, or could be read either way; "
        "0.6-0.8 it most likely belongs elsewhere; 0.9-1.0 advertising, gibberish or abuse.",
    ),
    _Field(
        "spam_reason",
        _TEXT,
        "REASONING STEP 1b, grounds. In 10 to 20 words of {language}: below 0.5 what makes the request relevant, from "
        "0.5 on what is wrong with it.",
    ),
    _Field(
        "user_intent",
        _TEXT,
        "REASONING STEP 2, intent. What does the user want to have in the end, and what for? One or two sentences of "
        "{language}, under 45 words, as you would put it to a colleague.",
    ),
    _Field("topic", _TEXT, "REASONING STEP 2b, topic. Name it in 2 to 5 words of {language}.", required=False),
    _Field(
        "category",
        _TEXT,
        "REASONING STEP 2c, category. One word: question, problem, how_to, request, feedback or general.",
        required=False,
    ),
    _Field(
        "subqueries",
        _TEXTS,
        "REASONING STEP 3, search. Up to 10 short queries in {language} that together cover the intent: names of "
        "features, technical terms, error messages, other words for the same thing. No two may ask for the same. "
        "Leave it empty if nothing has to be looked up.",
    ),
    _Field(
        "action_plan",
        _TEXTS,
        "REASONING STEP 4, steps. Up to 10 steps in {language} that lead to the answer, as orders to yourself: what to "
        "find out, how to judge it, what to do when it is not enough, how to put the answer together.",
        required=False,
    ),
    _Field(
        "intent_confidence",
        _SCORE,
        "REASONING STEP 5, confidence. How sure are you that the intent is right? 0.0-0.4 it is hard to tell what is "
        "meant; 0.5-0.7 mostly clear, with gaps; 0.8-1.0 clear.",
    ),
    _Field(
        "uncertainties",
        _TEXTS,
        "REASONING STEP 5b, gaps. If you are less sure than 0.7, up to 5 things in {language} that are missing or can "
        "be read in two ways. Otherwise leave it empty.",
        required=False,
    ),
    _Field(
        "action",
        {"type": "string", "enum": [action.value for action in Action]},
        "REASONING STEP 6, route. 'block' for a spam_score of 0.7 or more; 'clarify' for less than that with an "
        "intent_confidence under 0.6; 'guardian_block' if a guardian_assessment in this conversation calls for it; "
        "'normal' for everything else.",
    ),
    _Field(
        "clarification_question",
        {"type": ["string", "null"]},
        "REASONING STEP 7, question. Only with 'clarify': the one question, polite and in {language}, whose answer "
        "would help most. Otherwise null.",
        required=False,
    ),
)


def tool_description() -> str:
    return _PURPOSE


@lru_cache(maxsize=64)
def tool_schema(language: str = "en", product_name: str = "Preceptor") -> dict[str, Any]:
    """The parameters of `analyse_user_request`. No limits of length: a plan that is too long is cut, not refused."""
    spoken = LANGUAGES.get(language, language)

    def described(field: _Field) -> dict[str, Any]:
        guidance = field.guidance.replace("{language}", spoken).replace("{product}", product_name)
        return {**field.shape, "description": guidance}

    return {
        "title": "SGRPlanResult",
        "description": _PURPOSE,
        "type": "object",
        "properties": {field.name: described(field) for field in _FIELDS},
        "required": [field.name for field in _FIELDS if field.required],
        "additionalProperties": False,
    }


def as_written(plan: Plan) -> str:
    """A plan in the shape in which models write it, of what was read of it: harmless and short."""
    return msgspec.json.encode({field.name: getattr(plan, field.name) for field in _FIELDS}).decode()


def answer_as_json(schema: dict[str, Any]) -> str:
    """For a model that can call no tools: the same, asked for as text."""
    return (
        f"{_PURPOSE} Answer with one JSON object of this schema, and write nothing else:\n"
        f"{msgspec.json.encode(schema).decode()}"
    )


def ask_again(reasons: tuple[str, ...]) -> str:
    """What a model is told, once, when its plan could not be read."""
    return (
        f"Your plan could not be read. {' '.join(reasons)} "
        f"Call {TOOL_NAME} exactly once more, with every required field, and write nothing else."
    )
