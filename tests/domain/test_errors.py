import pickle
from collections.abc import Callable

import pytest

from preceptor.domain.errors import NotFound, Unavailable
from preceptor.domain.history.errors import InvalidHistorySize, InvalidTokenLimit
from preceptor.domain.prompts.reply import Fault, ModelTimeout


def test_facts_are_given_in_order_or_by_name_and_the_rest_is_as_declared():
    assert repr(NotFound("agent", id="a1")) == "NotFound(what='agent', id='a1')"
    late = Unavailable(retry_after=5)
    assert (late.sentence, late.retry_after) == (Unavailable.sentence, 5)
    assert str(ModelTimeout(Fault.TIMEOUT, "Too late.")) == "Too late."


def test_a_fact_can_be_left_to_the_kind():
    assert InvalidTokenLimit.facts == ("system_prompt_tokens", "max_tokens")
    assert (InvalidTokenLimit(9, 5).sentence, InvalidHistorySize(max_history_size=0).minimum) == ("", 1)


@pytest.mark.parametrize(
    "made",
    [
        lambda: NotFound("agent"),  # pyright: ignore[reportCallIssue]
        lambda: NotFound("agent", "a1", "more"),  # pyright: ignore[reportCallIssue]
        lambda: NotFound("agent", "a1", id="a2"),  # pyright: ignore[reportCallIssue]
        lambda: NotFound("agent", "a1", why="x"),  # pyright: ignore[reportCallIssue]
    ],
)
def test_a_fact_too_few_or_too_many_is_a_mistake(made: Callable[[], NotFound]):
    with pytest.raises(TypeError, match="NotFound takes"):
        made()


def test_a_failure_keeps_its_facts_when_it_is_stored():
    for failure in (NotFound("agent", "a1"), InvalidTokenLimit(9, 5), Unavailable()):
        again = pickle.loads(pickle.dumps(failure))
        assert (type(again), vars(again), str(again)) == (type(failure), vars(failure), str(failure))
