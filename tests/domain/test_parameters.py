from typing import Any

import pytest
from pydantic import ValidationError

from preceptor.domain.history.errors import InvalidHistorySize
from preceptor.domain.history.limits import CompressWhen
from preceptor.domain.history.strategy import Chunked, WholeHistory
from preceptor.domain.prompts.parameters import RequestParameters
from tests.requirements import covers

EVERYTHING: dict[str, Any] = {
    "temperature": 0.5,
    "maxCompletionTokens": 100,
    "topP": 0.9,
    "topK": 40,
    "frequencyPenalty": 0.1,
    "presencePenalty": -0.1,
    "responseFormat": {"type": "json_object"},
    "stop": ["END"],
    "seed": 7,
    "user": "ann",
    "parallelToolCalls": False,
    "customHeaders": {"X-Trace": "1"},
    "compressionStrategy": {"type": "chunked", "chunkSize": 5},
    "maxHistorySize": 20,
    "maxTokens": 50_000,
    "enableTokenCaching": False,
    "compressWhen": "over_budget",
    "lowWater": 0.75,
    "onFailure": "trim",
    "onInsufficient": "raise",
    "extra": {"logitBias": {"50256": -100}},
}


@covers("R46", "R47", "R63")
def test_all_parameters_are_optional_and_survive_json():
    parameters = RequestParameters.model_validate(EVERYTHING)
    assert parameters.model_dump(mode="json") == EVERYTHING
    assert parameters.compression_strategy == Chunked(chunk_size=5)
    nothing = RequestParameters()
    assert nothing.model_dump(exclude_unset=True) == {}
    assert (nothing.enable_token_caching, nothing.compress_when) == (True, CompressWhen.ALWAYS)
    with pytest.raises(ValidationError):
        nothing.temperature = 1


@covers("R46")
def test_what_is_asked_of_the_model_is_the_twelve_and_whatever_else():
    sampling = RequestParameters.model_validate(EVERYTHING).sampling
    assert (sampling.temperature, sampling.max_completion_tokens, sampling.top_p, sampling.top_k) == (0.5, 100, 0.9, 40)
    assert (sampling.frequency_penalty, sampling.presence_penalty, sampling.seed) == (0.1, -0.1, 7)
    assert (sampling.response_format, sampling.stop, sampling.user) == ({"type": "json_object"}, ("END",), "ann")
    assert (sampling.parallel_tool_calls, sampling.custom_headers) == (False, {"X-Trace": "1"})
    assert sampling.extra == {"logitBias": {"50256": -100}}


def test_a_narrower_scope_speaks_first_and_null_is_something_said():
    agent = RequestParameters(temperature=0.1, top_p=0.5, compression_strategy=WholeHistory(), max_tokens=9)
    conversation = RequestParameters(temperature=0.2, max_history_size=3)
    message = RequestParameters(compression_strategy=None)
    merged = message.over(conversation.over(agent))
    assert (merged.temperature, merged.top_p, merged.max_history_size, merged.max_tokens) == (0.2, 0.5, 3, 9)
    assert merged.compression_strategy is None
    assert merged.over(None) == merged
    limits = conversation.over(agent).limits
    assert (limits.strategy, limits.max_tokens, limits.max_history_size) == (WholeHistory(), 9, 3)


@covers("R70")
def test_history_is_managed_only_when_a_strategy_or_a_limit_is_set():
    assert not RequestParameters(temperature=1, compress_when=CompressWhen.OVER_BUDGET).requires_history_management()
    for asked in ({"maxTokens": 1}, {"maxHistorySize": 1}, {"compressionStrategy": {"type": "whole_history"}}):
        assert RequestParameters.model_validate(asked).requires_history_management()


def test_the_cap_has_a_second_name_that_nobody_confuses_with_the_answer():
    for name in ("maxPromptTokens", "max_prompt_tokens"):
        assert RequestParameters.model_validate({name: 5}) == RequestParameters(max_tokens=5)
    with pytest.raises(ValidationError, match="maxPromptTokens"):
        RequestParameters.model_validate({"maxPromptTokens": 5, "maxTokens": 5})


@covers("R53")
def test_a_history_of_nothing_is_refused_at_once():
    with pytest.raises(InvalidHistorySize):
        RequestParameters(max_history_size=0)


WRONG: dict[str, dict[str, Any]] = {
    "hotter than hot": {"temperature": 2.1},
    "no answer": {"maxCompletionTokens": 0},
    "an unknown field": {"maxSteps": 3},
    "more than all": {"topP": 1.1},
    "no number": {"temperature": float("nan")},
    "someone else's key": {"customHeaders": {"Authorization": "Bearer x"}},
    "a header in a header": {"customHeaders": {"X-A": "1\r\nX-B: 2"}},
    "a header without a name": {"customHeaders": {"": "1"}},
    "an empty stop": {"stop": [""]},
    "water above the cap": {"lowWater": 1.5},
    "no water": {"lowWater": 0},
    "other messages": {"extra": {"messages": []}},
}


@pytest.mark.parametrize("written", WRONG.values(), ids=WRONG.keys())
def test_parameters_that_cannot_be_are_refused(written: dict[str, Any]):
    with pytest.raises(ValidationError):
        RequestParameters.model_validate(written)
