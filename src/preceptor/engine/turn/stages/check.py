"""Check an answer against the validation rules of what the agent is told, before anyone has it."""

from preceptor.domain.instructions.content import Mode, ValidationRules
from preceptor.domain.messages.message import Message, Role, Text
from preceptor.domain.turns.carry_over import stays
from preceptor.domain.turns.checks import TEXTS, Checked, Checking, RuleReport
from preceptor.domain.turns.turn import Lane
from preceptor.engine.turn.run import Run


def rules_of(run: Run) -> ValidationRules | None:
    return ValidationRules.model_validate(run.pins.rules) if run.pins.rules else None


def may_be_kept_back(run: Run) -> bool:
    """Whether users see nothing of an answer while it is being written, because it may have to be written again."""
    rules = rules_of(run)
    return rules is not None and rules.mode is not Mode.REPORT


def kept_back(run: Run, lane: Lane, message: Message) -> bool:
    """Whether nobody gets this answer, because of the rules it breaks: it is asked for again, or the turn ends."""
    rules = rules_of(run)
    if rules is None or message.tool_calls or not is_final(run, lane):
        return False
    from preceptor.domain.instructions.check import check

    reports = tuple(RuleReport(one.rule, one.passed, one.detail) for one in check(message.text, rules))
    then = _then(run, rules.mode) if not all(one.passed for one in reports) else Checking.KEPT
    text = "" if then is Checking.KEPT else message.text
    run.journal.note("answer.checked", Checked(message_id=message.id, reports=reports, then=then, text=text))
    return then is not Checking.KEPT


def is_final(run: Run, lane: Lane) -> bool:
    """Whether the words of whoever speaks here are the answer: not where another specialist reads them first."""
    if lane.root is not None or any(span.mark_intermediate for span in lane.frames):
        return False
    return len(lane.frames) < 2 or stays(run.turn, lane)


def _then(run: Run, mode: Mode) -> Checking:
    """Once again and no more, and not where the turn has no call left for it."""
    match mode:
        case Mode.BLOCK:
            return Checking.BLOCKED
        case Mode.RETRY if run.turn.retried is None and not run.turn.final_call:
            return Checking.RETRIED
        case _:
            return Checking.KEPT


def say_that_it_was_kept_back(run: Run) -> None:
    text = TEXTS.say(run.pins.language, "kept_back")
    run.journal.note("message.completed", run.message(Role.ASSISTANT, (Text(text),), run.turn.main))
