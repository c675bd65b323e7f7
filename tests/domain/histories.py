"""Histories for the tests: said by hand, and made at random, whole and damaged."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import msgspec
from hypothesis import strategies as st

from preceptor.domain.history.entry import Entry, entry_of
from preceptor.domain.history.limits import Costs, Limits
from preceptor.domain.history.outline import Span
from preceptor.domain.history.plan import Cut, plan
from preceptor.domain.history.segment import NOTHING_YET, State, basis_of, learned, segment_of
from preceptor.domain.history.strategy import (
    Chunked,
    Concept,
    FactsTLDR,
    FromLastNMessages,
    FromTimestamp,
    Strategy,
    WholeHistory,
    WholeHistoryMultipleSystemMessages,
    WindowTLDR,
)
from preceptor.domain.history.summary import request_of, summary_message, summary_text
from preceptor.domain.history.tape import ArrayTape
from preceptor.domain.history.view import shown_as
from preceptor.domain.ids import ConversationId, MessageId, SpanId, TurnId
from preceptor.domain.messages.directive import INTERMEDIATE, written
from preceptor.domain.messages.message import (
    AnyPart,
    Kind,
    Message,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.prompts.prompt import Prompt, Segment
from preceptor.domain.prompts.source import FromEngine, FromMessage

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TALK = ConversationId("talk")
OVERHEAD = 3
NOTHING_ELSE = Costs()


def count(text: str) -> int:
    """Tokens of the tests: one for each four characters that were begun."""
    return -(-len(text) // 4)


def unpaired(messages: Iterable[Message]) -> tuple[tuple[ToolCall, ...], tuple[ToolResult, ...]]:
    """Calls that have no result after them, and results that answer no call before them."""
    waiting: dict[str, ToolCall] = {}
    strays: list[ToolResult] = []
    for message in messages:
        strays.extend(result for result in message.tool_results if waiting.pop(result.tool_call_id, None) is None)
        waiting.update((call.id, call) for call in message.tool_calls)
    return tuple(waiting.values()), tuple(strays)


class Talk:
    """A conversation as it is written down, one message a minute."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.calls = 0

    def __repr__(self) -> str:
        return "\n".join(f"{m.id} {m.role} {m.kind} {m.tokens} {m.parts}" for m in self.messages)

    def add(self, role: Role, *parts: AnyPart, kind: Kind = Kind.MESSAGE, **fields: Any) -> Message:
        number = len(self.messages)
        fields.setdefault("created_at", NOON + timedelta(minutes=number))
        fields.setdefault("instructions", ())
        message = Message(
            id=MessageId(f"m{number}"),
            conversation_id=TALK,
            turn_id=TurnId("t"),
            role=role,
            kind=kind,
            parts=parts,
            tokens=0,
            **fields,
        )
        message = msgspec.structs.replace(message, tokens=counted(message))
        self.messages.append(message)
        return message

    def user(self, text: str = "Where is my order?", **fields: Any) -> Message:
        return self.add(Role.USER, Text(text=text), **fields)

    def assistant(self, text: str = "It is on its way.", **fields: Any) -> Message:
        return self.add(Role.ASSISTANT, Text(text=text), **fields)

    def system(self, text: str = "You are kind.") -> Message:
        return self.add(Role.SYSTEM, Text(text=text))

    def call(self, *names: str, text: str = "", **fields: Any) -> list[str]:
        ids = [f"call{self.calls + number}" for number in range(len(names))]
        self.calls += len(names)
        calls = [ToolCall(id=call, name=name, arguments={"q": 1}) for call, name in zip(ids, names, strict=True)]
        self.add(Role.ASSISTANT, *([Text(text=text)] if text else []), *calls, **fields)
        return ids

    def answer(self, *ids: str, content: str = "42", **fields: Any) -> Message:
        parts = [ToolResult(tool_call_id=call, name="find", content=content) for call in ids]
        return self.add(Role.TOOL, *parts, kind=Kind.TOOL, **fields)

    def exchange(self, number: int = 0) -> None:
        self.user(f"Question {number}?")
        self.assistant(f"Answer {number}.")


