from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from preceptor.domain.history.limits import Limits
from preceptor.domain.history.proof import Duties, Obligation, Proof, Unproven
from preceptor.domain.ids import ConversationId, MessageId, TurnId
from preceptor.domain.messages.message import Message, Role, Text
from preceptor.domain.prompts.prompt import Prompt, Segment
from preceptor.domain.prompts.source import FromEngine
from tests.domain.histories import TALK, Settled, Talk


def talk() -> Talk:
    made = Talk()
    made.user("First?")
    made.answer(*made.call("find", "look"))
    made.assistant("Found.")
    made.user("And?")
    return made


def prompt(messages: list[Message], **changes: Any) -> Prompt:
    made = Talk()
    made.messages = messages
    whole = Settled(made, Limits()).prompt(10)
    shown = tuple(msgspec.structs.replace(whole.shown[0], message=message) for message in messages)
    return msgspec.structs.replace(whole, **{"shown": shown, **changes})


QUESTION = talk().messages[-1]
DUTIES = Duties(conversation_id=TALK, question=QUESTION, cap=10_000, pinned=frozenset({MessageId("m0")}))


def test_a_request_in_order_is_proven():
    Proof().go_on(prompt(talk().messages), DUTIES)
    Proof().go_on(prompt(talk().messages[:3]), Duties(conversation_id=TALK))


def changed(at: int, **fields: Any) -> list[Message]:
    messages = talk().messages
    messages[at] = msgspec.structs.replace(messages[at], **fields)
    return messages


def without(*places: int) -> list[Message]:
    return [message for at, message in enumerate(talk().messages) if at not in places]


def moved() -> list[Message]:
    messages = talk().messages
    return [messages[0], messages[1], messages[4], messages[2]]


BROKEN: dict[str, tuple[Obligation, Callable[[], Prompt], Duties]] = {
    "no system prompt": (Obligation.ONE_SYSTEM, lambda: prompt(talk().messages, system=()), DUTIES),
    "two system prompts": (Obligation.ONE_SYSTEM, lambda: prompt(changed(3, role=Role.SYSTEM)), DUTIES),
    "another conversation": (
        Obligation.NOTHING_FOREIGN,
        lambda: prompt(changed(3, conversation_id=ConversationId("other"))),
        DUTIES,
    ),
    "a blocked turn": (
        Obligation.NOTHING_BLOCKED,
        lambda: prompt(changed(3, turn_id=TurnId("blocked"))),
        Duties(blocked=frozenset({TurnId("blocked")})),
    ),
    "a call without an answer": (Obligation.WHOLE_PAIRS, lambda: prompt(without(2)), DUTIES),
    "an answer without a call": (Obligation.WHOLE_PAIRS, lambda: prompt(without(1)), DUTIES),
    "a call that ends it": (Obligation.WHOLE_PAIRS, lambda: prompt(talk().messages[:2]), Duties()),
    "something in between": (Obligation.WHOLE_PAIRS, lambda: prompt(moved()), DUTIES),
    "one call twice": (
        Obligation.WHOLE_PAIRS,
        lambda: prompt(changed(1, parts=(*talk().messages[1].parts, talk().messages[1].parts[0]))),
        DUTIES,
    ),
    "an assistant first": (Obligation.LEGAL_FIRST, lambda: prompt(talk().messages[3:]), DUTIES),
    "an assistant last": (Obligation.LEGAL_LAST, lambda: prompt(talk().messages[:4]), Duties()),
    "nothing at all": (Obligation.LEGAL_LAST, lambda: prompt(talk().messages, shown=()), Duties()),
    "no question": (Obligation.QUESTION, lambda: prompt(talk().messages[:3]), DUTIES),
    "a question in other words": (Obligation.QUESTION, lambda: prompt(changed(4, parts=(Text("Hm?"),))), DUTIES),
    "a pin is missing": (Obligation.PINS, lambda: prompt(talk().messages[4:]), DUTIES),
    "too much": (Obligation.WITHIN_CAP, lambda: prompt(talk().messages), Duties(cap=20)),
}


@pytest.mark.parametrize(("obligation", "made", "duties"), BROKEN.values(), ids=BROKEN.keys())
def test_a_request_that_breaks_a_rule_is_not_sent(obligation: Obligation, made: Callable[[], Prompt], duties: Duties):
    with pytest.raises(Unproven) as unproven:
        Proof().go_on(made(), duties)
    assert unproven.value.obligation == obligation
    assert obligation in str(unproven.value)


def test_closing_words_of_the_engine_are_a_legal_end():
    tail = (Segment("Continue.", FromEngine("closing"), 2),)
    Proof().go_on(prompt(talk().messages[:4], tail=tail), Duties())


def test_every_obligation_can_be_broken():
    assert {obligation for obligation, _, _ in BROKEN.values()} == set(Obligation)
