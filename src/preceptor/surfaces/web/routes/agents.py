"""/agents: who there is, and the instructions each is given. What a change would do is shown before it is made."""

from collections.abc import Sequence
from typing import Any

import msgspec
from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from preceptor.app import Preceptor
from preceptor.domain.agents import AgentChange, NewAgent
from preceptor.domain.errors import Conflict, Invalid, NotFound, PreceptorError, PreconditionFailed, Refused
from preceptor.domain.history.errors import InvalidHistorySize
from preceptor.domain.ids import AgentId, FamilyId
from preceptor.domain.instructions.assignment import AgentAssignment, AssignmentChange, NewAssignment
from preceptor.domain.instructions.content import WrittenConstraint, checked
from preceptor.domain.instructions.impact import AssignmentQuestion
from preceptor.domain.instructions.instruction import InstructionType
from preceptor.domain.ownership import Permission
from preceptor.engine.instructions import Wanted
from preceptor.engine.preconditions import check
from preceptor.surfaces.problems import problem_of
from preceptor.surfaces.rest.parameters import Cursor, Name
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.pages import Form, Pages, TheForm
from preceptor.surfaces.web.rendering import Call, look, page
from preceptor.surfaces.web.sentences import faults_in
from preceptor.surfaces.web.views import profiles
from preceptor.surfaces.web.views.answering import ENDS, answering_of, answers_in, change_of
from preceptor.surfaces.web.views.assigned import Card, Effect, card_of, change_in, filled_in, reordered
from preceptor.surfaces.web.views.filled import Filled

router = Pages("/agents")
AT_ONCE = 50
MOST = 200
NEW, ORDER = "new", "order"


class State(msgspec.Struct, frozen=True):
    """What a page shows besides what is stored: forms half filled in, and what they would do."""

    effect: Effect | None = None
    card: Card | None = None
    order: dict[str, int] | None = None
    new: dict[str, str] | None = None
    problem: PreceptorError | None = None
    answering: Filled | None = None
    profile: Filled | None = None

    @property
    def form(self) -> str:
        """Which form of the page the problem is about, if it is one of the two below all else."""
        return "profile" if self.profile else "answering" if self.answering else ""

    @property
    def status(self) -> int:
        if self.problem is not None:
            return problem_of(self.problem).status
        return 422 if any(form and form.wrong for form in (self.answering, self.profile)) else 200


@router.get("")
@needs(Permission.AGENT_READ)
async def show_all(request: Request, preceptor: ThePreceptor, cursor: Cursor = None) -> Response:
    return await _list(request, preceptor, cursor)