def said(exchanges: int, *, question: bool = True) -> Talk:
    """Questions and answers, and one more question."""
    talk = Talk()
    for number in range(exchanges):
        talk.exchange(number)
    if question:
        talk.user(f"Question {exchanges}?")
    return talk


def entries_of(messages: Sequence[Message]) -> list[Entry]:
    return [entry_of(message, seq, count) for seq, message in enumerate(messages)]


def tape_of(talk: Talk, overhead: int = 0) -> ArrayTape:
    return ArrayTape(entries_of(talk.messages), overhead)


class Settled:
    """A plan carried out to the end, with a summariser that says little."""

    def __init__(
        self,
        talk: Talk,
        limits: Limits,
        costs: Costs = NOTHING_ELSE,
        state: State = NOTHING_YET,
        overhead: int = 0,
        known: Mapping[MessageId, Message] = MappingProxyType({}),
    ) -> None:
        self.talk = talk
        self.strategy: Any = limits.strategy
        self.by_id = dict(known) | {message.id: message for message in talk.messages}
        self.summarised: list[Span] = []
        tape = tape_of(talk, overhead)
        self.cut: Cut = plan(tape, limits, costs, state, "model")
        self.rounds = 0
        while self.cut.spans:
            self.rounds += 1
            assert self.rounds < 3, "a plan settles once its spans are summarised"
            state = learned(state, [segment_of(span, self.summary(span), self.basis) for span in self.cut.spans])
            self.cut = plan(tape, limits, costs, state, "model")

    @property
    def basis(self) -> str:
        return basis_of(self.strategy, "model")

    def summary(self, span: Span) -> Entry:
        self.summarised.append(span)
        request = request_of(self.strategy, [self.by_id[source] for source in span.sources], "model")
        answer = '{"order": ["1042"]}' if isinstance(self.strategy, FactsTLDR) else "They spoke."
        text = summary_text(self.strategy, request, answer)
        message = summary_message(
            text,
            request,
            id_=MessageId(f"s{span.seq}"),
            conversation_id=TALK,
            turn_id=TurnId("t"),
            tokens=0,
            created_at=NOON,
        )
        message = msgspec.structs.replace(message, tokens=counted(message))
        self.by_id[message.id] = message
        return entry_of(message, span.seq, count)

    @property
    def messages(self) -> list[Message]:
        return [shown_as(self.by_id[entry.id], self.cut.view.altered.get(entry.seq)) for entry in self.cut.kept]

    @property
    def shown(self) -> list[str]:
        """The ids of what is shown, in order."""
        return [entry.id for entry in self.cut.kept]

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages]

    def prompt(self, fixed: int = 0, overhead: int = 0) -> Prompt:
        """As an engine would assemble it: counted again, not taken from the plan."""
        rest = [message for message in self.messages if message.role is not Role.SYSTEM]
        system = [message for message in self.messages if message.role is Role.SYSTEM]
        return Prompt(
            system=(
                Segment("You are kind.", FromEngine("frame"), fixed),
                *(Segment(m.text, FromMessage(m.id, 0), m.tokens) for m in system),
            ),
            shown=tuple(Placed(0, msgspec.structs.replace(m, tokens=counted(m))) for m in rest),
            overhead=overhead * len(self.messages),
        )


def counted(message: Message) -> int:
    said = sum(count(msgspec.json.encode(part).decode()) for part in message.parts)
    return said + count(message.analysis or "")


Step = Callable[[Talk], object]


def _answered(talk: Talk) -> None:
    talk.answer(*talk.call("find"))
    talk.assistant("Found it.")


def _several(talk: Talk) -> None:
    first, second = talk.call("find", "look", text="Let me see.")
    talk.answer(first)
    talk.answer(second)


def _together(talk: Talk) -> None:
    talk.answer(*talk.call("find", "look"))


def _large(talk: Talk) -> None:
    talk.answer(*talk.call("find"), content="row " * 120)


