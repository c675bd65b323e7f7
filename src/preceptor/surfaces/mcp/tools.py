"""The tools of the MCP server. Those that pass control act inside a turn of ours, and nowhere else."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec
import orjson
from pydantic import BaseModel, ConfigDict, Field

from preceptor.domain.agents import DEFAULT_AGENT
from preceptor.domain.delegation import DELEGATE, RETURN
from preceptor.domain.messages.directive import RETURN_CONTROL, DelegateReasoning, written
from preceptor.domain.prompts.prompt import ToolSpec
from preceptor.domain.turns.control import DELEGATE_SPEC, RETURN_SPEC, asked
from preceptor.surfaces.mcp.rest import Declined, Rest

DIRECTIVE = "preceptor/directive"
"""Under this name in a result's metadata. It is a statement of what was asked; only our own engine acts on one."""
OUTSIDE = (
    "Nothing was switched: control passes only inside a turn of Preceptor, where its engine calls this tool. Use "
    "send_message to start one."
)
Id = Annotated[str, Field(min_length=1, max_length=128)]


class Told(msgspec.Struct, frozen=True):
    """What a tool answers: something to read, and the same as data."""

    text: str
    data: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None
    failed: bool = False


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SendMessage(Arguments):
    message: Annotated[str, Field(min_length=1, max_length=500_000, description="What to say.")]
    agent_id: Id | None = Field(default=None, description=f"Whom to say it to. Default: {DEFAULT_AGENT}.")
    conversation_id: Id | None = Field(default=None, description="Go on with this conversation. Default: a new one.")
    queue: bool = Field(
        default=False, description="While another message is answered there, wait for it instead of being refused."
    )


class OfAgent(Arguments):
    agent_id: Id


class ListInstructions(Arguments):
    words: str | None = Field(default=None, max_length=200, description="Words in the name or description.")
    status: str | None = Field(default=None, description="draft, active, deprecated or archived.")
    cursor: str | None = Field(default=None, description="`nextCursor` of the page before.")


class OfInstruction(Arguments):
    instruction_id: Id = Field(description="The family's id, or a version's.")


class UpdateInstruction(OfInstruction):
    change: dict[str, Any] = Field(
        description='What to change, such as {"content": {"guidelines": ["Be brief."]}}; what is left out stays.'
    )
    etag: str | None = Field(default=None, description="From get_instruction: refuse if it has changed since.")


class SearchConversations(Arguments):
    words: str | None = Field(default=None, max_length=200, description="Words in the title.")
    agent_id: Id | None = None
    cursor: str | None = Field(default=None, description="`nextCursor` of the page before.")


class ExplainContext(Arguments):
    message_id: Id = Field(description="An answer: what the model was shown when it wrote it.")


class Tool(msgspec.Struct, frozen=True):
    name: str
    description: str
    schema: dict[str, Any]
    call: Callable[[Rest, dict[str, Any]], Awaitable[Told]]
    reads: bool = True


async def send_message(rest: Rest, given: SendMessage) -> Told:
    conversation = given.conversation_id
    if conversation is None:
        started = await rest.post("/api/conversations", body={"agentId": given.agent_id or DEFAULT_AGENT})
        conversation = str(started["conversationId"])
    elif given.agent_id is not None:
        await _require(rest, conversation, given.agent_id)
    body: dict[str, Any] = {"content": given.message, "queue": given.queue}
    turn = await rest.post("/api/conversations/{}/messages", conversation, body=body)
    ui: dict[str, Any] = turn.get("ui") or {}
    return Told(str(ui.get("response", "")) or f"The turn is {turn['status']}.", turn)


async def _require(rest: Rest, conversation: str, agent_id: str) -> None:
    """Complain if the conversation is with another agent than the one that is to hear it."""
    other = (await rest.get("/api/conversations/{}", conversation))["agentId"]
    if other != agent_id:
        said = f"The conversation {conversation} is with {other!r}. Leave agent_id out, or leave conversation_id out."
        raise Declined(422, "invalid", said)


async def get_effective_instructions(rest: Rest, given: OfAgent) -> Told:
    effective = await rest.get("/api/agents/{}/instructions/effective", given.agent_id)
    return Told(str(effective["prompt"]), effective)


async def list_instructions(rest: Rest, given: ListInstructions) -> Told:
    return _data(await rest.get("/api/instructions", q=given.words, status=given.status, cursor=given.cursor))


async def get_instruction(rest: Rest, given: OfInstruction) -> Told:
    return _data(await rest.get("/api/instructions/{}", given.instruction_id))


async def update_instruction(rest: Rest, given: UpdateInstruction) -> Told:
    return _data(await rest.put("/api/instructions/{}", given.instruction_id, body=given.change, etag=given.etag))


async def search_conversations(rest: Rest, given: SearchConversations) -> Told:
    found = await rest.get("/api/conversations", q=given.words, agentId=given.agent_id, cursor=given.cursor)
    return _data(found)


async def explain_context(rest: Rest, given: ExplainContext) -> Told:
    return _data(await rest.get("/api/messages/{}/context", given.message_id))


async def delegate(_: Rest, given: dict[str, Any]) -> Told:
    wanted = asked(given)
    if isinstance(wanted, str):
        return Told(wanted, failed=True)
    directives = [
        DelegateReasoning.model_construct(agent_prompt=one.agent_prompt or "", mark_intermediate=one.mark_intermediate)
        for one in wanted
    ]
    return Told(OUTSIDE, meta={DIRECTIVE: [msgspec.json.decode(written(one)) for one in directives]}, failed=True)


async def return_control(_: Rest, __: dict[str, Any]) -> Told:
    return Told(OUTSIDE, meta={DIRECTIVE: [msgspec.json.decode(written(RETURN_CONTROL))]}, failed=True)


def _data(data: dict[str, Any]) -> Told:
    return Told(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode(), data)


def _typed(kind: type[Any], function: Callable[[Rest, Any], Awaitable[Told]], does: str, *, reads: bool) -> Tool:
    async def call(rest: Rest, given: dict[str, Any]) -> Told:
        return await function(rest, kind.model_validate(given))

    return Tool(function.__name__, does, kind.model_json_schema(), call, reads)


def _control(spec: ToolSpec, call: Callable[[Rest, dict[str, Any]], Awaitable[Told]]) -> Tool:
    return Tool(spec.name, f"{spec.description} It acts inside a turn of Preceptor only.", spec.parameters, call)


TOOLS: dict[str, Tool] = {
    DELEGATE: _control(DELEGATE_SPEC, delegate),
    RETURN: _control(RETURN_SPEC, return_control),
    **{
        tool.name: tool
        for tool in (
            _typed(SendMessage, send_message, "Say something to an agent and wait for its answer.", reads=False),
            _typed(
                OfAgent,
                get_effective_instructions,
                "What an agent is told now: its prompt, and the source of every line.",
                reads=True,
            ),
            _typed(ListInstructions, list_instructions, "List the instructions of the library.", reads=True),
            _typed(OfInstruction, get_instruction, "Read an instruction with its version and ETag.", reads=True),
            _typed(
                UpdateInstruction,
                update_instruction,
                "Change an instruction: a new version is appended, and nothing is overwritten.",
                reads=False,
            ),
            _typed(SearchConversations, search_conversations, "Find conversations by their title.", reads=True),
            _typed(
                ExplainContext,
                explain_context,
                "The exact request behind an answer, and where each part of it came from.",
                reads=True,
            ),
        )
    },
}
