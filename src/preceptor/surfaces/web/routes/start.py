"""/start: what to do first, the demo, and a tour of three minutes."""

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from preceptor.adapters.models.recorded import LATE, REFUND, VAGUE
from preceptor.domain.ownership import Permission
from preceptor.engine.conversations import Wanted
from preceptor.engine.demos import AGENT
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.pages import Pages
from preceptor.surfaces.web.rendering import Call, look, page

router = Pages("/start")
TALKS = (
    (msg("Something does not work (demo)"), (VAGUE,)),
    (msg("Shipping cost back (demo)"), (REFUND,)),
    (msg("Order 4711 is late (demo)"), (LATE,)),
)


@router.get("")
@needs(Permission.CONVERSATION_READ)
async def show(request: Request, preceptor: ThePreceptor) -> Response:
    there = look(request).may(Permission.AGENT_READ) and await preceptor.demos.there()
    found = (await preceptor.conversations.page(Wanted(agent_id=AGENT), limit=1)).items if there else ()
    said = (await preceptor.conversations.page(Wanted(), limit=1)).items
    call = Call(f"/api/conversations?agentId={AGENT}")
    talk = found[0].conversation_id if found else None
    return page(request, "start.html", here="start", call=call, there=there, said=said, talk=talk)


@router.post("/demo")
@needs(Permission.AGENT_WRITE)
async def demo(request: Request, preceptor: ThePreceptor) -> Response:
    """Set up the demo and open its newest conversation, which is just being answered."""
    preceptor.session.caller.require(Permission.INSTRUCTION_WRITE)
    say = look(request).speaker.say
    made = await preceptor.demos.set_up(tuple((say(title), questions) for title, questions in TALKS))
    return RedirectResponse(f"/conversations/{made[-1]}", 303)
