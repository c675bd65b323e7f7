"""Draft: get a plan out of a model. It is held to it as strictly as it can be, and asked once more if it fails."""

from typing import Any

import msgspec

from preceptor.domain.errors import Invalid, PreceptorError
from preceptor.domain.ids import CallId
from preceptor.domain.messages.message import ToolCall, texts
from preceptor.domain.prompts.assemble import Passage, assemble
from preceptor.domain.prompts.prompt import Ask, Effect, Force, Prompt, Request, Sampling, Segment, ToolSpec
from preceptor.domain.prompts.reply import Fault, ModelFailure, Reply
from preceptor.domain.prompts.source import AnySource, FromEngine, FromGuardian
from preceptor.domain.reasoning.plan import TOOL_NAME, Malformed, Plan, degraded
from preceptor.domain.reasoning.policy import SgrPolicy
from preceptor.domain.reasoning.reading import read_reply
from preceptor.domain.reasoning.schema import answer_as_json, ask_again, tool_description, tool_schema
from preceptor.domain.reasoning.tail import guardian_assessment
from preceptor.domain.turns.calls import Call, CallOutcome, LeftOut
from preceptor.domain.turns.facts import TurnStatus
from preceptor.domain.turns.step import ATTEMPTS, Settle
from preceptor.engine.ports import ChatModel
from preceptor.engine.telling.voice import counted, opening
from preceptor.engine.turn.proving import proven
from preceptor.engine.turn.run import Run
from preceptor.engine.turn.stages.ask import pause_before, too_much
from preceptor.engine.turn.stages.fall_back import stand_in
from preceptor.engine.turn.stages.listen import hear
from preceptor.engine.turn.stages.record import manifest
from preceptor.engine.turn.stages.window import narrowed

TRIES = 2
"""Once, and once more with what was wrong."""
MOST_CALLS = 10
"""For one plan, whatever happens in between."""
PATIENCE = 60.0
"""Seconds for one call: a plan that takes longer is not worth the wait."""
UNREADABLE = "It could not be read."
_QUERIES = frozenset({"q", "query", "queries", "question", "questions", "search"})


class Drafted(msgspec.Struct, frozen=True):
    plan: Plan
    raw: Any
    """What the model wrote."""
    reasons: tuple[str, ...] = ()
    """What was wrong with it at first, or in the end."""


class Drafting(msgspec.Struct):
    """How far it has come. `rungs` are the ways to hold the model to a plan that are left, the strictest first."""

    run: Run
    model: ChatModel
    rungs: list[Force | None]
    answered: int
    failures: int = 0
    raw: Any = None
    reasons: tuple[str, ...] = ()
    given_up: bool = False

    @property
    def goes_on(self) -> bool:
        return not self.given_up and self.answered < TRIES and self.run.turn.plan_calls < MOST_CALLS

    def read(self, reply: Reply) -> Plan | None:
        self.answered += 1
        self.raw = written(reply)
        needs = any(map(searches, self.run.voice.tools))
        match read_reply(reply.parts, needs_subqueries=needs):
            case Plan() as plan:
                return plan
            case Malformed(reasons=reasons):
                self.reasons = reasons
                return None

    async def fail(self, failure: PreceptorError) -> None:
        """What a provider does not take is asked for less strictly; what it could not do now, a little later."""
        fault = failure.fault if isinstance(failure, ModelFailure) else Fault.REJECTED
        if fault is Fault.REJECTED and len(self.rungs) > 1:
            self.rungs.pop(0)
            return
        self.failures += 1
        if isinstance(failure, ModelFailure) and failure.retryable and self.failures < ATTEMPTS:
            await self.run.means.runner.pause(pause_before(self.run, self.failures, failure.retry_after))
            return
        self.reasons = (str(failure),)
        self.given_up = not self._stood_in_for()

    def _stood_in_for(self) -> bool:
        """Whether another model plans from here on: where the one that answers plans, who stands in for it does."""
        another = stand_in(self.run) if _plans_itself(self.run) else None
        if another is None:
            return False
        self.model, self.rungs, self.failures = another, _rungs(another), 0
        return another.capabilities.plans


async def draft(run: Run, policy: SgrPolicy) -> Drafted | Settle:
    """A plan, in any case. The last resort is one that no model made, and that says so."""
    answered = _answered_before(run)
    try:
        model = run.model_of(run.turn.main) if _plans_itself(run) else run.means.models.find(run.pins.plan_model)
    except PreceptorError as gone:
        return Drafted(degraded(policy.thresholds.intent_confidence), None, (str(gone),))
    drafting = Drafting(run, model, _rungs(model), answered, reasons=(UNREADABLE,) if answered else ())
    while drafting.goes_on:
        try:
            reply = await _ask(drafting)
        except (ModelFailure, Invalid) as failure:
            await drafting.fail(failure)
            continue
        if isinstance(reply, Settle):
            return reply
        reasons = drafting.reasons
        if (plan := drafting.read(reply)) is not None:
            return Drafted(plan, drafting.raw, reasons)
    return Drafted(degraded(policy.thresholds.intent_confidence), drafting.raw, drafting.reasons)


