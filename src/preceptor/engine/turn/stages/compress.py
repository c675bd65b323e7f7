"""Compress: have older messages summarised before anything is answered. Nothing that was said is changed or lost."""

from collections.abc import Iterable

import msgspec

from preceptor.domain.errors import Invalid
from preceptor.domain.history.errors import CompressionFailed, TokenBudgetExceeded
from preceptor.domain.history.limits import OnFailure
from preceptor.domain.history.strategy import Strategy
from preceptor.domain.history.summary import SummaryRequest, name_of, request_of, summary_message, summary_text
from preceptor.domain.ids import CallId, MessageId
from preceptor.domain.messages.message import Message
from preceptor.domain.prompts.placed import Placed, as_shown
from preceptor.domain.prompts.reply import ModelFailure, Reply
from preceptor.domain.turns.facts import Compressed, TurnStatus
from preceptor.domain.turns.step import Settle, ran_out
from preceptor.engine.history.fitting import Fit
from preceptor.engine.history.remembering import show
from preceptor.engine.history.summarising import fault_in, summary_call, summary_prompt, written_in
from preceptor.engine.ports import ChatModel
from preceptor.engine.turn.run import Run
from preceptor.engine.turn.stages.ask import pause_before, too_much
from preceptor.engine.turn.stages.fall_back import stand_in
from preceptor.engine.turn.stages.listen import hear
from preceptor.engine.turn.stages.moderate import unfit

TRIES = 2
"""Once, and once more if it might only have been a bad moment."""


class OverBudget(Exception):
    """The turn has not enough left for another summary."""


async def compress(run: Run) -> Settle | None:
    """Every summary that is wanted, each in a call of its own; what was written stays for later turns either way."""
    fit, failed = run.history.fit, None
    if fit is not None:
        try:
            await _summarise(run, fit)
        except OverBudget as exceeded:
            return _given_up(run, fit, "budget_exceeded", str(exceeded))
        except TokenBudgetExceeded as exceeded:
            return _given_up(run, fit, exceeded.code, str(exceeded))
        except CompressionFailed as failure:
            if fit.limits.on_failure is OnFailure.RAISE:
                return _given_up(run, fit, failure.code, str(failure))
            fit.trim()
            failed = str(failure)
        show(run.history)
        run.journal.fitted = run.history.fitted
    written = tuple(message.id for message in run.turn.summaries)
    run.journal.note("history.compressed", Compressed(summaries=written, failed=failed))
    return None


def _given_up(run: Run, fit: Fit, code: str, sentence: str) -> Settle:
    """The turn fails; the summaries that were written for it serve the next."""
    run.journal.fitted = fit.view_id, fit.state
    return Settle(TurnStatus.FAILED, code, sentence)


async def _summarise(run: Run, fit: Fit) -> None:
    while fit.cut.spans:
        for span in fit.cut.spans:
            said = [as_shown(fit.placed[entry.seq]) for entry in span.entries]
            fit.learn(span, await _summary(run, fit, said, _model(run, fit)))
        fit.again()


def _model(run: Run, fit: Fit) -> ChatModel:
    try:
        own = fit.summariser == run.pins.model
        return run.model_of(run.turn.main) if own else run.means.models.find(fit.summariser)
    except Invalid as gone:
        raise CompressionFailed(name_of(_strategy(fit)), gone) from gone


async def _summary(run: Run, fit: Fit, said: list[Placed], model: ChatModel) -> Message:
    """What stands for these messages; if it was written before the process died, that."""
    request = request_of(_strategy(fit), [each.message for each in said], fit.summariser)
    known = _written(run.turn.summaries, request)
    if known is not None:
        return known
    for attempt in range(1, TRIES + 1):
        try:
            return await _ask(run, fit, said, request, model, attempt)
        except ModelFailure as failure:
            if late := ran_out(run.turn, failure, run.seconds):
                raise OverBudget(late) from failure
            if not failure.retryable or attempt == TRIES:
                another = stand_in(run) if fit.summariser == run.pins.model else None
                if another is None:
                    raise CompressionFailed(name_of(_strategy(fit)), failure) from failure
                return await _summary(run, fit, said, another)
            await run.means.runner.pause(pause_before(run, attempt, failure.retry_after))
    raise AssertionError


async def _ask(
    run: Run, fit: Fit, said: list[Placed], request: SummaryRequest, model: ChatModel, attempt: int
) -> Message:
    prompt = summary_prompt(request.template, request.system, said, model, run.counter)
    if exceeded := too_much(run, prompt, model.capabilities):
        raise OverBudget(exceeded)
    made = summary_call(CallId(run.world.new_id()), prompt, model, attempt)
    run.journal.keep(made.kept.sha256, made.kept.body)
    run.journal.note("call.started", made.call)
    await run.journal.commit()
    reply = await hear(run, model, made.call, made.request, run.seconds_left)
    message = _message(run, _strategy(fit), request, reply, made.call.call_id)
    if wrong := await unfit(run, message.text):
        await run.journal.commit()
        raise CompressionFailed(name_of(_strategy(fit)), wrong)
    run.journal.note("summary.written", message)
    await run.journal.commit()
    return message


def _message(run: Run, strategy: Strategy, request: SummaryRequest, reply: Reply, call_id: CallId) -> Message:
    if wrong := fault_in(reply):
        raise CompressionFailed(name_of(strategy), wrong)
    text = summary_text(strategy, request, written_in(reply))
    message = summary_message(
        text,
        request,
        id_=MessageId(run.world.new_id()),
        conversation_id=run.journal.conversation_id,
        turn_id=run.turn.turn_id,
        tokens=run.counter.count(text),
        created_at=run.world.now(),
    )
    return msgspec.structs.replace(message, call_id=call_id, agent_id=run.pins.agent_id)


def _written(summaries: Iterable[Message], request: SummaryRequest) -> Message | None:
    return next((one for one in summaries if one.sources == request.sources), None)


def _strategy(fit: Fit) -> Strategy:
    assert fit.limits.strategy is not None
    return fit.limits.strategy
