"""Agents: who a conversation is with."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from pydantic import AwareDatetime, Field, SerializerFunctionWrapHandler, StringConstraints, field_serializer

from preceptor.domain.delegation import Limits
from preceptor.domain.ids import AgentId
from preceptor.domain.orgs import Name
from preceptor.domain.ownership import Owner
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.reasoning.policy import GuardPolicy, SgrPolicy
from preceptor.domain.spelling import meant
from preceptor.domain.value import FROM_JSON, VISIBLE_TEXT, AnyId, Revised, Value, left_out, told

HANDLE_TEXT = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"
Handle = Annotated[str, StringConstraints(pattern=HANDLE_TEXT)]
Word = Annotated[str, StringConstraints(max_length=64, pattern=VISIBLE_TEXT)]
Words = Annotated[tuple[Word, ...], Field(max_length=100)]

ModelName = Annotated[str, StringConstraints(max_length=200, pattern=VISIBLE_TEXT)]

Fallbacks = Annotated[tuple[ModelName, ...], Field(max_length=5)]

DEFAULT_AGENT = AgentId("assistant")

LISTED = 20
"""Names of tools in a sentence."""


class Budget(Value):
    """What one turn of an agent may take, with everyone it delegates to. No more than any turn may."""

    tokens: Annotated[int, Field(ge=1, lt=2**53), FROM_JSON] | None = None
    seconds: Annotated[float, Field(gt=0, le=86_400)] | None = None
    cost: Annotated[float, Field(gt=0, lt=2**53, description="In the currency of the models' prices.")] | None = None

    def within(self, limits: Limits) -> Limits:
        """The smaller of the two, of each."""
        wanted = {name: value for name, value in told(self).items() if value is not None}
        return msgspec.structs.replace(
            limits, **{name: min(value, getattr(limits, name) or value) for name, value in wanted.items()}
        )


class AgentInstructions(Value):
    """The instructions of an agent in brief: what is assigned to it says the same, and more."""

    system_instruction_id: AnyId | None = None
    task_instruction_ids: tuple[AnyId, ...] = ()
    behavior_instruction_id: AnyId | None = None


class WantedInstructions(AgentInstructions):
    task_instruction_ids: Annotated[tuple[AnyId, ...], Field(max_length=100)] = ()


class NewAgent(Value):
    agent_id: Handle | None = Field(default=None, description="Chosen by you, unique in your organisation.")
    name: Name
    role: Word = "assistant"
    capabilities: Words = ()
    permissions: Words = ()
    model: ModelName | None = Field(default=None, description="The model that answers, unless a message says another.")
    fallback_models: Fallbacks = Field(
        default=(),
        description="Asked in its place, in this order, when it cannot answer: it is down, refuses the key, is too "
        "busy or too small. The turn's budget is checked again before each.",
    )
    tools: Words = Field(default=(), description="The names of the tools it may use.")
    parameters: RequestParameters | None = Field(
        default=None, description="For all its messages, where a conversation or a message does not say otherwise."
    )
    guard: GuardPolicy | None = Field(default=None, description="How its turns are guarded, if not as all are.")
    sgr: SgrPolicy | None = Field(default=None, description="How its turns are planned, if not as all are.")
    language: Word | None = None
    budget: Budget | None = Field(default=None, description="What a turn of it may take, if less than any may.")
    carry_over: bool = Field(
        default=False,
        description="Whether a specialist whose words are the answer (`markIntermediate` false) also hears the user's "
        "next message first, until it returns control.",
    )
    instructions: WantedInstructions | None = Field(
        default=None, description="Assigned to it at once, each following its latest version."
    )


class AgentChange(Value):
    """What to change; what is left out stays."""

    name: Name = left_out()
    role: Word = left_out()
    capabilities: Words = left_out()
    permissions: Words = left_out()
    model: ModelName | None = None
    fallback_models: Fallbacks = left_out()
    tools: Words = left_out()
    parameters: RequestParameters | None = None
    guard: GuardPolicy | None = None
    sgr: SgrPolicy | None = None
    language: Word | None = None
    budget: Budget | None = None
    carry_over: bool = left_out()


class Agent(Revised):
    agent_id: AgentId
    name: str
    role: str
    capabilities: tuple[str, ...]
    permissions: tuple[str, ...]
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    parameters: RequestParameters | None = None
    guard: GuardPolicy | None = None
    sgr: SgrPolicy | None = None
    language: str | None = None
    budget: Budget | None = None
    carry_over: bool = False
    owner: Owner
    created_at: AwareDatetime
    updated_at: AwareDatetime
    revision: int

    @field_serializer("guard", "sgr", mode="wrap", when_used="json")
    def _as_said(self, policy: GuardPolicy | SgrPolicy | None, _: SerializerFunctionWrapHandler):  # noqa: ANN202 - its schema is theirs
        """Only what was said of it: what was not is as it is for all, and sending it back makes it no other."""
        return policy and policy.model_dump(mode="json", exclude_unset=True)


class AgentWarning(Value):
    """Something about an agent that means nothing here now. It is kept all the same: it may mean something later."""

    code: str
    sentence: str
    path: str = Field(description="A JSON pointer into the agent.")


class ShownAgent(Agent):
    """An agent as it is read on its own, with the instructions that speak to it now."""

    instructions: AgentInstructions = AgentInstructions.as_declared()
    warnings: tuple[AgentWarning, ...] = ()


NO_GUARDIAN = "No guardian is set up here, so nothing that is said to this agent is judged."


def unknown_tools(wanted: Sequence[str], known: Sequence[str]) -> tuple[AgentWarning, ...]:
    """Of the tools that an agent names, those that are not here. A server that offers them may yet be connected.

    What was meant is looked for where there is one: in a hundred, that would hold others up.
    """
    here = frozenset(known)
    unknown = [(place, name) for place, name in enumerate(wanted) if name not in here]
    hint = f" There are: {', '.join(known[:LISTED])}{', …' if len(known) > LISTED else ''}."
    if len(unknown) == 1 and (alike := meant(unknown[0][1], known)):
        hint = f" Perhaps {alike} was meant."
    return tuple(
        AgentWarning(
            code="unknown_tool",
            sentence=f"No tool here is called {name!r}; turns go on without it.{hint}",
            path=f"/tools/{place}",
        )
        for place, name in unknown
    )


def unguarded(policy: GuardPolicy | None) -> tuple[AgentWarning, ...]:
    """Where there is no guardian: what an agent that is to be guarded has to be told."""
    if policy is None or not policy.enabled:
        return ()
    remedy = "An operator sets PRECEPTOR_GUARD_ENABLED and PRECEPTOR_GUARD_PROVIDER_TYPE."
    return (AgentWarning(code="no_guardian", sentence=f"{NO_GUARDIAN} {remedy}", path="/guard"),)
