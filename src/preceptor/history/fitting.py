"""Fitting: plan, ask for the summaries that are wanted, plan again. The summariser may be waited for or not."""

from collections.abc import Awaitable, Callable, Generator, Sequence
from inspect import isawaitable
from typing import Generic, cast

import msgspec

from preceptor.domain.errors import Invalid
from preceptor.domain.history.errors import CompressionFailed
from preceptor.domain.history.limits import (
    MIN_MESSAGES_FOR_COMPRESSION,
    Costs,
    Limits,
    OnFailure,
    OnInsufficient,
)
from preceptor.domain.history.limits import validate_compression as enough_for
from preceptor.domain.history.outline import Span, outline
from preceptor.domain.history.plan import Cut, plan
from preceptor.domain.history.segment import NOTHING_YET, Segment, State, basis_of, learned, segment_of
from preceptor.domain.history.strategy import FromLastNMessages, Strategy
from preceptor.domain.history.summary import SummaryRequest, name_of, request_of, summary_text
from preceptor.domain.history.tape import ArrayTape
from preceptor.domain.history.view import LeftOut
from preceptor.domain.ids import MessageId
from preceptor.domain.messages.message import Role
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.history.forms import Count, Form, Given, form_of

Summarise = Callable[[SummaryRequest], str]
SummariseAsync = Callable[[SummaryRequest], Awaitable[str]]


class Fitted(msgspec.Struct, Generic[Given], frozen=True):
    """What is left, and what became of the rest. `state` makes the next fit keep the same beginning."""

    messages: list[Given]
    tokens: int
    left_out: tuple[LeftOut, ...]
    cut: Cut
    state: State
    summaries: dict[MessageId, Given]
    """Every summary so far by its id: hand it back together with `state`."""


def fit(
    messages: Sequence[Given],
    parameters: RequestParameters | Limits,
    count: Count | None = None,
    summarise: Summarise | None = None,
    previous: Fitted[Given] | None = None,
) -> Fitted[Given]:
    """The messages within the limits. `count` is needed for `max_tokens`, `summarise` for a strategy.

    `Limits` instead of parameters take a strategy of your own as well. `previous` is what the last call returned for
    the same list, which has only grown since: the beginning then stays as it was while it can, and no summary is
    written twice.
    """
    steps = _steps(messages, _limits(parameters), count, previous, can_summarise=summarise is not None)
    answer: object = None
    while True:
        try:
            request = steps.send(answer)
        except StopIteration as done:
            return done.value
        try:
            answer = cast("Summarise", summarise)(request)
        except Exception as error:  # noqa: BLE001 - whatever it was, it is told as the failure of a summary
            answer = error


async def fit_async(
    messages: Sequence[Given],
    parameters: RequestParameters | Limits,
    count: Count | None = None,
    summarise: SummariseAsync | None = None,
    previous: Fitted[Given] | None = None,
) -> Fitted[Given]:
    """As `fit`, with a summariser that has to be waited for."""
    return await _waited(
        _steps(messages, _limits(parameters), count, previous, can_summarise=summarise is not None), summarise
    )


async def compress(
    messages: Sequence[Given], strategy: Strategy, summarise: SummariseAsync, count: Count | None = None
) -> Fitted[Given]:
    """Have the strategy carried out now. Too little history raises `InsufficientHistory`.

    Calls at the end that wait for their answers stay where they are, and no summariser reads them.
    """
    limits = Limits(strategy=strategy, on_insufficient=OnInsufficient.RAISE, batch=1)
    form = form_of(messages)
    settled = _settled(form, messages)
    fitted = await _waited(_steps(messages[:settled], limits, count, None, can_summarise=True), summarise)
    waiting = messages[settled:]
    tokens = sum(form.entry(message, seq, count).tokens for seq, message in enumerate(waiting, settled))
    return msgspec.structs.replace(fitted, messages=[*fitted.messages, *waiting], tokens=fitted.tokens + tokens)


def _settled(form: Form[Given], messages: Sequence[Given]) -> int:
    """Where calls begin that have not all been answered yet; the end, if there are none."""
    answered = set[str]()
    for at in range(len(messages) - 1, -1, -1):
        entry = form.entry(messages[at], at, None)
        if not entry.results:
            return len(messages) if answered.issuperset(entry.calls) else at
        answered.update(entry.results)
    return len(messages)


