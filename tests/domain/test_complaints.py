"""What users of other systems complained about in public, each as a behaviour of ours. The ids name where."""

from collections import Counter
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from preceptor.domain.history.errors import CompressionFailed
from preceptor.domain.history.limits import Costs, Limits
from preceptor.domain.history.outline import outline
from preceptor.domain.history.plan import plan
from preceptor.domain.history.proof import Duties, Proof
from preceptor.domain.history.segment import learned
from preceptor.domain.history.strategy import FromLastNMessages, Strategy, WholeHistory
from preceptor.domain.history.summary import request_of, summary_text
from preceptor.domain.history.view import Reason
from preceptor.domain.messages.message import Kind, Role, Text
from preceptor.history import RequestParameters, fit
from preceptor.wire.pydantic_ai_messages import to_pydantic_ai
from tests.domain.histories import NOON, Settled, Talk, entries_of, said, tape_of
from tests.requirements import covers

ALL: dict[str, Limits] = {
    "tokens": Limits(max_tokens=90),
    "size": Limits(max_history_size=4),
    "whole": Limits(strategy=WholeHistory()),
    "last": Limits(strategy=FromLastNMessages(n=3)),
}
limited = pytest.mark.parametrize("limits", ALL.values(), ids=ALL.keys())


def proven(talk: Talk, limits: Limits) -> Settled:
    settled = Settled(talk, limits)
    question = next(message for message in reversed(talk.messages) if message.role is Role.USER)
    Proof().go_on(settled.prompt(), Duties(question=question, cap=limits.max_tokens))
    return settled


@covers("R192")
@limited
def test_orphaned_calls_and_answers_never_reach_a_provider(limits: Limits):
    """langchain#38352, langchain#34282, deepagents#270, deer-flow#4080"""
    talk = said(4, question=False)
    talk.answer("gone")
    first, _ = talk.call("find", "look")
    talk.answer(first, "gone")
    talk.exchange(4)
    talk.user()
    proven(talk, limits)


@limited
def test_a_history_that_was_damaged_once_is_usable_ever_after(limits: Limits):
    """pydantic-ai#4728"""
    talk = said(3, question=False)
    talk.call("find", text="I look.")
    for number in range(4):
        talk.exchange(number)
        talk.user(f"Still there {number}?")
        proven(talk, limits)
        talk.assistant()


def test_a_summary_and_what_it_replaces_change_together():
    """agent-framework#4991, #7744, #7943, #8099, #8546"""
    settled = Settled(said(10), Limits(strategy=FromLastNMessages(n=3)))
    (segment,) = settled.cut.segments
    (span,) = settled.summarised
    assert settled.by_id[segment.entry.id].sources == span.sources
    assert not set(span.sources) & set(settled.shown)
    tape = tape_of(settled.talk)
    forgotten = plan(tape, Limits(strategy=FromLastNMessages(n=3)), Costs(), learned(settled.cut.state, ()), "other")
    assert forgotten.spans, "without the summary the originals are summarised again, not lost"


def test_whatever_is_left_out_is_told_with_a_reason():
    """agent-framework#7224, dify#42603"""
    talk = said(10)
    for limits in (Limits(max_tokens=60), Limits(max_history_size=3)):
        cut = plan(tape_of(talk), limits)
        assert sum(one.count for one in cut.left_out) + len(cut.kept) == len(talk.messages)
        assert all(one.reason in Reason for one in cut.left_out)


def test_one_call_that_was_never_answered_does_not_stop_compression_for_ever():
    """adk-python#7236, #4740, #5602, #6179"""
    talk = said(2, question=False)
    talk.user()
    talk.call("find")
    for number in range(6):
        talk.exchange(number)
    talk.user()
    settled = proven(talk, Limits(strategy=FromLastNMessages(n=3)))
    assert [len(span.entries) for span in settled.summarised] == [15]


def test_a_call_that_still_runs_is_not_summarised_away():
    """adk-python#4740, koog KG-496"""
    talk = said(6)
    talk.call("slow")
    made = outline(WholeHistory(), entries_of(talk.messages))
    assert [entry.seq for entry in made.keep] == [0, 12, 13]


def test_the_prompt_cache_survives_between_cuts():
    """cloudflare/agents#2200, zeph#6563, persistent-agent-runtime#108, DeepSeek-Reasonix#8210"""
    talk, state, broken = said(1), None, 0
    limits = Limits(max_tokens=400)
    for _ in range(60):
        settled = Settled(talk, limits) if state is None else Settled(talk, limits, state=state)
        broken += bool(settled.cut.invalidated)
        state = settled.cut.state
        talk.assistant("An answer of some length, as they are.")
        talk.user("And another question?")
    assert 2 <= broken <= 10, "a cut every turn would be about 45"


def test_a_summariser_reads_every_message_once_and_again_only_when_summaries_are_too_many():
    """iterate#1888: what compaction itself costs. A later summary reads on where the one before it ended."""
    talk, state, known, read, once = said(6), None, dict[Any, Any](), list[str](), 0
    limits = Limits(strategy=FromLastNMessages(n=3))
    for number in range(40):
        settled = (
            Settled(talk, limits, known=known) if state is None else Settled(talk, limits, state=state, known=known)
        )
        state, known = settled.cut.state, settled.by_id
        read += [source for span in settled.summarised for source in span.sources]
        talk.assistant()
        talk.user(f"And {number}?")
        if len(state.segments) < limits.most_segments and len(read) == len(set(read)):
            once = len(read)
    assert once > 50
    assert max(Counter(read).values()) == 2, "all but the oldest summaries are written again, once, as one"


