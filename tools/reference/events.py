"""What a conversation's stream carries, and what messages tell the engine."""

from typing import Any

import msgspec

from preceptor.domain.messages.directive import DelegateReasoning, IntermediateReasoning, ReturnControl
from preceptor.domain.turns.audience import USERS_SEE
from preceptor.domain.turns.facts import KINDS
from tools.reference.markdown import page, table

EVENTS = """# Events

`POST /api/conversations/{id}/messages` with `Accept: text/event-stream`, and `GET /api/conversations/{id}/events`,
send one event for each committed row of the log: `id:` is its `seq`, so a reader that sends `Last-Event-ID` goes on
where it was; one that has seen more than there is, before a backup was restored, goes on with what is new. The first
words of an answer come at once, later ones within 100 ms. Every turn ends in exactly one of `turn.completed`,
`turn.blocked`, `turn.clarify`, `turn.failed` and `turn.cancelled`.

Each event has `turnId`, `seq` and `at` beside what is listed here. Events that users are not shown need the
permission `record:read`; of some others users are shown less than is listed."""
DIRECTIVES = """## Directives

A message may carry `instructions`: what it tells the engine itself. A directive of a kind that this version does not
know is kept as it is and says nothing."""
SAID = {
    "turn.accepted": "The message is stored, and everything the turn uses is pinned.",
    "call.started": "A request to a model was written down, before it is sent.",
    "call.ended": "What became of it, and what it used.",
    "message.started": "An answer begins. Users see it as a message whose `parts` are still empty.",
    "message.delta": "More of it.",
    "message.abandoned": "It will not be completed: the stream broke off, and the call is made again.",
    "message.completed": "The whole message.",
    "tool.started": "A tool is about to be called. A call that is refused starts none, and is answered by a message.",
    "tool.completed": "What became of that.",
    "delegation.opened": "A specialist has the word.",
    "delegation.closed": "Control is back; or, closed by `carried`, stays for the next turn.",
    "guard.judged": "What the guardian said of a text, and the row that decided.",
    "answer.withheld": "An answer that nobody is shown.",
    "answer.checked": "Whether an answer keeps the rules of its instructions.",
    "summary.written": "A summary that stands for older messages.",
    "history.compressed": "All summaries of this turn are there.",
    "plan.made": "The plan, where it led, and why.",
    "plan.ready": "How the request was understood.",
    "model.fell_back": "A model could not answer, and the next one in the agent's list was asked.",
    "turn.cancel_requested": "Someone wants the turn to stop.",
    "view.changed": "Models and users are shown the conversation in another way from here on.",
    "turn.completed": "Ended with an answer.",
    "turn.blocked": "Ended: the guardian or the tables said no.",
    "turn.clarify": "Ended with a question to the user.",
    "turn.failed": "Ended: something failed. The record says what.",
    "turn.cancelled": "Ended because someone stopped it.",
}


def events_page() -> str:
    rows = [
        (f"`{kind}`", "yes" if kind in USERS_SEE else "no", _fields(fact), _said(kind, fact))
        for kind, fact in KINDS.items()
    ]
    directives = [
        (f"`{kind.model_fields['type'].default}`", _taken(kind), (kind.__doc__ or "").strip())
        for kind in (DelegateReasoning, ReturnControl, IntermediateReasoning)
    ]
    return page(
        EVENTS,
        table(("event", "for users", "data", "meaning"), rows),
        DIRECTIVES,
        table(("type", "fields", "meaning"), directives),
    )


def _said(kind: str, fact: type[msgspec.Struct]) -> str:
    """In our words, or in those of the code for an event that is new."""
    return SAID.get(kind) or " ".join((fact.__doc__ or "").split())


def _fields(fact: type[msgspec.Struct]) -> str:
    return ", ".join(f"`{name}`" for name in fact.__struct_encode_fields__)


def _taken(kind: Any) -> str:
    names = [field.alias or name for name, field in kind.model_fields.items() if name != "type"]
    return ", ".join(f"`{name}`" for name in names) or "none"
