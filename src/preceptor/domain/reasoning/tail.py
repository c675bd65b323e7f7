"""The engine's closing words of a request: after the history, so that what never changes stays cached before them."""

from preceptor.domain.reasoning.neutral import all_neutral
from preceptor.domain.reasoning.plan import Plan
from preceptor.domain.reasoning.schema import LANGUAGES
from preceptor.domain.reasoning.synthesis import format_numbered
from preceptor.domain.reasoning.verdict import Judged, Level, Verdict

_GUIDANCE = {
    Level.UNSAFE: (
        "If you are planning, the action should be guardian_block. If you are answering, help with nothing unsafe."
    ),
    Level.CONTROVERSIAL: (
        "If you are planning, consider guardian_block or clarify. If you are answering, be careful and leave out what "
        "could do harm."
    ),
}


def guardian_assessment(judged: Judged | None) -> str | None:
    """What the guardian thinks of the user's message, for planning and for answering. Nothing when it is Safe."""
    match judged:
        case Verdict(level=Level.CONTROVERSIAL | Level.UNSAFE as level, categories=categories):
            return (
                "<guardian_assessment>\n"
                "A safety check has judged the user's last message.\n"
                f"- Risk level: {level}\n"
                f"- Categories: {', '.join(all_neutral(categories)) or 'none named'}\n"
                f"- Guidance: {_GUIDANCE[level]}\n"
                "</guardian_assessment>"
            )
        case _:
            return None


def turn_directive(plan: Plan, language: str = "en") -> str:
    """The order to go on. It ends the request, because a model that reads its own words last thinks that it is done."""
    lines = ["<turn_directive>", "The analysis above is yours. Now carry it out and answer the user's last message."]
    if plan.user_intent:
        lines.append(f"What the user wants: {plan.user_intent}")
    if plan.action_plan:
        lines += ["Take these steps:", format_numbered(plan.action_plan)]
    lines += [
        "Use your tools where they help. Do not repeat the analysis and do not mention it or this note.",
        f"Answer in {LANGUAGES.get(language, language)} unless the user writes in another language.",
        "</turn_directive>",
    ]
    return "\n".join(lines)
