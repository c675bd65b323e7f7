"""/api/decision-tables and /api/reasoning"""

from typing import Annotated

from fastapi import Query

from preceptor.domain.ids import AgentId
from preceptor.domain.ownership import Permission
from preceptor.domain.reasoning.tables import Decided, Tables, TableTest
from preceptor.domain.times import Moment
from preceptor.engine.reasoning import BackTest, Metrics, Outcome, Period
from preceptor.surfaces.rest.parameters import Name
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs

router = Api("/api", "reasoning")

AnAgent = Annotated[
    str | None, Query(alias="agentId", description="With its own thresholds.", max_length=128, pattern=r"^[^\x00]+$")
]
Id = Annotated[str | None, Query(alias="instructionId", max_length=128, pattern=r"^[^\x00]+$")]


@router.get("/decision-tables")
@needs(Permission.AGENT_READ)
async def tables(preceptor: ThePreceptor, agent_id: AnAgent = None) -> Tables:
    """Read the tables that decide where a turn goes: as rows, and as Markdown. The version is a hash of the rows."""
    return Tables(items=tuple(await preceptor.reasoning.tables(agent_id)))


@router.post("/decision-tables/{table_id}/test")
@needs(Permission.AGENT_READ)
async def test(table_id: Name, case: TableTest, preceptor: ThePreceptor) -> Decided:
    """Decide one case. Nothing is done."""
    return await preceptor.reasoning.test(table_id, case)


@router.post("/reasoning/back-test")
@needs(Permission.REPLAY_RUN)
async def back_test(rules: BackTest, preceptor: ThePreceptor) -> Outcome:
    """Which past turns other rules would have sent another way, by their plans and verdicts. No model is asked."""
    return await preceptor.reasoning.back_test(rules)


@router.get("/reasoning/metrics")
@needs(Permission.RECORD_READ)
async def metrics(
    preceptor: ThePreceptor,
    agent_id: AnAgent = None,
    instruction_id: Id = None,
    since: Annotated[Moment | None, Query(alias="from")] = None,
    until: Annotated[Moment | None, Query(alias="to")] = None,
) -> Metrics:
    """What plans were worth and what they cost: by agent, by what it was told, for a period."""
    return await preceptor.reasoning.metrics(
        Period(None if agent_id is None else AgentId(agent_id), since, until, instruction_id)
    )