@router.post("")
@needs(Permission.AGENT_WRITE)
async def create(request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """Make an agent, or say at each field what is wrong with it."""
    given = profiles.filled_in(form.fields, profiles.NEW)
    try:
        new = NewAgent.model_validate({name: value for name, value in given.fields.items() if value})
        wrong = await preceptor.agents.problems(AgentChange(model=new.model))
        if not wrong:
            made = await preceptor.agents.create(new)
            return RedirectResponse(f"/agents/{made.agent_id}", 303)
    except ValidationError as error:
        wrong = faults_in(error)
    except Conflict as error:
        wrong = {"agentId": error}
    return await _list(request, preceptor, given=given.with_faults(wrong))


@router.get("/{agent_id}")
@needs(Permission.AGENT_READ)
async def show(agent_id: Name, request: Request, preceptor: ThePreceptor) -> Response:
    return await _page(request, preceptor, AgentId(agent_id), State())


@router.post("/{agent_id}/profile")
@needs(Permission.AGENT_WRITE)
async def change_profile(agent_id: Name, request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """Change what the form says otherwise, or say at each field what is wrong with it.

    Where someone else changed it meanwhile, both are shown and nothing is saved.
    """
    named, given = AgentId(agent_id), profiles.filled_in(form.fields)
    agent, everyones = await preceptor.agents.get(named), _everyones(preceptor)
    try:
        check(f'"{form.one("revision")}"', agent.etag)
        change = AgentChange.model_validate(profiles.change_in(given.fields, agent, everyones))
        wrong = await preceptor.agents.problems(change)
        if not wrong and change.model_fields_set:
            await preceptor.agents.change(named, change, agent.etag)
    except PreconditionFailed as error:
        now = profiles.profile_of(await preceptor.agents.get(named), everyones)
        both = profiles.merged(given.fields, profiles.was_in(form.one("was")), now)
        return await _page(request, preceptor, named, State(profile=both, problem=error))
    except ValidationError as error:
        wrong = faults_in(error)
    except InvalidHistorySize as error:
        wrong = {"parameters.maxHistorySize": error}
    if wrong:
        return await _page(request, preceptor, named, State(profile=given.with_faults(wrong)))
    return RedirectResponse(f"/agents/{agent_id}#profile", 303)


@router.post("/{agent_id}/answering")
@needs(Permission.AGENT_WRITE)
async def change_answering(agent_id: Name, request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """Change the models in place of its own and who words its plans, or say at each field what is wrong with it."""
    named, given = AgentId(agent_id), answers_in(form.fields)
    try:
        change = change_of(given, await preceptor.agents.get(named), preceptor.session.means.sgr)
        wrong = await preceptor.agents.problems(change)
        if not wrong:
            await preceptor.agents.change(named, change, f'"{form.one("revision")}"')
            return RedirectResponse(f"/agents/{agent_id}#answering", 303)
    except ValidationError as error:
        wrong = faults_in(error)
    except (Invalid, PreconditionFailed) as error:
        return await _page(request, preceptor, named, State(answering=given, problem=error))
    return await _page(request, preceptor, named, State(answering=given.with_faults(wrong)))


@router.post("/{agent_id}/assignments")
@needs(Permission.AGENT_WRITE)
async def assign(agent_id: Name, request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    named = AgentId(agent_id)
    given = {name: form.one(name).strip() for name in ("instructionId", "pin", "priority")}
    wish = {name: int(value) if value.lstrip("-").isdecimal() else value for name, value in given.items() if value}
    wish |= {name: given[name] for name in ("instructionId", "pin") if given[name]}
    try:
        if form.one("do") == "save":
            made = await preceptor.assignments.assign(named, checked(NewAssignment, wish))
            return RedirectResponse(f"/agents/{agent_id}#assignment-{made.assignment_id}", 303)
        impact = await preceptor.impacts.of_assignment(named, checked(AssignmentQuestion, wish))
        effect = Effect(NEW, impact.prompt, impact.warnings)
        return await _page(request, preceptor, named, State(effect, new=given))
    except (Invalid, Conflict, NotFound) as error:
        return await _page(request, preceptor, named, State(new=given, problem=error))


@router.post("/{agent_id}/assignments/{family_id}")
@needs(Permission.AGENT_WRITE)
async def change(agent_id: Name, family_id: Name, request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """Show what the form would do, do it, or take the instruction away."""
    named = AgentId(agent_id)
    card = filled_in(await _card(preceptor, await preceptor.assignments.get(named, family_id)), form.fields)
    place = f"/agents/{agent_id}#assignment-{card.assignment.assignment_id}"
    if_match = f'"{form.one("revision")}"'
    try:
        match form.one("do"):
            case "save":
                if wish := change_in(card):
                    await preceptor.assignments.change(named, family_id, checked(AssignmentChange, wish), if_match)
                return RedirectResponse(place, 303)
            case "remove":
                await preceptor.assignments.remove(named, family_id, if_match)
                return RedirectResponse(f"/agents/{agent_id}", 303)
            case wish:
                effect = await _effect(preceptor, card, removes=wish == "ask-remove")
                return await _page(request, preceptor, named, State(effect, card))
    except (Invalid, Conflict, PreconditionFailed, Refused) as error:
        return await _page(request, preceptor, named, State(card=card, problem=error))


@router.post("/{agent_id}/order")
@needs(Permission.AGENT_WRITE)
async def reorder(agent_id: Name, request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """`do` is `up:FAMILY`, `down:FAMILY`, or `save` with the priorities that were shown."""
    named = AgentId(agent_id)
    if form.one("do") == "save":
        await preceptor.assignments.reorder(named, _priorities(form))
        return RedirectResponse(f"/agents/{agent_id}#assignments", 303)
    verb, _, family_id = form.one("do").partition(":")
    given = (await preceptor.assignments.page(named, limit=MOST)).items
    order = reordered(given, family_id, 1 if verb == "down" else -1)
    prompt = await preceptor.impacts.of_order(named, {FamilyId(family): to for family, to in order.items()})
    return await _page(request, preceptor, named, State(Effect(ORDER, prompt), order=order))


async def _effect(preceptor: Preceptor, card: Card, *, removes: bool) -> Effect:
    """Also where the form cannot be: then it says why."""
    was = card.assignment
    wish: dict[str, Any] = {"remove": True} if removes else change_in(card)
    question = checked(AssignmentQuestion, {"instructionId": was.family_id} | wish)
    impact = await preceptor.impacts.of_assignment(was.agent_id, question)
    return Effect(was.family_id, impact.prompt, impact.warnings, removes)


async def _list(
    request: Request,
    preceptor: Preceptor,
    cursor: str | None = None,
    *,
    given: Filled | None = None,
) -> Response:
    found = await preceptor.agents.page(cursor, AT_ONCE)
    taken = given is not None and isinstance(given.wrong.get("agentId"), Conflict)
    return page(
        request,
        "agents.html",
        status=200 if given is None else 409 if taken else 422,
        here="agents",
        call=Call("/api/agents"),
        agents=found.items,
        more=found.next_cursor,
        given=given or profiles.filled_in((), profiles.NEW),
        labels=profiles.NEW,
    )


async def _page(request: Request, preceptor: Preceptor, agent_id: AgentId, state: State) -> Response:
    agent = await preceptor.agents.get(agent_id)
    reads = look(request).may(Permission.INSTRUCTION_READ)
    given = (await preceptor.assignments.page(agent_id, limit=MOST)).items if reads else ()
    order = state.order or {}
    shown = sorted(given, key=lambda one: order.get(one.family_id, one.priority))
    had = {one.family_id for one in given}
    library = (await preceptor.instructions.page(Wanted(), limit=MOST)).items if reads else ()
    saved = profiles.profile_of(agent, _everyones(preceptor))
    profile = state.profile or saved
    return page(
        request,
        "agent.html",
        status=state.status,
        here="agents",
        call=Call(f"/api/agents/{agent_id}/instructions") if reads else Call(f"/api/agents/{agent_id}"),
        agent=agent,
        cards=[await _shown(preceptor, one, state.card) for one in shown],
        order=order,
        effect=state.effect,
        changing=state.card.assignment.family_id if state.card else "",
        given=state.new or {"instructionId": "", "pin": "latest", "priority": "100"},
        problem=state.problem,
        form=state.form,
        library=[one for one in library if one.family_id not in had and one.type is not InstructionType.TEMPLATE],
        answering=state.answering or answering_of(agent, preceptor.session.means.sgr),
        ends=ENDS,
        profile=profile,
        tools=profiles.choices_in(profile, await preceptor.agents.tools()),
        was=saved.fields,
        about=profiles,
        facts=profiles.as_facts(agent, saved),
        templates=[one.name for one in library if one.type is InstructionType.TEMPLATE],
    )


async def _shown(preceptor: Preceptor, one: AgentAssignment, half_done: Card | None) -> Card:
    if half_done is not None and half_done.assignment.family_id == one.family_id:
        return half_done
    return await _card(preceptor, one)


async def _card(preceptor: Preceptor, one: AgentAssignment) -> Card:
    constraints: Sequence[WrittenConstraint] = ()
    if one.instruction_id is not None:
        constraints = (await preceptor.instructions.get(one.instruction_id)).content.constraints
    return card_of(one, constraints)


def _everyones(preceptor: Preceptor) -> profiles.Everyones:
    means = preceptor.session.means
    return profiles.Everyones(means.guard, means.sgr)


def _priorities(form: Form) -> dict[FamilyId, int]:
    written = {name.removeprefix("priority."): value for name, value in form.fields if name.startswith("priority.")}
    if not all(value.lstrip("-").isdecimal() and len(value) < 11 for value in written.values()):
        raise Invalid(msg("A priority is a whole number. Open the page again and repeat the change."))
    return {FamilyId(family): int(value) for family, value in written.items()}
