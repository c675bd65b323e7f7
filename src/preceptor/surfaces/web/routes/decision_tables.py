"""/decision-tables: the tables that decide where a turn goes, how often each row did, and what a case would come to."""

from datetime import timedelta
from typing import Annotated, Any

from fastapi import Query, Request, Response

from preceptor.app import Preceptor
from preceptor.domain.errors import Invalid
from preceptor.domain.ids import AgentId
from preceptor.domain.instructions.content import checked
from preceptor.domain.ownership import Permission
from preceptor.domain.reasoning.tables import Decided, ShownTable, TableTest
from preceptor.engine.reasoning import Metrics, Period
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.pages import Pages
from preceptor.surfaces.web.rendering import Call, look, page, with_query
from preceptor.surfaces.web.views.editing import number

router = Pages("/decision-tables")
Words = Annotated[str, Query(max_length=128)]
DAYS = ("1", "7", "30")
TITLES = (
    msg("whether the guardian stops a turn"),
    msg("where a plan leads"),
    msg("when the planning tool can be called"),
    msg("what goes out where"),
    msg("how often in a row a user is asked"),
)
POLICIES = {"first": msg("the first row that fits decides"), "unique": msg("only one row can fit")}
SAID = (
    msg("yes"),
    msg("no"),
    msg("unknown"),
    msg("new user message"),
    msg("after the plan"),
    msg("mid-turn"),
    msg("continue with the assessment"),
    msg("continue, flagged as unchecked"),
    msg("as routed"),
    msg("go on as normal, with a note"),
)
"""What stands in cells in words. All else there are names, which the API takes."""


@router.get("")
@needs(Permission.AGENT_READ)
async def show(
    request: Request, preceptor: ThePreceptor, agent: Words = "", days: Words = "", table: Words = ""
) -> Response:
    """A case is in the address too: `table`, and a `fact.…` for each of its inputs. What fired is counted if asked for:
    every turn of the days is read for it.
    """
    tables = await preceptor.reasoning.tables(agent or None)
    facts = {
        name.removeprefix("fact."): text for name, text in request.query_params.items() if name.startswith("fact.")
    }
    tried = next((one for one in tables if one.table_id == table), None)
    decided, problem = await _decided(preceptor, tried, facts, agent) if tried and facts else (None, None)
    fired = await _fired(request, preceptor, agent, days)
    return page(
        request,
        "decision_tables.html",
        here="decision-tables",
        call=Call(with_query("/api/decision-tables", {"agentId": agent} if agent else {})),
        tables=tables,
        agents=(await preceptor.agents.page(limit=200)).items,
        agent=agent,
        days=days,
        choices=DAYS,
        policies=POLICIES,
        said=SAID,
        fired=fired,
        table=table,
        facts=facts,
        decided=decided,
        problem=problem,
    )


async def _decided(
    preceptor: Preceptor, table: ShownTable, facts: dict[str, str], agent: str
) -> tuple[Decided | None, Invalid | None]:
    given: dict[str, Any] = {}
    for one in table.inputs:
        text = facts.get(one.name, "")
        given[one.name] = number(text) if one.values is None else text
    try:
        case = checked(TableTest, {"facts": given, "agentId": agent or None})
        return await preceptor.reasoning.test(table.table_id, case), None
    except Invalid as error:
        return None, error


async def _fired(request: Request, preceptor: Preceptor, agent: str, days: str) -> Metrics | None:
    """For those who may see the records, and want it."""
    if not look(request).may(Permission.RECORD_READ) or days not in DAYS:
        return None
    since = preceptor.session.world.now() - timedelta(days=int(days))
    return await preceptor.reasoning.metrics(Period(AgentId(agent) if agent else None, since))
