"""Recalling: what is known of a conversation by heart, for as long as its log ends in the same hash.

Whatever changes a conversation, its messages, its views or its turns appends to its log in the same transaction. So the
same end of the log means the same conversation, in this process or in any other, and a turn reads only what is new.
"""

from collections import OrderedDict

import msgspec

from preceptor.domain.agents import Agent
from preceptor.domain.conversations.conversation import Conversation
from preceptor.domain.conversations.view import View, root
from preceptor.domain.delegation import Span
from preceptor.domain.errors import NotFound
from preceptor.domain.ids import AgentId, ConversationId, OrgId, StreamId, TurnId
from preceptor.domain.log import ORG_STREAM, Head
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.turns.facts import Accepted, TurnStatus, fact_of
from preceptor.engine.repositories.work import Work

ROOM = 1_000_000
"""How much is known by heart in all: tokens, and a hundred for each message."""
EACH = 100
LONGEST = 400
"""Messages of one conversation: of a longer one, the newest."""
MOST_AGENTS = 10_000
Agents = dict[tuple[OrgId, AgentId], tuple[bytes, Agent]]
"""Each as it was when the audit trail ended in a hash."""


class Recollection(msgspec.Struct, frozen=True):
    """A conversation as it stood when its log ended in `head`. One that is known by heart has no turn running."""

    head: bytes
    conversation: Conversation
    last: int
    total: int
    view: View
    clarifications: int
    """How many turns in a row ended in a question to the user."""
    near: list[Placed]
    """The newest messages, without a gap."""
    weight: int
    running: TurnId | None = None
    carried: tuple[Span, ...] | None = None
    """The delegations that its last turn carried over; None where that was not looked up."""


class Memory(msgspec.Struct):
    """The conversations that were spoken in last, as many as there is room for."""

    room: int = ROOM
    kept: OrderedDict[tuple[OrgId, ConversationId], Recollection] = msgspec.field(
        default_factory=OrderedDict[tuple[OrgId, ConversationId], Recollection]
    )
    weight: int = 0

    def keep(self, org: OrgId, recollection: Recollection) -> None:
        place = org, recollection.conversation.conversation_id
        self.forget(*place)
        self.kept[place] = recollection
        self.weight += recollection.weight
        while self.weight > self.room:
            self.forget(*next(iter(self.kept)))

    def forget(self, org: OrgId, conversation: ConversationId) -> None:
        gone = self.kept.pop((org, conversation), None)
        self.weight -= 0 if gone is None else gone.weight


async def recall(work: Work, memory: Memory, conversation: ConversationId) -> Recollection | None:
    """What is known by heart, if it still holds."""
    known = memory.kept.get((work.org, conversation))
    if known is None:
        return None
    head = await work.log.hold(StreamId(conversation))
    return known if head is not None and head.hash == known.head else None


async def standing(work: Work, memory: Memory, conversation: Conversation) -> Recollection:
    """Where a conversation stands: by heart, without a look if it has only just begun, or by one look."""
    place = conversation.conversation_id
    head = await work.log.hold(StreamId(place)) or Head()
    if head.seq == 1:
        return Recollection(head.hash, conversation, 0, 0, root(place), 0, [], 0, carried=())
    known = await recall(work, memory, place)
    if known is not None:
        return known
    found = await work.conversations.standing(place)
    asked = await asked_before(work, place) if found.newest is TurnStatus.CLARIFY else 0
    return Recollection(head.hash, conversation, found.last, found.total, found.view, asked, [], 0, found.running)


async def asked_before(work: Work, conversation_id: ConversationId) -> int:
    """How many turns in a row, up to now, ended in a question to the user."""
    before = await work.turns.newest(conversation_id)
    if before is None or before.status is not TurnStatus.CLARIFY:
        return 0
    [event] = await work.log.after(StreamId(conversation_id), before.first, 1)
    said = None if event.payload is None else fact_of(event.kind, event.payload)
    return said.pins.clarifications + 1 if isinstance(said, Accepted) else 1


def without_gap(said: list[Placed], last: int) -> list[Placed]:
    """The end of what was read, as far as it leads to the newest message one by one. As a rule that is all of it."""
    start = len(said)
    if said and said[-1].place == last and said[0].place == last - start + 1:
        return said
    while start and said[start - 1].place == last:
        start, last = start - 1, last - 1
    return said[start:]


def weight_of(said: list[Placed]) -> int:
    return sum([each.message.tokens + EACH for each in said])


async def agent_now(work: Work, known: Agents, agent_id: AgentId) -> Agent:
    """The agent as it is: read again once the audit trail has grown, in which every change of one is."""
    trail = await work.log.head(ORG_STREAM) or Head()
    remembered = known.get((work.org, agent_id))
    if remembered is not None and remembered[0] == trail.hash:
        return remembered[1]
    agent = await work.agents.find(agent_id)
    if agent is None:
        raise NotFound("agent", agent_id)
    if len(known) >= MOST_AGENTS:
        known.clear()
    known[work.org, agent_id] = trail.hash, agent
    return agent
