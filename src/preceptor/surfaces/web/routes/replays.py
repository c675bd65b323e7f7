"""/replays: past turns gone through again with something changed, and what came of each."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from fastapi import Depends, Path, Query, Request, Response
from fastapi.responses import RedirectResponse

from preceptor.app import Preceptor
from preceptor.domain.errors import PreceptorError
from preceptor.domain.ids import TaskId
from preceptor.domain.instructions.content import checked
from preceptor.domain.ownership import Permission
from preceptor.domain.replays.facts import TERMINAL
from preceptor.domain.replays.replay import Mode, NewReplay, Replies, Status, Summary
from preceptor.engine.instructions import Wanted
from preceptor.surfaces.rest.parameters import Cursor, Name, PlaceCursor
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.streams import Streamed
from preceptor.surfaces.web.failures import status_of
from preceptor.surfaces.web.pages import Pages, TheForm
from preceptor.surfaces.web.rendering import Call, further, look, page, render, with_query
from preceptor.surfaces.web.telling import DONE, Since, frame, while_signed_in
from preceptor.surfaces.web.views.replayed import MEASURES, around, instructions_in, item_view
from preceptor.surfaces.web.views.sources import PURPOSES
from preceptor.surfaces.web.views.steps import HUES, WORDS, seconds_between

router = Pages("/replays")
AT_ONCE, ITEMS, MOST = 25, 50, 200
Words = Annotated[str, Query(max_length=128)]
Place = Annotated[int, Path(ge=0, le=2**31)]
FIELDS = ("turn", "conversation", "agent", "limit", "instruction", "version", "model", "mode", "replies")
USUAL = {"limit": "20", "mode": Mode.STEP.value, "replies": Replies.RECORDED.value}


class Asked(msgspec.Struct, frozen=True):
    """Which items of a replay are looked at."""

    changed: bool
    cursor: str | None


async def _asked(changed: Words = "", cursor: PlaceCursor = None) -> Asked:
    return Asked(bool(changed), cursor)


TheAsked = Annotated[Asked, Depends(_asked)]


@router.get("")
@needs(Permission.REPLAY_RUN)
async def show_all(request: Request, preceptor: ThePreceptor, status: Words = "", cursor: Cursor = None) -> Response:
    wanted = Status(status) if status in set(Status) else None
    found = await preceptor.replays.page(wanted, cursor, AT_ONCE)
    chosen = {"status": wanted.value} if wanted else {}
    return page(
        request,
        "replays.html",
        here="replays",
        call=Call(with_query("/api/replays", chosen)),
        replays=found.items,
        statuses=tuple(Status),
        wanted=wanted,
        words=WORDS,
        hues=HUES,
        more=further(found, chosen),
    )


@router.get("/new")
@needs(Permission.REPLAY_RUN)
async def show_new(request: Request, preceptor: ThePreceptor) -> Response:
    """What is known already is in the address: `turn`, `conversation`, `agent`, `instruction`, `version`."""
    given = {name: request.query_params.get(name, "")[:128] for name in FIELDS}
    return await _form(request, preceptor, {name: value or USUAL.get(name, "") for name, value in given.items()})


@router.post("")
@needs(Permission.REPLAY_RUN)
async def create(request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    fields = {name: form.one(name).strip() for name in FIELDS}
    try:
        made = await preceptor.replays.create(checked(NewReplay, _wish(fields)))
    except PreceptorError as error:
        return await _form(request, preceptor, fields, error)
    return RedirectResponse(f"/replays/{made.replay_id}", 303)


@router.get("/{replay_id}")
@needs(Permission.REPLAY_RUN)
async def show(replay_id: Name, request: Request, preceptor: ThePreceptor, asked: TheAsked) -> Response:
    replay = await preceptor.replays.get(TaskId(replay_id))
    return page(
        request,
        "replay.html",
        here="replays",
        call=Call(f"/api/replays/{replay_id}"),
        **await _results(preceptor, replay, asked),
    )


@router.get("/{replay_id}/items/{place}")
@needs(Permission.REPLAY_RUN)
async def show_item(replay_id: Name, place: Place, request: Request, preceptor: ThePreceptor) -> Response:
    """One turn: what differs in its answer, its plan and what its models were shown."""
    named = TaskId(replay_id)
    replay = await preceptor.replays.summary(named)
    item = await preceptor.replays.item(named, place)
    previous, following = around(await preceptor.replays.changed_places(named), place)
    return page(
        request,
        "replay_item.html",
        here="replays",
        call=Call(f"/api/replays/{replay_id}/items"),
        replay=replay,
        place=place,
        purposes=PURPOSES,
        it=item_view(item, await preceptor.threads.names(instructions_in([item]))),
        previous=previous,
        following=following,
    )


@router.post("/{replay_id}/cancel")
@needs(Permission.REPLAY_RUN)
async def cancel(replay_id: Name, preceptor: ThePreceptor) -> Response:
    await preceptor.replays.cancel(TaskId(replay_id))
    return RedirectResponse(f"/replays/{replay_id}", 303)


@router.get("/{replay_id}/stream")
@needs(Permission.REPLAY_RUN)
async def stream(
    replay_id: Name,
    request: Request,
    preceptor: ThePreceptor,
    since: Since,
) -> Response:
    """How far it is, and in the end what it found."""
    await preceptor.replays.summary(TaskId(replay_id))
    told = _frames(request, preceptor, TaskId(replay_id), since)
    return Streamed(told)


def _wish(fields: dict[str, str]) -> dict[str, Any]:
    turns = fields["turn"].replace(",", " ").split()
    named = {"agentId": fields["agent"], "conversationId": fields["conversation"], "limit": _number(fields["limit"])}
    wanted = {name: value for name, value in named.items() if value not in {"", None}}
    overrides: dict[str, Any] = {"model": fields["model"]} if fields["model"] else {}
    if fields["instruction"]:
        overrides["instructions"] = {fields["instruction"]: fields["version"]}
    how = {name: fields[name] for name in ("mode", "replies") if fields[name]}
    return ({"turnIds": turns} if turns else {"filter": wanted}) | {"overrides": overrides} | how


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() and len(text) < 6 else text


async def _form(
    request: Request, preceptor: Preceptor, fields: dict[str, str], problem: PreceptorError | None = None
) -> Response:
    library = await preceptor.instructions.page(Wanted(), limit=MOST)
    return page(
        request,
        "replay_new.html",
        status=status_of(problem),
        here="replays",
        call=Call("/api/replays", "POST", _wish(fields)),
        fields=fields,
        problem=problem,
        agents=(await preceptor.agents.page(limit=MOST)).items,
        library=library.items,
        modes=tuple(Mode),
        replies=tuple(Replies),
    )


async def _results(preceptor: Preceptor, replay: Summary, asked: Asked) -> dict[str, Any]:
    found = await preceptor.replays.placed(replay.replay_id, changed=asked.changed, cursor=asked.cursor, limit=ITEMS)
    kept = {"changed": "1"} if asked.changed else {}
    return {
        "it": replay,
        "items": found.items,
        "names": await preceptor.glances.names(one.conversation_id for _, one in found.items if not one.answer),
        "changed": asked.changed,
        "words": WORDS,
        "hues": HUES,
        "measures": MEASURES,
        "seconds": seconds_between(replay.created_at, replay.ended_at),
        "more": further(found, kept),
    }


async def _frames(request: Request, preceptor: Preceptor, replay_id: TaskId, after: int) -> AsyncIterator[bytes]:
    yield b"retry: 500\n\n"
    events = request.app.state.streams.until_shutdown(preceptor.replays.follow(replay_id, after))
    async for batch in while_signed_in(request, events):
        over = any(one.kind in TERMINAL for one in batch)
        yield frame(batch[-1].seq, await _changes(request, preceptor, replay_id)) if batch else b": still here\n\n"
        if over:
            yield DONE
            return
    if (await preceptor.replays.summary(replay_id)).ended_at is not None:
        yield DONE


async def _changes(request: Request, preceptor: Preceptor, replay_id: TaskId) -> list[dict[str, Any]]:
    """How far it is; in the end all that was found."""
    replay = await preceptor.replays.get(replay_id)
    shown = await _results(preceptor, replay, Asked(changed=False, cursor=None))
    parts = ("replay_head",) if replay.ended_at is None else ("replay_head", "replay_results")
    return [
        {"op": "put", "id": name, "into": name, "html": render(look(request), f"parts/{name}.html", **shown)}
        for name in parts
    ]
