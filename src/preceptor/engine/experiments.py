"""Experiments: design, start, stop, promote, and read what they have shown."""

from typing import Any

import msgspec

from preceptor.domain.errors import Conflict, NotFound, phrased
from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.experiment import Decision, Displaced, Experiment, NewExperiment, Status
from preceptor.domain.experiments.results import Results, analyse
from preceptor.domain.experiments.series import Series, series_of
from preceptor.domain.experiments.shown import ExposedConversation, exposed
from preceptor.domain.ids import AgentId, ExperimentId, OrgId
from preceptor.domain.ownership import SYSTEM, Caller
from preceptor.domain.paging import Page, page_of, position_of
from preceptor.domain.value import made
from preceptor.engine.agents import found as found_agent
from preceptor.engine.audit import note
from preceptor.engine.experimenting.designing import drafted, power_of, require_difference, require_in_force
from preceptor.engine.experimenting.enrolling import settings_of, told_in, with_settings
from preceptor.engine.experimenting.holding import give, hold
from preceptor.engine.repositories.experiments import ExperimentRunning, Slot
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.telling.compiled import Told

AT_ONCE = 100
GUARDRAIL = "guardrail_broken"


class Experiments(msgspec.Struct, frozen=True):
    session: Session

    async def create(self, given: NewExperiment | None = None, **fields: Any) -> Experiment:
        """Write a design down and, unless it is to be a draft, start it at once."""
        new = made(NewExperiment, given, fields)
        experiment_id = ExperimentId(self.session.world.new_id())

        async def program(work: Work) -> Experiment:
            design = await drafted(work, self.session, new, experiment_id)
            await work.experiments.add(design)
            await note(work, self.session.caller, "experiment.created", **_facts(design))
            return design if new.status == "draft" else await self._started(work, design)

        return await self.session.write(program)

    async def get(self, experiment_id: ExperimentId) -> Experiment:
        async def program(work: Work) -> Experiment:
            return (await found(work, experiment_id)).at(work.now)

        return await self.session.read(program)

    async def page(self, status: Status | None = None, cursor: str | None = None, limit: int = 50) -> Page[Experiment]:
        """Newest first."""

        async def program(work: Work) -> Page[Experiment]:
            rows = await work.experiments.page(status, position_of(cursor), limit + 1)
            return page_of([one.at(work.now) for one in rows], limit, lambda one: one.experiment_id)

        return await self.session.read(program)

    async def start(self, experiment_id: ExperimentId) -> Experiment:
        """Freeze the design, hold its agents at the control, and assign from now on. One that runs stays as it is."""

        async def program(work: Work) -> Experiment:
            experiment = (await found(work, experiment_id)).at(work.now)
            return experiment if experiment.status is Status.RUNNING else await self._started(work, experiment)

        return await self.session.write(program)

    async def stop(self, experiment_id: ExperimentId, because: str = "stopped") -> Experiment:
        """Assign no more: the control is served. One that has ended stays as it is."""

        async def program(work: Work) -> Experiment:
            experiment = await found(work, experiment_id)
            if experiment.status is Status.DRAFT:
                raise Conflict(phrased("This experiment has not started, so there is nothing to stop."))
            if experiment.status is not Status.RUNNING:
                return experiment
            return await self._over(work, experiment, because)

        return await self.session.write(program)

    async def promote(self, experiment_id: ExperimentId, arm: Arm = Arm.VARIANT) -> Experiment:
        """Make one arm what all its agents are told, or taken with. The experiment is over then."""

        async def program(work: Work) -> Experiment:
            experiment = await found(work, experiment_id)
            if experiment.status in {Status.DRAFT, Status.PROMOTED}:
                raise Conflict(
                    phrased("This experiment is %(status)s, so there is nothing to promote.", status=experiment.status)
                )
            before = await self._analysed(work, experiment)
            for agent_id in experiment.agent_ids:
                await self._promoted(work, experiment, agent_id, arm)
            return await self._over(work, experiment, "promoted", promoted=arm, verdict=before.verdict.code)

        return await self.session.write(program)

    async def results(self, experiment_id: ExperimentId) -> Results:
        """What it has shown so far. Looking does no harm."""

        async def program(work: Work) -> Results:
            return await self._analysed(work, await found(work, experiment_id))

        return await self.session.read(program)

    async def series(self, experiment_id: ExperimentId) -> Series:
        """How what it shows came about, day by day."""

        async def program(work: Work) -> Series:
            experiment = await found(work, experiment_id)
            return series_of(experiment, await work.exposures.all(experiment_id))

        return await self.session.read(program)

    async def conversations(
        self, experiment_id: ExperimentId, arm: Arm | None = None, cursor: str | None = None, limit: int = 50
    ) -> Page[ExposedConversation]:
        """What the numbers are made of."""

        async def program(work: Work) -> Page[ExposedConversation]:
            await found(work, experiment_id)
            rows = await work.exposures.page(experiment_id, arm, position_of(cursor), limit + 1)
            return page_of([exposed(one) for one in rows], limit, lambda one: one.conversation_id)

        return await self.session.read(program)

    async def told(self, experiment_id: ExperimentId, agent_id: AgentId, arm: Arm) -> Told:
        """What an agent is told in an arm. Where only settings differ, that is what it is told anyway."""

        async def program(work: Work) -> Told:
            experiment = await found(work, experiment_id)
            agent = await found_agent(work, agent_id)
            arms = [] if experiment.versions is None else [(experiment.versions, arm)]
            return (await told_in(work, self.session.compilations, agent.agent_id, arms))[1]

        return await self.session.read(program)

    async def look_after(self) -> int:
        """End those whose time is over, and those that broke a guard-rail, of all organisations."""
        over, after = 0, ""
        while running := await self.session.read(lambda work, after=after: work.experiments.running(after, AT_ONCE)):
            over += sum([await self._looked_after(org, one) for org, one in running])
            after = running[-1][1]
        return over

    async def _looked_after(self, org: OrgId, experiment_id: ExperimentId) -> bool:
        caller = Caller(SYSTEM.owner.model_copy(update={"org_id": org}), SYSTEM.permissions, "sweep")
        acting = Experiments(self.session.acting_as(caller))
        experiment = await acting.get(experiment_id)
        if experiment.status is Status.RUNNING and experiment.guardrails:
            broken = (await acting.results(experiment_id)).verdict.code == GUARDRAIL
            return broken and bool(await acting.stop(experiment_id, GUARDRAIL))
        return experiment.status is Status.ENDED and bool(await acting.stop(experiment_id))

    async def _started(self, work: Work, experiment: Experiment) -> Experiment:
        _require_draft(experiment)
        agents = [await found_agent(work, one) for one in experiment.agent_ids]
        for agent_id in experiment.agent_ids:
            await self._take(work, experiment, agent_id)
        displaced = await self._held(work, experiment)
        for agent in agents:
            await require_difference(work, self.session, experiment, agent)
        power = await power_of(work, self.session, experiment, experiment.agent_ids)
        news = {
            "status": Status.RUNNING,
            "displaced": displaced,
            "power": power,
            "planned_units": power.units_planned or power.units_needed,
            "started_at": work.now,
            "ends_at": work.now + experiment.lasts,
        }
        return await self._kept(work, experiment, "experiment.started", news)

    async def _take(self, work: Work, experiment: Experiment, agent_id: AgentId) -> None:
        """One experiment at a time for each agent and family. One whose time is over makes room."""
        versions = experiment.versions
        for family_id in experiment.families:
            if slot := await work.experiments.taken(agent_id, family_id):
                other = await found(work, slot.experiment_id)
                if other.is_on(work.now):
                    sentence = f"The experiment {{id}} runs with {agent_id} already. Stop it first, or wait."
                    raise ExperimentRunning(sentence, other.experiment_id)
                await self._over(work, other, "ended")
            arms = (versions.control.instruction_id, versions.variant.instruction_id) if versions else (None, None)
            await work.experiments.take(Slot(agent_id, family_id, experiment.experiment_id, *arms))

    async def _held(self, work: Work, experiment: Experiment) -> tuple[Displaced, ...]:
        if experiment.versions is None:
            return ()
        for arm in (experiment.versions.control, experiment.versions.variant):
            await require_in_force(work, arm)
        control = experiment.versions.control
        before = [await hold(work, self.session, agent_id, control) for agent_id in experiment.agent_ids]
        return tuple(one for one in before if one is not None)

    async def _promoted(self, work: Work, experiment: Experiment, agent_id: AgentId, arm: Arm) -> None:
        caller = self.session.caller
        if experiment.versions is not None:
            await give(work, self.session, agent_id, experiment, experiment.versions.of(arm))
            return
        assert experiment.settings is not None
        agent = await found_agent(work, agent_id)
        settings = settings_of(experiment.settings, arm)
        after = with_settings(agent, settings)
        if after is not agent:
            news = {"updated_at": work.now, "revision": agent.revision + 1}
            await work.agents.replace(after.model_copy(update=news))
            fields = sorted(name for name in type(settings).model_fields if getattr(settings, name) is not None)
            await note(work, caller, "agent.changed", agentId=agent_id, fields=fields)

    async def _over(self, work: Work, experiment: Experiment, because: str, **more: Any) -> Experiment:
        """It assigns no more, for whatever reason."""
        await work.experiments.leave(experiment.experiment_id)
        timely = experiment.at(work.now)
        ended = timely.ended_at or work.now
        status = Status.PROMOTED if "promoted" in more else timely.status
        if status is Status.RUNNING:
            status = Status.STOPPED
        elif status is Status.ENDED:
            because = "ended"
        by = self.session.caller.owner.user_id
        news = {
            "status": status,
            "ended_at": ended,
            "decision": Decision(by=by, at=work.now, because=because, **more),
        }
        return await self._kept(work, experiment, f"experiment.{status.value}", news)

    async def _kept(self, work: Work, experiment: Experiment, kind: str, news: dict[str, Any]) -> Experiment:
        after = experiment.model_copy(update=news | {"updated_at": work.now, "revision": experiment.revision + 1})
        await work.experiments.replace(after)
        await note(work, self.session.caller, kind, **_facts(after))
        return after

    async def _analysed(self, work: Work, experiment: Experiment) -> Results:
        tallies = await work.exposures.all(experiment.experiment_id)
        return analyse(experiment, tallies, work.now, self.session.means.language)


async def found(work: Work, experiment_id: ExperimentId) -> Experiment:
    experiment = await work.experiments.find(experiment_id)
    if experiment is None:
        raise NotFound("experiment", experiment_id)
    return experiment


def _require_draft(experiment: Experiment) -> None:
    if experiment.status is not Status.DRAFT:
        raise Conflict(
            phrased("This experiment is %(status)s. Make a new one: a design is run once.", status=experiment.status)
        )


def _facts(experiment: Experiment) -> dict[str, Any]:
    decision = experiment.decision
    return {
        "experimentId": experiment.experiment_id,
        "name": experiment.name,
        "status": experiment.status,
        "agentIds": experiment.agent_ids,
        "control": experiment.control_instruction_id,
        "variant": experiment.variant_instruction_id,
        "decision": decision and decision.model_dump(mode="json"),
    }
