"""`preceptor.history` as its users call it: on plain lists of messages, without a store."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from preceptor.domain.errors import Invalid
from preceptor.domain.messages.message import Kind
from preceptor.history import (
    Choice,
    Chunked,
    CompressionFailed,
    Concept,
    Entry,
    FactsTLDR,
    FromLastNMessages,
    FromTimestamp,
    InsufficientHistory,
    InvalidTokenLimit,
    Limits,
    OnFailure,
    RequestParameters,
    SummaryRequest,
    TokenBudgetExceeded,
    WholeHistory,
    compress,
    fit,
    fit_async,
    history_processor,
    validate_compression,
)
from tests.domain.histories import count, said
from tests.requirements import covers

Dicts = list[dict[str, Any]]
EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("history*.py"))


def chat(exchanges: int, system: str = "You are kind.") -> Dicts:
    messages: Dicts = [{"role": "system", "content": system}]
    for number in range(exchanges):
        messages.append({"role": "user", "content": f"Question {number}?"})
        messages.append({"role": "assistant", "content": f"Answer {number}."})
    return [*messages, {"role": "user", "content": f"Question {exchanges}?"}]


def contents(messages: Dicts) -> list[str]:
    return [message["content"] for message in messages]


def shortly(request: SummaryRequest) -> str:
    return f"They spoke of {len(request.sources)} things."


async def slowly(request: SummaryRequest) -> str:
    return shortly(request)


@covers("R48")
def test_the_newest_messages_stay_and_the_very_objects_come_back():
    messages = chat(20)
    fitted = fit(messages, RequestParameters(max_history_size=5))
    assert contents(fitted.messages) == ["You are kind.", *contents(messages)[-5:]]
    assert all(any(one is given for given in messages) for one in fitted.messages)
    assert [(one.count, one.reason) for one in fitted.left_out] == [(36, "max_history_size")]


@covers("R49", "R52")
def test_a_prompt_stays_within_its_tokens_or_the_caller_is_told_what_it_needs():
    messages = chat(20)
    fitted = fit(messages, RequestParameters(max_tokens=60, low_water=1), count)
    assert fitted.tokens == sum(count(content) for content in contents(fitted.messages)) <= 60
    assert contents(fitted.messages)[-1] == "Question 20?"
    with pytest.raises(InvalidTokenLimit, match=r"maxTokens \(3\) must be >= system prompt tokens \(4\)"):
        fit(messages, RequestParameters(max_tokens=3), count)
    with pytest.raises(TokenBudgetExceeded) as refused:
        fit(messages, RequestParameters(max_tokens=4), count)
    assert (refused.value.required, refused.value.max_tokens) == (7, 4)
    with pytest.raises(Invalid, match="Pass `count`"):
        fit(messages, RequestParameters(max_tokens=60))


@covers("R57", "R61")
def test_older_messages_become_one_summary_behind_the_first_question():
    messages = chat(10)
    asked = RequestParameters(compression_strategy=FromLastNMessages(n=4))
    fitted = fit(messages, asked, count, shortly)
    assert contents(fitted.messages) == [
        "You are kind.",
        "Question 0?",
        "[Summary of 16 earlier messages]\nThey spoke of 16 things.",
        *contents(messages)[-4:],
    ]
    assert contents(fit(fitted.messages, asked, count, shortly).messages) == contents(fitted.messages)
    with pytest.raises(Invalid, match="Pass `summarise`"):
        fit(messages, asked, count)


def test_a_conversation_that_grows_asks_for_few_summaries_and_keeps_its_beginning():
    messages, previous, requests = chat(10), None, list[SummaryRequest]()

    def noted(request: SummaryRequest) -> str:
        requests.append(request)
        return shortly(request)

    beginnings: list[list[str]] = []
    for number in range(10, 14):
        fitted = fit(messages, RequestParameters(compression_strategy=FromLastNMessages(n=4)), count, noted, previous)
        previous = fitted
        beginnings.append(contents(fitted.messages)[:3])
        messages += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": f"Question {number + 1}?"}]
    assert [len(request.sources) for request in requests] == [16, 4]
    assert beginnings[0] == beginnings[-1]


async def test_a_summariser_can_be_waited_for():
    asked = RequestParameters(compression_strategy=WholeHistory())
    fitted = await fit_async(chat(6), asked, count, slowly)
    assert contents(fitted.messages)[-2:] == [
        "[Summary of 11 earlier messages]\nThey spoke of 11 things.",
        "Question 6?",
    ]


@covers("R54", "R77")
async def test_too_little_history_is_skipped_by_fit_and_refused_by_compress():
    few = chat(1)
    assert fit(few, RequestParameters(compression_strategy=WholeHistory()), count, shortly).messages == few
    for attempt in (lambda: compress(few, WholeHistory(), slowly), None):
        with pytest.raises(InsufficientHistory, match=r"Insufficient history: 3 messages \(minimum 10 required\)"):
            await attempt() if attempt else validate_compression(WholeHistory(), few)
    validate_compression(None, few)


@covers("R54", "R77")
@pytest.mark.parametrize(
    ("said", "n", "minimum"), [(9, 8, 10), (9, 15, 10), (18, 16, None), (18, 17, 19), (18, 18, None), (18, 20, None)]
)
async def test_a_strategy_that_keeps_all_there_is_has_nothing_to_complain_of(said: int, n: int, minimum: int | None):
    messages, strategy = chat(9)[1 : said + 1], FromLastNMessages(n)
    if minimum is None:
        validate_compression(strategy, messages)
        fitted = await compress(messages, strategy, slowly)
        assert (fitted.messages == messages) is (n >= said)
        return
    with pytest.raises(InsufficientHistory) as refused:
        validate_compression(strategy, messages)
    assert (refused.value.message_count, refused.value.minimum) == (said, minimum)


FAULTS: dict[str, Exception | str] = {
    "connection": ConnectionError("Connection timeout"),
    "refused": ConnectionRefusedError("refused"),
    "reset": ConnectionResetError(),
    "timeout": TimeoutError(),
    "value": ValueError("invalid message format"),
    "key": KeyError("choices"),
    "type": TypeError("NoneType"),
    "runtime": RuntimeError("the model is overloaded"),
    "memory": MemoryError(),
    "unicode": UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
    "silence": "",
    "spaces": " \n ",
}


@covers("R66", "R78")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_summariser_that_fails_loses_nothing(fault: Exception | str):
    messages = chat(10)
    before = [dict(message) for message in messages]

    async def failing(request: SummaryRequest) -> str:
        if isinstance(fault, Exception):
            raise fault
        return fault

    with pytest.raises(CompressionFailed) as refused:
        await compress(messages, FromLastNMessages(n=4), failing)
    assert refused.value.strategy == "FromLastNMessages(n=4)"
    assert str(refused.value).startswith("Compression failed with strategy FromLastNMessages(n=4): ")
    assert not isinstance(fault, Exception) or refused.value.cause is fault is refused.value.__cause__
    asked = RequestParameters(compression_strategy=FromLastNMessages(n=4), on_failure=OnFailure.TRIM, max_tokens=60)
    trimmed = await fit_async(messages, asked, count, failing)
    assert trimmed.tokens <= 60
    assert [skip.why for skip in trimmed.cut.skipped] == ["compression_failed"]
    assert messages == before


@covers("R62")
def test_anyone_can_bring_a_strategy_of_their_own():
    class OnlyAnswers:
        """Summarises the answers, and keeps every question."""

        type = "answers"
        template = "summary@1.0.0"

        def compress(self, entries: Any, free: Any) -> Choice:
            answers = tuple(at for at in free if entries[at].role == "assistant")
            return Choice((answers,))

    messages = chat(6)
    fitted = fit(messages, Limits(strategy=OnlyAnswers()), count, shortly)
    questions = [f"Question {number}?" for number in range(7)]
    summary = "[Summary of 6 earlier messages]\nThey spoke of 6 things."
    assert contents(fitted.messages) == ["You are kind.", *questions[:6], summary, questions[6]]
    OnlyAnswers.template = "tldr"
    with pytest.raises(Invalid, match=r"The template 'tldr' of a strategy is none of summary@1\.0\.0, facts@1\.0\.0\."):
        fit(messages, Limits(strategy=OnlyAnswers()), count, shortly)


async def test_facts_take_the_place_of_what_was_said():
    strategy = FactsTLDR(concepts=(Concept(name="order", description="Numbers of orders."),))

    async def found(request: SummaryRequest) -> str:
        assert "- order: Numbers of orders." in request.system
        return 'Here: {"order": ["1042 is late"], "mood": ["angry"]}'

    fitted = await compress(chat(6), strategy, found)
    assert contents(fitted.messages)[2] == "[Summary of 11 earlier messages]\norder: 1042 is late"

    async def chatty(request: SummaryRequest) -> str:
        return "I found nothing."

    with pytest.raises(CompressionFailed, match="facts as JSON"):
        await compress(chat(6), strategy, chatty)


@covers("R192")
def test_a_call_and_its_answers_are_never_parted():
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "find"}}]}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "row " * 300}
    messages = [*chat(4), call, answer, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "And?"}]
    for size in range(1, 8):
        kept = fit(messages, RequestParameters(max_history_size=size)).messages
        assert (call in kept) == (answer in kept)
        assert kept[1]["role"] == "user"
    shorter = fit(messages, RequestParameters(max_tokens=120), count).messages
    assert "[This answer of 1200 characters is left out here.]" in contents(shorter)


def called(*names: str) -> dict[str, Any]:
    calls = [{"id": f"c-{name}", "type": "function", "function": {"name": name, "arguments": "{}"}} for name in names]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def answered(name: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c-{name}", "content": "Yes."}


@covers("R192")
async def test_calls_that_wait_for_their_answers_survive_a_compression_and_are_not_summarised():
    begun = [called("find", "count"), answered("find")]
    fitted = await compress([*chat(6), *begun], WholeHistory(), slowly, count)
    assert fitted.messages[-2:] == begun
    assert contents(fitted.messages)[-4:-2] == [
        "[Summary of 11 earlier messages]\nThey spoke of 11 things.",
        "Question 6?",
    ]
    whole = await compress([*chat(6), *begun, answered("count")], WholeHistory(), slowly, count)
    assert whole.messages[-3:] == [*begun, answered("count")]


def test_a_summariser_is_told_which_tool_gave_which_answer():
    told: list[str] = []
    messages = [*chat(5), called("find", "count"), answered("find"), answered("count"), *chat(1)[1:]]
    asked = RequestParameters(compression_strategy=WholeHistory())
    fit(messages, asked, summarise=lambda request: told.append(request.transcript) or "They worked.")
    assert '<answer tool="find" outcome="ok">' in told[0]
    assert '<answer tool="count" outcome="ok">' in told[0]


class Later:
    """Something that is to be awaited, and that nobody misses."""

    def __await__(self) -> Iterator[None]:
        yield


@covers("R66")
@pytest.mark.parametrize(("answer", "kind"), [(None, "NoneType"), (Later(), "to be awaited, which is for fit_async")])
def test_an_answer_of_a_summariser_that_is_no_text_is_a_failure_that_says_so(answer: Any, kind: str):
    def odd(request: SummaryRequest) -> str:
        return answer

    with pytest.raises(CompressionFailed, match=kind):
        fit(chat(6), RequestParameters(compression_strategy=WholeHistory()), count, odd)


async def test_chunks_and_moments_work_on_plain_messages():
    chunked = await compress(chat(6), Chunked(chunk_size=5), slowly)
    assert [content.split("\n")[0] for content in contents(chunked.messages)] == [
        "You are kind.",
        "Question 0?",
        "[Summary of 5 earlier messages]",
        "[Summary of 5 earlier messages]",
        "Answer 5.",
        "Question 6?",
    ]
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    timed = [message | {"created_at": noon + timedelta(minutes=at)} for at, message in enumerate(chat(6))]
    recent = await compress(timed, FromTimestamp(timestamp=noon + timedelta(minutes=11)), slowly)
    assert contents(recent.messages)[3:] == ["Question 5?", "Answer 5.", "Question 6?"]
    written = [message | {"created_at": message["created_at"].isoformat()} for message in timed]
    again = await compress(written, FromTimestamp(timestamp=noon + timedelta(minutes=11)), slowly)
    assert contents(again.messages) == contents(recent.messages)


@pytest.mark.parametrize("at", ["yesterday", "", 1e20, float("nan"), float("inf")])
def test_what_is_no_moment_is_refused_in_a_sentence(at: object):
    with pytest.raises(Invalid, match=r"^created_at is .*, which is no moment\. Give "):
        fit([message | {"created_at": at} for message in chat(6)], Limits(max_history_size=3))


async def test_our_own_messages_can_be_fitted_too():
    talk = said(8)
    fitted = await compress(talk.messages, FromLastNMessages(n=3), slowly, count)
    assert [message.id for message in fitted.messages if message.kind is not Kind.SUMMARY] == [
        "m0",
        "m14",
        "m15",
        "m16",
    ]
    (summary,) = fitted.summaries.values()
    assert summary.sources == tuple(f"m{number}" for number in range(1, 14))


async def test_pydantic_ai_can_use_it_as_a_history_processor():
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import ProcessHistory
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    seen: list[list[ModelMessage]] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(messages)
        return ModelResponse(parts=[TextPart("Fine.")])

    asked = RequestParameters(compression_strategy=FromLastNMessages(n=3))
    keep_short = history_processor(asked, count, slowly)
    agent = Agent(FunctionModel(model), capabilities=[ProcessHistory(keep_short)])
    history: list[ModelMessage] = []
    for number in range(8):
        history = (await agent.run(f"Question {number}?", message_history=history)).all_messages()
    texts = [getattr(part, "content", "") for message in seen[-1] for part in message.parts]
    assert texts[0] == "Question 0?"
    assert texts[1].startswith("[Summary of ")
    assert texts[-3:] == ["Question 6?", "Fine.", "Question 7?"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_run(example: Path):
    ran = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Summary of" in ran.stdout


def test_an_entry_knows_nothing_of_what_was_said():
    assert not {"text", "content", "parts"} & set(Entry.__struct_fields__)
