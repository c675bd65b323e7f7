"""W6: a plan from a model's JSON to what three readers are shown, beside the same by hand and bare validation alone.

The step by hand is what a careful programmer writes when every plan is good: validate with pydantic, three comparisons,
one `str.format`. Ours also reads malformed plans, makes every text harmless, keeps the rows that fired, and keeps three
outputs apart.
"""

# ruff: noqa: RUF001 - these letters are meant

import json
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from benchmarks.interleaved import Contender, compare
from preceptor.domain.reasoning.plan import Plan
from preceptor.domain.reasoning.reading import read_plan
from preceptor.domain.reasoning.routing import route
from preceptor.domain.reasoning.synthesis import Voice, synthesise

PLAN: dict[str, Any] = {
    "spam_score": 0.05,
    "spam_reason": "Вопрос о настройке прав доступа в продукте",
    "user_intent": "Настроить права роли на шаблон записи и понять, почему импорт заканчивается ошибкой",
    "topic": "Права доступа и импорт",
    "category": "problem",
    "subqueries": [
        "права роли на шаблон записи",
        "ошибка импорта роль",
        "импорт из внешнего источника",
        "журнал ошибок импорта",
        "проверка прав роли",
    ],
    "action_plan": [
        "найти статью о правах",
        "проверить права роли",
        "найти причины ошибки импорта",
        "сопоставить",
        "составить ответ",
    ],
    "intent_confidence": 0.86,
    "uncertainties": [],
    "action": "normal",
    "clarification_question": None,
}
RAW = json.dumps(PLAN, ensure_ascii=False)


class Choice(StrEnum):
    NORMAL = "normal"
    CLARIFY = "clarify"
    BLOCK = "block"
    GUARDIAN_BLOCK = "guardian_block"


class Written(BaseModel):
    spam_score: float = Field(ge=0, le=1)
    spam_reason: str = Field(max_length=150)
    user_intent: str = Field(max_length=300)
    topic: str = ""
    category: str = ""
    subqueries: list[str] = Field(min_length=1, max_length=10)
    action_plan: list[str] = Field(default_factory=list, max_length=10)
    intent_confidence: float = Field(ge=0, le=1)
    uncertainties: list[str] = Field(default_factory=list, max_length=5)
    action: Choice
    clarification_question: str | None = Field(default=None, max_length=300)


TEMPLATE = (
    "## Analysis\n**Topic**: {topic}\n**Intent**: {user_intent}\n**Category**: {category}\n"
    "**Validity**: Legitimate support request [spam_score: {spam_score}]\n**Confidence**: High ({intent_confidence})\n"
    "**Subqueries**: {subqueries}\n**Action Plan**:\n{action_plan}\n**Reason**: {spam_reason}\n**Action**: {action}\n\n"
    "## Response\n{response}"
)


class Step:
    def __init__(self, _: Path) -> None:
        """Nothing to prepare."""

    def run(self, count: int) -> None:
        for _ in range(count):
            self.once()

    def once(self) -> object:
        raise NotImplementedError

    def close(self) -> None: ...


class Validated(Step):
    def once(self) -> object:
        return Written.model_validate_json(RAW)


class ByHand(Step):
    def once(self) -> object:
        plan = Written.model_validate_json(RAW)
        action = "block" if plan.spam_score >= 0.7 else "clarify" if plan.intent_confidence < 0.6 else "normal"
        full = TEMPLATE.format(
            topic=plan.topic,
            user_intent=plan.user_intent,
            category=plan.category,
            spam_score=plan.spam_score,
            intent_confidence=plan.intent_confidence,
            subqueries=", ".join(plan.subqueries),
            action_plan="\n".join(f"{number}. {step}" for number, step in enumerate(plan.action_plan, 1)),
            spam_reason=plan.spam_reason,
            action=action,
            response="Уже занимаюсь этим.",
        )
        shown = f"**Как я понял ваш запрос:**\n\n{plan.user_intent}\n\n{full.rpartition('## Response')[2].strip()}"
        return {"role": "assistant", "content": full}, shown, {"sgr_plan": plan, "action": action}


class Ours(Step):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.voice = Voice("ru")

    def once(self) -> object:
        plan = read_plan(RAW)
        assert isinstance(plan, Plan)
        routed = route(plan, None)
        made = synthesise(plan, routed, None, self.voice, raw_plan=RAW)
        return made.for_model.full, made.for_user.markdown("ru"), made.for_record


def instructor(_: Path) -> Contender:
    """The framework alone, around a model that answers at once. Only where it is installed."""
    import asyncio

    import instructor as framework  # pyright: ignore[reportMissingImports]
    from openai.types.chat import ChatCompletion

    call = {"id": "c", "type": "function", "function": {"name": "Written", "arguments": RAW}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    answer = ChatCompletion.model_validate(
        {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    )

    async def create(**_: Any) -> ChatCompletion:
        return answer

    ask = framework.patch(create=create, mode=framework.Mode.TOOLS)
    loop = asyncio.new_event_loop()

    class Asked(Step):
        def once(self) -> object:
            messages = [{"role": "user", "content": "x"}]
            return loop.run_until_complete(ask(model="m", messages=messages, response_model=Written))

    return Asked(Path())


def main() -> list[str]:
    contenders: dict[str, Any] = {"by hand": ByHand, "pydantic alone": Validated, "preceptor": Ours}
    try:
        import instructor as _installed  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError:
        pass
    else:
        contenders["instructor"] = instructor
    found = compare(contenders, rounds=9, count=300 if "instructor" in contenders else 3_000)
    by_hand = found["by hand"]
    lines = [
        f"{name:<15} {figures.median('cpu') * 1e6:>7.1f} us of CPU  {figures.ratio(by_hand, 'cpu'):>7.2f}x by hand"
        for name, figures in found.items()
    ]
    return [*lines, "goal: preceptor at most 3x by hand"]


if __name__ == "__main__":
    print("\n".join(main()))
