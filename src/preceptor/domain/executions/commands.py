"""Commands: what a step may do. Whatever is not listed here cannot be asked for."""

from typing import Annotated, Any, Literal

from pydantic import Field

from preceptor.domain.conversations.compaction import Wanted as Compaction
from preceptor.domain.executions.binding import Reference
from preceptor.domain.ownership import Permission
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.replays.replay import NewReplay
from preceptor.domain.value import VISIBLE_TEXT, AnyId, Json, Text, Value

LONGEST_TEXT = 500_000
Said = Annotated[str, Field(max_length=LONGEST_TEXT, pattern=VISIBLE_TEXT)]
Header = Annotated[str, Field(max_length=64, pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]
URL_TEXT = r"^https?://[!-\[\]-~]+$"
Url = Annotated[str, Field(min_length=8, max_length=2000, pattern=URL_TEXT)]


class Nothing(Value):
    """An object without anything in it."""


class AgentResource(Value):
    type: Literal["agent"]
    id: AnyId


class ConversationResource(Value):
    type: Literal["conversation"]
    id: AnyId | Reference


class ExperimentResource(Value):
    type: Literal["experiment"]
    id: AnyId


class LoadInstructions(Value):
    """Work out what an agent is told, for a later step to use."""

    type: Literal["agent.loadInstructions"]
    resource: AgentResource
    data: Nothing | None = None


class Asked(Value):
    user_message: Said | Reference
    instructions: Reference | Nothing | None = Field(
        default=None,
        description="What an `agent.loadInstructions` step put out. Left out or `{}`: that of such a step it depends "
        "on, else what the agent is told when it is asked. Never a text of one's own.",
    )
    conversation_id: AnyId | Reference | None = Field(default=None, description="Left out: a new one.")
    parameters: RequestParameters | None = None


class ExecuteAgent(Value):
    """Say something to an agent: one turn."""

    type: Literal["agent.execute"]
    resource: AgentResource
    data: Asked


class Compact(Value):
    """Show fewer messages of a conversation."""

    type: Literal["conversation.compact"]
    resource: ConversationResource
    data: Compaction


class RunReplay(Value):
    """Replay past turns, and wait until that is done."""

    type: Literal["replay.run"]
    resource: Nothing | None = None
    data: NewReplay


class AnalyseExperiment(Value):
    """Work out what an experiment has shown so far, for a later step to act on."""

    type: Literal["experiment.analyse"]
    resource: ExperimentResource
    data: Nothing | None = None


class Call(Value):
    url: Url
    method: Literal["POST", "PUT", "PATCH", "GET"] = "POST"
    body: Json = Field(default=None, description="Sent as JSON. `$from` may stand anywhere in it.")
    headers: dict[Header, Annotated[Text, Field(max_length=1000, pattern=r"^[\x20-\x7e]*$")]] = Field(
        default={}, max_length=32
    )
    effect: Literal["once", "idempotent"] = Field(
        default="once",
        description="`once`: never sent again when nobody knows whether it arrived. `idempotent`: its receiver heeds "
        "the header `Idempotency-Key`, so it may be.",
    )


class Webhook(Value):
    """Call an address that the operator allows (`PRECEPTOR_EGRESS_ALLOW`)."""

    type: Literal["webhook"]
    resource: Nothing | None = None
    data: Call


AnyCommand = LoadInstructions | ExecuteAgent | Compact | RunReplay | AnalyseExperiment | Webhook
Command = Annotated[AnyCommand, Field(discriminator="type")]

NEEDS: dict[type[Any], Permission] = {
    LoadInstructions: Permission.INSTRUCTION_READ,
    ExecuteAgent: Permission.CONVERSATION_WRITE,
    Compact: Permission.CONVERSATION_WRITE,
    RunReplay: Permission.REPLAY_RUN,
    AnalyseExperiment: Permission.EXPERIMENT_RUN,
    Webhook: Permission.EXECUTION_RUN,
}
"""What whoever asks for a command must be allowed: as much as for the same thing by itself."""
