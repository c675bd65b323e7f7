"""/agents/{id}/effective: what an agent is told, line by line, now or then, and beside another."""

from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query, Request, Response

from preceptor.domain.errors import Invalid
from preceptor.domain.ids import AgentId
from preceptor.domain.ownership import Permission
from preceptor.surfaces.rest.parameters import Name
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.web.pages import Pages
from preceptor.surfaces.web.rendering import Call, page
from preceptor.surfaces.web.views.diff import changes_in, compared
from preceptor.surfaces.web.views.told import sections

router = Pages("/agents")
Words = Annotated[str, Query(max_length=128)]
Against = Annotated[str, Query(alias="with", max_length=128)]


@router.get("/{agent_id}/effective")
@needs(Permission.INSTRUCTION_READ)
async def show(
    agent_id: Name,
    request: Request,
    preceptor: ThePreceptor,
    at: Words = "",
    with_: Against = "",
    then: Words = "",
) -> Response:
    """`with` and `then` name another agent and another moment to compare with."""
    agent = await preceptor.agents.get(AgentId(agent_id))
    moment = moment_of(at)
    told = await preceptor.guidance.compiled(agent.agent_id, moment)
    count = preceptor.session.means.models.counter(agent.model).count
    other = None
    if with_ or then:
        other = await preceptor.guidance.compiled(AgentId(with_ or agent_id), moment_of(then))
    blocks = compared(told.rendered.prompt.split("\n"), other.rendered.prompt.split("\n")) if other else []
    asked = {"at": moment.isoformat().replace("+00:00", "Z")} if moment else {}
    return page(
        request,
        "agent_effective.html",
        here="agents",
        call=Call(f"/api/agents/{agent_id}/instructions/effective{'?' + urlencode(asked) if asked else ''}"),
        agent=agent,
        at=at,
        then=then,
        with_=with_,
        told=sections(told),
        remark="",
        shown=told.shown,
        tokens=count(told.rendered.prompt),
        speakers=told.speakers,
        other=other,
        other_tokens=count(other.rendered.prompt) if other else 0,
        blocks=blocks,
        changes=changes_in(blocks),
        agents=(await preceptor.agents.page(limit=200)).items,
    )


def moment_of(text: str) -> datetime | None:
    """As a browser's field writes it, or as the API does; without a zone it is UTC."""
    if not text.strip():
        return None
    try:
        found = datetime.fromisoformat(text.strip().replace(" ", "T"))
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid("That is not a moment. Write it as 2030-01-31T12:00.") from None
