"""Where a plan leads. The model gives scores; the tables decide; its own opinion can only make the route stricter."""

from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Annotated, NamedTuple

import msgspec
from pydantic import Field

from preceptor.domain.decision import NUMBER, AtLeast, Below, Hit, HitPolicy, Is, Row, Table, Unknown
from preceptor.domain.reasoning.plan import Action, Plan
from preceptor.domain.reasoning.verdict import Judged, Standing, standing
from preceptor.domain.value import Value

Score = Annotated[float, Field(ge=0, le=1)]


class Thresholds(Value):
    """From which score on a request is blocked, and below which confidence it is asked about."""

    spam_score: Score = 0.7
    intent_confidence: Score = 0.6


class Opinions(StrEnum):
    """Whether the model's own action counts."""

    TABLE = "table"
    MAX = "max"


class Flow(StrEnum):
    CONTINUE = "continue"
    WAIT = "wait"
    STOP = "stop"


FLOW = {
    Action.NORMAL: Flow.CONTINUE,
    Action.CLARIFY: Flow.WAIT,
    Action.BLOCK: Flow.STOP,
    Action.GUARDIAN_BLOCK: Flow.STOP,
}
STRICTNESS = {action: rank for rank, action in enumerate(Action)}


class Route(msgspec.Struct, frozen=True):
    action: Action
    flow: Flow


class RoutingFacts(NamedTuple):
    level: Standing
    spam_score: float | None
    intent_confidence: float | None


def _to(action: Action) -> Route:
    return Route(action, FLOW[action])


@lru_cache(maxsize=256)
def routing(spam_score: float = 0.7, intent_confidence: float = 0.6) -> Table[RoutingFacts, Route]:
    """DT-002 with an agent's own thresholds. A score that is not known is never good enough for normal."""
    return Table(
        "DT-002",
        "where a plan leads",
        {"level": tuple(Standing), "spam_score": NUMBER, "intent_confidence": NUMBER},
        (
            Row("unsafe", {"level": Is(Standing.UNSAFE)}, _to(Action.GUARDIAN_BLOCK)),
            Row("spam", {"spam_score": AtLeast(spam_score)}, _to(Action.BLOCK)),
            Row("unscored", {"spam_score": Unknown()}, _to(Action.CLARIFY)),
            Row("unclear", {"intent_confidence": Below(intent_confidence)}, _to(Action.CLARIFY)),
            Row("clear", {}, _to(Action.NORMAL)),
        ),
    )


class Patience(StrEnum):
    ASK = "as routed"
    GO_ON = "go on as normal, with a note"


class PatienceFacts(NamedTuple):
    action: Action
    asked: int | None
    """How many turns in a row before this one ended in a question."""


@lru_cache(maxsize=64)
def patience(max_clarifications: int = 2) -> Table[PatienceFacts, Patience]:
    """DT-005: people are not asked for ever."""
    return Table(
        "DT-005",
        "how often in a row a user is asked",
        {"action": tuple(Action), "asked": NUMBER},
        (
            Row("asked-enough", {"action": Is(Action.CLARIFY), "asked": AtLeast(max_clarifications)}, Patience.GO_ON),
            Row("as-routed", {}, Patience.ASK),
        ),
    )


class Routed(NamedTuple):
    """The action, and everything that led to it."""

    action: Action
    table: Hit[Route]
    patience: Hit[Patience]
    opinion: Action | None

    @property
    def flow(self) -> Flow:
        return FLOW[self.action]

    @property
    def disagrees(self) -> bool:
        """The model would have gone another way than the table."""
        return self.opinion is not None and self.opinion is not self.table.outcome.action

    @property
    def asked_enough(self) -> bool:
        return self.patience.outcome is Patience.GO_ON


class RoutingPolicy(msgspec.Struct, frozen=True, dict=True):
    thresholds: Thresholds = Thresholds.as_declared()
    opinions: Opinions = Opinions.MAX
    max_clarifications: int = 2

    @cached_property
    def routing(self) -> Table[RoutingFacts, Route]:
        return routing(self.thresholds.spam_score, self.thresholds.intent_confidence)

    @cached_property
    def patience(self) -> Table[PatienceFacts, Patience]:
        return patience(self.max_clarifications)


DEFAULT_POLICY = RoutingPolicy()


def route(plan: Plan, judged: Judged | None, policy: RoutingPolicy = DEFAULT_POLICY, *, asked: int = 0) -> Routed:
    level = standing(judged)
    hit = policy.routing.decide(RoutingFacts(level, plan.spam_score, plan.intent_confidence))
    action = hit.outcome.action
    if policy.opinions is Opinions.MAX and plan.action is not None:
        opinion = _heard(plan.action, level)
        if STRICTNESS[opinion] > STRICTNESS[action]:
            action = opinion
    enough = policy.patience.decide(PatienceFacts(action, asked))
    if enough.outcome is Patience.GO_ON:
        action = Action.NORMAL
    return Routed(action, hit, enough, plan.action)


def _heard(opinion: Action, level: Standing) -> Action:
    """A safety block is the guardian's to call for: without its doubt the model's counts as an ordinary block."""
    if opinion is Action.GUARDIAN_BLOCK and level not in {Standing.CONTROVERSIAL, Standing.UNSAFE}:
        return Action.BLOCK
    return opinion


class Moment(StrEnum):
    NEW_USER_MESSAGE = "new user message"
    AFTER_PLAN = "after the plan"
    MID_TURN = "mid-turn"


class Binding(msgspec.Struct, frozen=True):
    """What is done about the planning tool."""

    available: bool
    forced: bool
    forget_plans: bool = False


class BindingFacts(NamedTuple):
    moment: Moment
    plans: int | None


BINDING: Table[BindingFacts, Binding] = Table(
    "DT-003",
    "when the planning tool can be called",
    {"moment": tuple(Moment), "plans": NUMBER},
    (
        Row(
            "first",
            {"moment": Is(Moment.NEW_USER_MESSAGE), "plans": Below(1)},
            Binding(available=True, forced=True),
        ),
        Row(
            "next",
            {"moment": Is(Moment.NEW_USER_MESSAGE), "plans": AtLeast(1)},
            Binding(available=True, forced=True, forget_plans=True),
        ),
        Row("planned", {"moment": Is(Moment.AFTER_PLAN)}, Binding(available=False, forced=False)),
        Row("mid-turn", {"moment": Is(Moment.MID_TURN)}, Binding(available=False, forced=False)),
    ),
    HitPolicy.UNIQUE,
)