async def _waited(steps: "Steps[Given]", summarise: SummariseAsync | None) -> Fitted[Given]:
    answer: object = None
    while True:
        try:
            request = steps.send(answer)
        except StopIteration as done:
            return done.value
        try:
            answer = await cast("SummariseAsync", summarise)(request)
        except Exception as error:  # noqa: BLE001 - whatever it was, it is told as the failure of a summary
            answer = error


def validate_compression(strategy: Strategy | None, messages: Sequence[Given]) -> None:
    """Raise `InsufficientHistory` when there is too little for this strategy. One that keeps at least as many messages
    as there are has nothing to do, which is no fault.
    """
    if strategy is None:
        return
    form = form_of(messages)
    entries = [form.entry(message, seq, None) for seq, message in enumerate(messages)]
    said = sum(entry.counts for entry in entries)
    keeps_all = isinstance(strategy, FromLastNMessages) and strategy.n >= said
    if said < MIN_MESSAGES_FOR_COMPRESSION or not keeps_all:
        enough_for(outline(strategy, entries), said)


def _limits(parameters: RequestParameters | Limits) -> Limits:
    return parameters if isinstance(parameters, Limits) else parameters.limits


Steps = Generator[SummaryRequest, object, Fitted[Given]]


def _steps(
    messages: Sequence[Given],
    limits: Limits,
    count: Count | None,
    previous: Fitted[Given] | None,
    *,
    can_summarise: bool,
) -> Steps[Given]:
    if limits.max_tokens is not None and count is None:
        raise Invalid("maxTokens needs a way to count tokens. Pass `count`, such as your model's tokenizer.")
    if limits.strategy is not None and not can_summarise:
        raise Invalid("A compression strategy needs a summariser. Pass `summarise`, which calls your model.")
    form = form_of(messages)
    state = previous.state if previous else NOTHING_YET
    summaries: dict[MessageId, Given] = dict(previous.summaries) if previous else {}
    tape = ArrayTape(form.entry(message, seq, count) for seq, message in enumerate(messages))
    costs = Costs(system=sum(entry.tokens for entry in tape[0 : len(tape)] if entry.role is Role.SYSTEM))
    cut = plan(tape, limits, costs, state)
    while cut.spans and limits.strategy is not None:
        new, failed = yield from _summarised(form, messages, cut.spans, limits, count, summaries)
        limits = msgspec.structs.replace(limits, summarise=not failed)
        state = learned(state, new)
        cut = plan(tape, limits, costs, state)
    shown = [
        form.shown(summaries.get(entry.id, messages[entry.seq]), entry.seq, cut.view.altered.get(entry.seq))
        for entry in cut.kept
    ]
    return Fitted(shown, cut.view.tokens, cut.left_out, cut, cut.state, summaries)


def _summarised(
    form: Form[Given],
    messages: Sequence[Given],
    spans: Sequence[Span],
    limits: Limits,
    count: Count | None,
    summaries: dict[MessageId, Given],
) -> Generator[SummaryRequest, object, tuple[list[Segment], bool]]:
    """The summaries of these spans, as far as they could be had, and whether one could not."""
    strategy = cast("Strategy", limits.strategy)
    new: list[Segment] = []
    for span in spans:
        request = request_of(strategy, [form.message(messages[entry.seq], entry.seq) for entry in span.entries])
        answer = yield request
        try:
            text = _said(strategy, request, answer)
        except CompressionFailed:
            if limits.on_failure is OnFailure.RAISE:
                raise
            return new, True
        id_ = MessageId(f"summary-{request.key[:24]}")
        summaries[id_] = form.summary(text, request, id_, count(text) if count else 0)
        entry = msgspec.structs.replace(form.entry(summaries[id_], span.seq, count), id=id_)
        new.append(segment_of(span, entry, basis_of(strategy, "")))
    return new, False


def _said(strategy: Strategy, request: SummaryRequest, answer: object) -> str:
    if isinstance(answer, CompressionFailed):
        raise answer
    if isinstance(answer, Exception):
        raise CompressionFailed(name_of(strategy), answer) from answer
    if not isinstance(answer, str):
        kind = "something to be awaited, which is for fit_async" if isawaitable(answer) else type(answer).__name__
        raise CompressionFailed(name_of(strategy), f"the summariser answered with {kind}, not with text")
    return summary_text(strategy, request, answer)