def _delegated(talk: Talk) -> None:
    fields: Any = {"span_id": SpanId(f"span{talk.calls}"), "instructions": (written(INTERMEDIATE),)}
    talk.answer(*talk.call("delegate", **fields), **fields)
    talk.assistant("The specialist thinks about it.", **fields)


def _nested(talk: Talk) -> None:
    """A specialist that asks another, and goes on after it; a second one beside them."""
    marked: Any = {"instructions": (written(INTERMEDIATE),)}
    outer, inner = SpanId(f"outer{talk.calls}"), SpanId(f"inner{talk.calls}")
    talk.answer(*talk.call("delegate", **marked), **marked)
    talk.answer(*talk.call("find", span_id=outer, **marked), span_id=outer, **marked)
    talk.answer(*talk.call("delegate", span_id=outer, **marked), span_id=outer, **marked)
    talk.assistant("It is all right.", span_id=inner, **marked)
    talk.answer(*talk.call("return_control", span_id=outer, **marked), span_id=outer, **marked)
    talk.answer(*talk.call("find"))
    _delegated(talk)
    talk.assistant("Then it is all right.")


def _planned(talk: Talk) -> None:
    talk.user("Plan it.")
    talk.assistant("Here is the plan.", kind=Kind.SYNTHETIC_PLAN, analysis="The user wants a plan. " * 4)


def _late(talk: Talk) -> None:
    call = talk.call("find")
    talk.user("Are you there?")
    talk.answer(*call)


def _half(talk: Talk) -> None:
    talk.answer(talk.call("find", "look")[0])


def _twice(talk: Talk) -> None:
    call = talk.call("find")
    talk.answer(*call)
    talk.answer(*call)


def _memory(talk: Talk) -> None:
    talk.add(Role.USER, Text(text="Remember: she likes tea."), kind=Kind.MEMORY)


def _compaction(talk: Talk) -> None:
    talk.add(Role.ASSISTANT, Text(text="[Summary of 4 earlier messages]\nTea."), kind=Kind.COMPACTION)


WHOLE: list[Step] = [
    Talk.exchange,
    Talk.exchange,
    lambda talk: talk.user("And?"),
    lambda talk: talk.assistant("Well. " * 10),
    _answered,
    _several,
    _together,
    _large,
    _delegated,
    _nested,
    _planned,
    _memory,
    _compaction,
    Talk.system,
]
DAMAGED: list[Step] = [
    *WHOLE,
    lambda talk: talk.call("find"),
    lambda talk: talk.call("find", text="Let me look."),
    lambda talk: talk.answer("nobody"),
    lambda talk: talk.answer("nobody", "knows"),
    _late,
    _half,
    _twice,
    lambda talk: talk.user("", created_at=NOON - timedelta(days=1)),
]


def _ending(talk: Talk, ending: int) -> Message:
    question = talk.user("What is it now?")
    if ending:
        for _ in range(ending):
            talk.answer(*talk.call("find"))
    return question


@st.composite
def histories(draw: st.DrawFn, steps: list[Step] = DAMAGED) -> tuple[Talk, Message]:
    """A history and the question that is being answered, at once or in the middle of its tool calls."""
    talk = Talk()
    for step in draw(st.lists(st.integers(0, len(steps) - 1), max_size=18)):
        steps[step](talk)
    return talk, _ending(talk, draw(st.integers(0, 2)))


STRATEGIES: st.SearchStrategy[Strategy | None] = st.one_of(
    st.none(),
    st.just(WholeHistory()),
    st.just(WholeHistoryMultipleSystemMessages()),
    st.integers(1, 12).map(lambda n: FromLastNMessages(n=n)),
    st.integers(1, 6).map(lambda n: Chunked(chunk_size=n)),
    st.integers(-5, 40).map(lambda minutes: FromTimestamp(timestamp=NOON + timedelta(minutes=minutes))),
    st.integers(1, 8).map(lambda n: WindowTLDR(n=n)),
    st.just(FactsTLDR(concepts=(Concept(name="order", description="Numbers of orders."),))),
)
