"""What is promised of every call that any test makes: it can be made again from its manifest, to the byte."""

from preceptor import Preceptor
from preceptor.domain.conversations.conversation import Status
from preceptor.domain.ids import ConversationId, StreamId
from preceptor.domain.log import Event
from preceptor.domain.turns.calls import Call
from preceptor.domain.turns.facts import fact_of
from preceptor.engine.contexts import context_of, rebuilt
from preceptor.engine.conversations import Wanted
from preceptor.engine.repositories.work import Work

PAGE = 200
STARTED = "call.started"


async def every_call_is_rebuilt(preceptor: Preceptor) -> int:
    """How many there were. Looks at what the caller's organisation has stored, but for what was erased since."""
    return sum([await _rebuilt_in(preceptor, one) for status in Status for one in await _all(preceptor, status)])


async def _all(preceptor: Preceptor, status: Status) -> list[ConversationId]:
    found, wanted = list[ConversationId](), Wanted(status=status)
    page = await preceptor.conversations.page(wanted, None, PAGE)
    found += [one.conversation_id for one in page.items]
    while page.next_cursor is not None:
        page = await preceptor.conversations.page(wanted, page.next_cursor, PAGE)
        found += [one.conversation_id for one in page.items]
    return found


async def _rebuilt_in(preceptor: Preceptor, conversation: ConversationId) -> int:
    async def program(work: Work) -> list[tuple[Call, bool, int]]:
        events = await _events(work, conversation)
        if any(event.payload is None for event in events):
            return []
        return [await _made_again(preceptor, work, conversation, event) for event in events if event.kind == STARTED]

    made = await preceptor.session.read(program)
    assert [call for call, intact, unattributed in made if not intact or unattributed] == []
    return len(made)


async def _made_again(
    preceptor: Preceptor, work: Work, conversation: ConversationId, event: Event
) -> tuple[Call, bool, int]:
    call: Call = fact_of(event.kind, event.payload or "")
    prompt = await rebuilt(work, conversation, call, event.turn)
    context = context_of(call, prompt, preceptor.contexts.formats[call.format])
    return call, context.intact, context.unattributed_tokens


async def _events(work: Work, conversation: ConversationId) -> list[Event]:
    found = list[Event]()
    while batch := await work.log.after(StreamId(conversation), found[-1].seq if found else 0, PAGE):
        found += batch
    return found
