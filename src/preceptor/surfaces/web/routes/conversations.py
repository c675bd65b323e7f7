"""/conversations: the list, one, and what is said and done in it."""

from typing import Annotated, Any

import msgspec
from fastapi import Depends, Query, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import ValidationError

from preceptor.app import Preceptor
from preceptor.domain.agents import DEFAULT_AGENT
from preceptor.domain.conversations.compaction import Dropping, Squashing, Strategy
from preceptor.domain.conversations.conversation import Status
from preceptor.domain.conversations.view import Change
from preceptor.domain.errors import Invalid, NotFound, PreceptorError, TooLarge, phrased
from preceptor.domain.ids import ConversationId, MessageId, ViewId
from preceptor.domain.messages.message import AnyPart, Attachment, Text
from preceptor.domain.ownership import Permission
from preceptor.engine.conversations import Wanted
from preceptor.engine.threads import Thread
from preceptor.engine.viewing.branching import Again
from preceptor.surfaces.rest.answering import begun
from preceptor.surfaces.rest.parameters import Cursor, Name
from preceptor.surfaces.rest.routing import ThePreceptor, needs, takes_file
from preceptor.surfaces.rest.shapes import LONGEST_TEXT
from preceptor.surfaces.streams import Streamed
from preceptor.surfaces.web.failures import status_of
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.pages import Form, Pages, TheForm
from preceptor.surfaces.web.rendering import PART, Call, further, page, with_query
from preceptor.surfaces.web.telling import Since, frames
from preceptor.surfaces.web.views.thread import turns_of

router = Pages("/conversations")
AT_ONCE = 25
TITLE = 60
UNDONE = frozenset({Change.COMPACTED, Change.EDITED, Change.REGENERATED})
"""What a view can come from that there is a way back from."""
Words = Annotated[str, Query(max_length=200)]


@router.get("")
@needs(Permission.CONVERSATION_READ)
async def show_all(
    request: Request,
    preceptor: ThePreceptor,
    q: Words = "",
    agent: Words = "",
    status: Words = "",
    cursor: Cursor = None,
) -> Response:
    filters = {"q": q.strip().replace("\x00", ""), "agent": agent.replace("\x00", ""), "status": status}
    wanted = Wanted(filters["agent"] or None, Status(status) if status in set(Status) else None, filters["q"] or None)
    found = await preceptor.conversations.page(wanted, cursor, AT_ONCE)
    chosen = {name: value for name, value in filters.items() if value}
    asked = {"q": wanted.words, "agentId": wanted.agent_id, "status": wanted.status and wanted.status.value}
    return page(
        request,
        "conversations.html",
        here="conversations",
        call=Call(with_query("/api/conversations", {name: value for name, value in asked.items() if value})),
        glances=await preceptor.glances.at(found.items),
        agents=(await preceptor.agents.page(limit=200)).items,
        filters=filters,
        more=further(found, chosen),
        first=cursor is None and not chosen and not found.items and not await _archived(preceptor),
    )


@router.get("/new")
@needs(Permission.CONVERSATION_WRITE)
async def show_new(request: Request, preceptor: ThePreceptor, agent: Words = DEFAULT_AGENT) -> Response:
    return await _new(request, preceptor, agent)


