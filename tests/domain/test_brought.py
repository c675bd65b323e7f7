"""Whatever a client says was said, models can be shown it: every call is answered, and nothing speaks as the system."""

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from preceptor.domain.ids import ConversationId, MessageId, TurnId
from preceptor.domain.messages.brought import NO_RESULT, Brought, open_calls, settled
from preceptor.domain.messages.message import (
    AnyPart,
    Kind,
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from tests.domain.histories import unpaired

IDS = st.sampled_from(["a", "b", "c"])
TEXT = st.builds(Text, st.text(min_size=1, max_size=5))
THINKING = st.builds(Thinking, st.text(max_size=5))
CALL = st.builds(ToolCall, IDS, st.just("look"), st.just(dict[str, Any]()))
RESULT = st.builds(ToolResult, IDS, st.just("look"), st.text(max_size=5))
SAID = st.one_of(
    st.builds(Brought, st.just(Role.USER), st.tuples(TEXT)),
    st.builds(Brought, st.just(Role.SYSTEM), st.tuples(TEXT)),
    st.builds(Brought, st.just(Role.ASSISTANT), st.tuples(TEXT) | st.tuples(THINKING) | st.just(())),
    st.builds(Brought, st.just(Role.ASSISTANT), st.lists(CALL, max_size=3, unique_by=lambda call: call.id).map(tuple)),
    st.builds(Brought, st.just(Role.TOOL), st.tuples(RESULT)),
)


def message(one: Brought) -> Message:
    return Message(
        id=MessageId("m"),
        conversation_id=ConversationId("c"),
        turn_id=TurnId("t"),
        role=one.role,
        kind=Kind.MESSAGE,
        parts=one.parts,
        instructions=(),
        tokens=0,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@given(st.lists(SAID, max_size=12), st.lists(CALL, max_size=2, unique_by=lambda call: call.id))
def test_every_call_has_its_results_right_after_it_and_every_result_its_call(
    said: list[Brought], waiting: list[ToolCall]
):
    told = settled(said, waiting)
    before = [Brought(Role.ASSISTANT, tuple(waiting))] if waiting else []
    shown = [message(one) for one in (*before, *told)]
    assert unpaired(shown) == ((), ())
    for one, after in pairwise([*shown, None]):
        assert one is not None
        if one.tool_calls:
            assert after is not None
            assert {result.tool_call_id for result in after.tool_results} == {call.id for call in one.tool_calls}
    assert open_calls(shown) == ()


@given(st.lists(SAID, max_size=12))
def test_nothing_a_client_brings_speaks_as_the_system_or_thinks_for_the_model(said: list[Brought]):
    for one in settled(said):
        assert one.role is not Role.SYSTEM
        assert one.parts
        assert not any(isinstance(part, Thinking) for part in one.parts)


@given(st.lists(SAID, max_size=12))
def test_no_word_that_was_said_is_lost(said: list[Brought]):
    def words(parts: tuple[AnyPart, ...]) -> list[str]:
        return [part.text for part in parts if isinstance(part, Text)]

    given_words = [word for one in said for word in words(one.parts)]
    told = [word for one in settled(said) for word in words(one.parts)]
    for word in given_words:
        assert any(spoken.endswith(word) for spoken in told)


def test_a_call_waits_until_it_is_answered_and_then_no_longer():
    call, other = ToolCall("a", "look", {}), ToolCall("b", "look", {})
    asked = message(Brought(Role.ASSISTANT, (call, other)))
    first = message(Brought(Role.TOOL, (ToolResult("a", "look", "seen"),)))
    assert open_calls([asked]) == (call, other)
    assert open_calls([asked, first]) == (other,)
    [answered] = settled([Brought(Role.TOOL, (ToolResult("b", "look", "too"),))], open_calls([asked, first]))
    assert [result.content for result in answered.results] == ["too"]
    [missing] = settled([], (other,))
    assert [result.content for result in missing.results] == [NO_RESULT]