def test_summaries_are_always_made_from_what_was_said():
    """opencrabs#1649, sudowork#880, hermes-agent#36099"""
    talk, state, known = said(6), None, dict[Any, Any]()
    for number in range(30):
        limits = Limits(strategy=FromLastNMessages(n=3), batch=2, most_segments=3)
        settled = (
            Settled(talk, limits, known=known) if state is None else Settled(talk, limits, state=state, known=known)
        )
        state, known = settled.cut.state, settled.by_id
        assert all(known[source].kind is not Kind.SUMMARY for span in settled.summarised for source in span.sources)
        assert len(settled.cut.segments) <= 4, "they do not pile up either"
        told = {source for one in settled.cut.segments for source in known[one.entry.id].sources}
        assert told | set(settled.shown) >= {message.id for message in talk.messages}
        talk.assistant()
        talk.user(f"And {number}?")


@limited
def test_system_messages_stay_and_stay_where_they_were(limits: Limits):
    """koog#706, pydantic-ai#885, #1646"""
    talk = Talk()
    talk.system("Be kind.")
    for number in range(8):
        talk.exchange(number)
    talk.user()
    assert proven(talk, limits).texts[0] == "Be kind."


def test_nothing_is_put_between_a_call_and_its_answer():
    """pydantic-ai#4827"""
    talk = said(6)
    talk.answer(*talk.call("find"))
    settled = proven(talk, Limits(strategy=WholeHistory()))
    assert settled.shown[-3:] == ["m12", "m13", "m14"]
    assert [type(message).__name__ for message in to_pydantic_ai(settled.messages)][-2:] == [
        "ModelResponse",
        "ModelRequest",
    ]


def test_tokens_are_counted_once_and_the_same_whoever_asks():
    """letta#3242, #3279, litellm#38657"""
    talk = said(20)
    tape = tape_of(talk, overhead=3)
    whole = plan(tape, Limits())
    assert whole.view.tokens == sum(message.tokens + 3 for message in talk.messages) == tape.loose[len(tape)]
    part = plan(tape, Limits(max_tokens=200))
    by_seq = {seq: message.tokens + 3 for seq, message in enumerate(talk.messages)}
    assert part.view.tokens == sum(by_seq[entry.seq] for entry in part.kept)


@pytest.mark.parametrize("answer", ["", "   "])
def test_a_failed_summary_drops_nothing(answer: str):
    """letta#2601, odysseus#2174, claude-code#92347"""
    strategy: Strategy = WholeHistory()
    talk = said(8)
    before = [msgspec.json.encode(message) for message in talk.messages]
    with pytest.raises(CompressionFailed):
        summary_text(strategy, request_of(strategy, talk.messages), answer)
    trimming = Limits(strategy=strategy, summarise=False)
    assert len(plan(tape_of(talk), trimming).kept) == len(talk.messages)
    assert [msgspec.json.encode(message) for message in talk.messages] == before


def test_a_summary_says_which_messages_it_stands_for():
    """OpenViking#3329, mem0#4536, #5576"""
    settled = Settled(said(8), Limits(strategy=FromLastNMessages(n=2)))
    summary = next(message for message in settled.messages if message.kind is Kind.SUMMARY)
    assert summary.sources == tuple(f"m{number}" for number in range(1, 15))


@limited
def test_the_question_is_always_there_word_for_word(limits: Limits):
    """The commonest defect that was measured: 29 to 41 % of views."""
    talk = said(10)
    for _ in range(6):
        talk.answer(*talk.call("find"))
    wider = msgspec.structs.replace(limits, max_tokens=300 if limits.max_tokens else None)
    assert "Question 10?" in proven(talk, wider).texts


@limited
def test_a_view_begins_with_a_user(limits: Limits):
    """strands#2085, Roo-Code#4147"""
    talk = Talk()
    talk.assistant("Hello! How can I help?")
    for number in range(8):
        talk.exchange(number)
        talk.assistant("One more thing.")
    talk.user()
    assert proven(talk, limits).messages[0].role is Role.USER


def test_pictures_are_not_free():
    """billion-context-pi#201: what an attachment costs is in the count of its message, and moves a cut like text."""
    talk = said(3)
    dear = msgspec.structs.replace(talk.messages[0], tokens=5000, parts=(Text(text="See the picture."),))
    talk.messages[0] = dear
    assert "m0" not in Settled(talk, Limits(max_tokens=1000, low_water=1)).shown


def test_memory_is_known_by_its_kind_and_not_by_what_it_says():
    """koog: memory was found by a substring"""
    talk = said(6)
    talk.messages[3] = msgspec.structs.replace(talk.messages[3], parts=(Text(text="CONTEXT RESTORATION"),))
    made = outline(WholeHistory(), entries_of(talk.messages))
    assert 3 not in [entry.seq for entry in made.keep]


def test_order_is_that_of_the_conversation_whatever_the_clocks_say():
    """koog: messages were sorted by time"""
    talk = Talk()
    for number in range(6):
        talk.user(created_at=NOON - timedelta(minutes=number))
        talk.assistant(created_at=NOON + timedelta(minutes=number))
    talk.user()
    seqs = [entry.seq for entry in Settled(talk, Limits(max_history_size=6)).cut.kept]
    assert seqs == sorted(seqs)


def test_a_list_can_be_fitted_again_and_again():
    """A view of a view is the view: nothing creeps."""
    messages = [{"role": role, "content": f"{role} {n}"} for n in range(20) for role in ("user", "assistant")]
    messages.append({"role": "user", "content": "And?"})
    asked = RequestParameters(max_tokens=60)
    once = fit(messages, asked, len).messages
    assert fit(once, asked, len).messages == once