@router.post("")
@needs(Permission.CONVERSATION_WRITE)
@takes_file
async def start(request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """Say the first thing, or show the form again with what is wrong."""
    agent = form.one("agent", DEFAULT_AGENT)
    try:
        parts = await _parts(preceptor, form)
        title = " ".join(form.one("text").split()) or form.files[0].name
        title = title if len(title) <= TITLE else title[: TITLE - 1].rstrip() + "…"
        taken = await preceptor.turns.open(parts, agent_id=agent, title=title)
    except (Invalid, NotFound, TooLarge) as error:
        return await _new(request, preceptor, agent, form.one("text"), error)
    return RedirectResponse(f"/conversations/{taken.conversation_id}", 303)


async def _new(
    request: Request, preceptor: Preceptor, agent: str, text: str = "", problem: PreceptorError | None = None
) -> Response:
    return page(
        request,
        "conversation_new.html",
        status=status_of(problem),
        here="conversations",
        call=Call("/api/conversations", "POST", {"agentId": agent}),
        agents=(await preceptor.agents.page(limit=200)).items,
        chosen=agent,
        text=text,
        problem=problem,
    )


class Glance(msgspec.Struct, frozen=True):
    """How a conversation is looked at; `edit` names a message that is being said otherwise."""

    before: int | None
    everything: bool
    clean: bool
    edit: str


async def _glance(
    before: Annotated[int | None, Query(ge=0, le=2**53)] = None, view: Words = "", clean: Words = "", edit: Words = ""
) -> Glance:
    return Glance(before, view == "all", bool(clean), edit)


TheGlance = Annotated[Glance, Depends(_glance)]


@router.get("/{conversation_id}")
@needs(Permission.CONVERSATION_READ)
async def show(conversation_id: Name, request: Request, preceptor: ThePreceptor, asked: TheGlance) -> Response:
    before, everything = asked.before, asked.everything
    thread = await preceptor.threads.read(ConversationId(conversation_id), before, everything=everything)
    shown = turns_of(thread)
    names = await preceptor.threads.names(one for turn in shown for one in turn.instructions)
    for turn in shown:
        turn.names = names
    running = before is None and any(turn.ended is None for turn in shown)
    undone = thread.view.change in UNDONE and not everything and not running
    return page(
        request,
        "conversation.html",
        here="conversations",
        call=Call(f"/api/conversations/{conversation_id}/messages{'?view=all' if everything else ''}"),
        conversation=thread.conversation,
        turns=shown,
        seq=thread.seq,
        running=running,
        earlier=_earlier(thread, shown[0].turn_id if shown else ""),
        view=thread.view,
        undo=thread.previous if undone else None,
        everything=everything,
        cleaning=asked.clean,
        editing=next((turn.question for turn in shown if turn.question and turn.question.id == asked.edit), None),
        steps=sum(len(turn.steps) for turn in shown),
        writable=before is None and thread.conversation.status is Status.ACTIVE,
    )


@router.post("/{conversation_id}/messages")
@needs(Permission.CONVERSATION_WRITE)
@takes_file
async def send(conversation_id: Name, request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """Say something. A script is told where to listen, and may wait for that; without one the page is shown again."""
    named, queue = ConversationId(conversation_id), form.has("queue")
    await preceptor.conversations.get(named)
    turn = preceptor.turns.begin(named, await _parts(preceptor, form), queue=queue)
    taken = await begun(request, turn, queue=queue)
    if PART in request.headers:
        return JSONResponse({"stream": f"/conversations/{conversation_id}/stream?after={taken.first}"}, 202)
    return RedirectResponse(f"/conversations/{conversation_id}#end", 303)


@router.post("/{conversation_id}/edit")
@needs(Permission.CONVERSATION_WRITE)
async def edit(conversation_id: Name, preceptor: ThePreceptor, form: TheForm) -> Response:
    """Say something else instead of what was said; files that were sent with it stay if they are named."""
    again = Again(Change.EDITED, MessageId(form.one("message")))
    kept = [Attachment(named, "", "") for named in form.all("attachment")]
    await preceptor.turns.begin(ConversationId(conversation_id), [Text(_text(form)), *kept], None, again)
    return RedirectResponse(f"/conversations/{conversation_id}#end", 303)


@router.post("/{conversation_id}/regenerate")
@needs(Permission.CONVERSATION_WRITE)
async def regenerate(conversation_id: Name, preceptor: ThePreceptor, form: TheForm) -> Response:
    named = form.one("message")
    again = Again(Change.REGENERATED, MessageId(named) if named else None)
    await preceptor.turns.begin(ConversationId(conversation_id), (), None, again)
    return RedirectResponse(f"/conversations/{conversation_id}#end", 303)


@router.get("/{conversation_id}/stream")
@needs(Permission.CONVERSATION_READ)
async def stream(
    conversation_id: Name,
    request: Request,
    preceptor: ThePreceptor,
    since: Since,
) -> Response:
    """What happens on the page from a row of the log on, until the turn has ended."""
    named = ConversationId(conversation_id)
    await preceptor.conversations.get(named)
    told = frames(request, preceptor, named, since)
    return Streamed(told)


@router.post("/{conversation_id}/cancel")
@needs(Permission.CONVERSATION_WRITE)
async def cancel(conversation_id: Name, preceptor: ThePreceptor) -> Response:
    await preceptor.turns.cancel(ConversationId(conversation_id))
    return RedirectResponse(f"/conversations/{conversation_id}#end", 303)


@router.post("/{conversation_id}/cleanup")
@needs(Permission.CONVERSATION_WRITE)
async def clean_up(conversation_id: Name, preceptor: ThePreceptor, form: TheForm) -> Response:
    await preceptor.views.compact(ConversationId(conversation_id), _chosen(form))
    return RedirectResponse(f"/conversations/{conversation_id}#undo", 303)


@router.post("/{conversation_id}/restore")
@needs(Permission.CONVERSATION_WRITE)
async def restore(conversation_id: Name, preceptor: ThePreceptor, form: TheForm) -> Response:
    await preceptor.views.restore(ConversationId(conversation_id), ViewId(form.one("view")))
    return RedirectResponse(f"/conversations/{conversation_id}", 303)


@router.post("/{conversation_id}/title")
@needs(Permission.CONVERSATION_WRITE)
async def rename(conversation_id: Name, preceptor: ThePreceptor, form: TheForm) -> Response:
    await _renamed(preceptor, conversation_id, form.one("title").strip())
    return RedirectResponse(f"/conversations/{conversation_id}", 303)


@router.post("/{conversation_id}/archive")
@needs(Permission.CONVERSATION_WRITE)
async def archive(conversation_id: Name, preceptor: ThePreceptor) -> Response:
    await preceptor.conversations.archive(ConversationId(conversation_id))
    return RedirectResponse("/conversations", 303)


async def _renamed(preceptor: Preceptor, conversation_id: str, title: str) -> None:
    if not title or len(title) > 300 or "\x00" in title:
        raise Invalid(msg("A title has 1 to 300 characters. Write one, or leave it as it is."))
    await preceptor.conversations.change(ConversationId(conversation_id), title=title)


async def _archived(preceptor: Preceptor) -> bool:
    """Whether there are conversations that the list does not show by itself."""
    return bool((await preceptor.conversations.page(Wanted(status=Status.ARCHIVED), limit=1)).items)


async def _parts(preceptor: Preceptor, form: Form) -> list[AnyPart]:
    """What is said, with the files that were chosen. With files, nothing need be said."""
    words: list[AnyPart] = [] if form.files and not form.one("text").strip() else [Text(_text(form))]
    added = [await preceptor.attachments.add(one.data, one.name, one.media_type) for one in form.files]
    return [*words, *(Attachment(one.attachment_id, "", "") for one in added)]


def _text(form: Form) -> str:
    text = form.one("text").strip()
    if not text or len(text) > LONGEST_TEXT or "\x00" in text:
        told = phrased("A message has 1 to %(most)s characters. Write something and send it again.", most=LONGEST_TEXT)
        raise Invalid(told)
    return text


def _chosen(form: Form) -> Dropping | Squashing:
    """Which steps, and what becomes of them."""
    named = {"message_ids": form.all("message"), "spans": form.all("span")}
    chosen: dict[str, Any] = {name: ids for name, ids in named.items() if ids}
    if not chosen:
        raise Invalid(msg("No step is selected. Select at least one, then repeat."))
    text = form.one("summary").strip()
    try:
        if form.one("how") != "squash":
            return Dropping(strategy=Strategy.DROP, **chosen)
        return Squashing(strategy=Strategy.SUMMARIZE if text else Strategy.DISTILL, text=text or None, **chosen)
    except ValidationError:
        raise Invalid(msg("These steps cannot be cleaned up so. Open the conversation again and repeat.")) from None


def _earlier(thread: Thread, first: str) -> int | None:
    """The number of the first message on the page, if there are any before it."""
    at = next((place for place, turn_id in enumerate(thread.order) if turn_id == first), 0)
    return (thread.skipped + at) or None