def searches(spec: ToolSpec) -> bool:
    """Whether a tool looks something up: it changes nothing, and takes a query."""
    properties: dict[str, Any] = spec.parameters.get("properties") or {}
    return spec.effect is Effect.READ and not _QUERIES.isdisjoint(properties)


def written(reply: Reply) -> Any:
    """What the model wrote: the arguments of its one call, of all its calls, or its text."""
    calls = [call.malformed or call.arguments for call in reply.parts if isinstance(call, ToolCall)]
    return (calls[0] if len(calls) == 1 else calls) if calls else texts(reply.parts)


def _plans_itself(run: Run) -> bool:
    """Whether the model that answers also plans."""
    return run.pins.plan_model == run.pins.model


def _answered_before(run: Run) -> int:
    """How often a model has answered in vain before the process died."""
    endings = run.turn.endings
    return sum(
        call.purpose == "plan" and call_id in endings and endings[call_id].outcome is CallOutcome.OK
        for call_id, call in run.turn.calls.items()
    )


def _rungs(model: ChatModel) -> list[Force | None]:
    able = model.capabilities
    return [*(force for force in able.forced if able.tools or force is Force.JSON_SCHEMA), None]


async def _ask(drafting: Drafting) -> Reply | Settle:
    """One call, written down before it is made."""
    run, model, force = drafting.run, drafting.model, drafting.rungs[0]
    said, left_out = _shown(run, model)
    prompt = _prompt(drafting, said)
    if exceeded := too_much(run, prompt, model.capabilities):
        return Settle(TurnStatus.FAILED, "budget_exceeded", exceeded)
    asked = Ask(model=model.name, sampling=_sampling(run), forced_tool=TOOL_NAME if force else None, force=force)
    request = model.render(proven(run, prompt, said), asked)
    call = _call(run, prompt, asked, request, said)
    run.journal.note("call.started", msgspec.structs.replace(call, left_out=left_out))
    await run.journal.commit()
    return await hear(run, model, call, request, min(PATIENCE, run.seconds_left))


def _call(run: Run, prompt: Prompt, asked: Ask, request: Request, said: Passage) -> Call:
    began = opening(prompt.system, prompt.tools)
    for kept in (began.system_kept, began.tools_kept):
        if kept is not None:
            run.journal.keep(kept.sha256, kept.body)
    return Call(
        call_id=CallId(run.world.new_id()),
        purpose="plan",
        model=asked.model,
        attempt=run.turn.plan_calls + 1,
        fallback=run.turn.main.fallback if _plans_itself(run) else 0,
        tokens=prompt.tokens,
        format=request.format,
        sha256=request.sha256,
        ask=asked,
        system=began.system_kept.sha256,
        tools=began.tools_kept and began.tools_kept.sha256,
        **manifest(run, said),
        tail=prompt.tail,
        overhead=prompt.overhead,
        analyses=run.analyses,
    )


def _sampling(run: Run) -> Sampling:
    """What the agent's answers are asked for with says little of its plans, and nothing to another model."""
    if not _plans_itself(run):
        return Sampling()
    return msgspec.structs.replace(
        run.sampling, stop=(), response_format=None, max_completion_tokens=None, parallel_tool_calls=None
    )


def _shown(run: Run, model: ChatModel) -> tuple[Passage, tuple[LeftOut, ...]]:
    besides = sum(piece.tokens for piece in run.voice.system) + run.counter.count(tool_description()) * 10
    said, left_out = narrowed(run, model.capabilities, run.said_in(run.turn.main), besides, "the model that plans")
    return run.passage_of(said), left_out


def _prompt(drafting: Drafting, said: Passage) -> Prompt:
    run, able = drafting.run, drafting.model.capabilities
    schema = able.tool_schema(tool_schema(run.pins.language, run.means.product_name))
    spec = counted(ToolSpec(TOOL_NAME, tool_description(), schema), run.counter)
    bound = able.tools or drafting.rungs[0] is not None
    tail: list[tuple[str, AnySource]] = []
    if (assessment := guardian_assessment(run.turn.verdict)) is not None:
        tail.append((assessment, FromGuardian(run.turn.turn_id)))
    if not bound:
        tail.append((answer_as_json(schema), FromEngine("plan_schema")))
    if drafting.reasons:
        tail.append((ask_again(drafting.reasons), FromEngine("plan_again")))
    return assemble(
        run.voice.system,
        said,
        tuple(Segment(text=text, source=source, tokens=run.counter.count(text)) for text, source in tail),
        (spec,) if bound else (),
        overhead=able.message_overhead,
    )
