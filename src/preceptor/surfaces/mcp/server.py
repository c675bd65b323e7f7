"""The MCP server: what the protocol asks for, answered through the HTTP API."""

from typing import Any

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from preceptor import __version__
from preceptor.surfaces.mcp.rest import Declined, Json, Rest
from preceptor.surfaces.mcp.tools import TOOLS, Told, Tool

NO_SUCH_TOOL = "There is no tool {!r} here. `tools/list` names those there are."
Context = ServerRequestContext[Any]


def make_server(rest: Rest) -> Server[Any]:
    """A server for one caller: it may do what `rest` may, and nothing else."""
    answers = Answers(rest)
    return Server(
        "preceptor",
        version=__version__,
        title="Preceptor",
        instructions="Agents, what they are told and why: talk to them, read and change their instructions.",
        on_list_tools=answers.list_tools,
        on_call_tool=answers.call_tool,
        on_list_prompts=answers.list_prompts,
        on_get_prompt=answers.get_prompt,
    )


class Answers(msgspec.Struct, frozen=True):
    """What is answered to each method of the protocol."""

    rest: Rest

    async def list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_shown(tool) for tool in TOOLS.values()])

    async def call_tool(self, _: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, NO_SUCH_TOOL.format(params.name[:64]))
        return _result(await _carried_out(self.rest, tool, params.arguments or {}))

    async def list_prompts(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        try:
            found = [_prompt(one) async for one in self.rest.items("/api/instructions", status="active")]
        except Declined as declined:
            raise _refused(declined) from None
        return types.ListPromptsResult(prompts=found)

    async def get_prompt(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        given = {"input": "", "context": dict(params.arguments or {}), "mode": "render"}
        try:
            trial = await self.rest.post("/api/instructions/{}/test", params.name, body=given)
        except Declined as declined:
            raise _refused(declined) from None
        said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=str(trial["prompt"])))
        return types.GetPromptResult(messages=[said])


async def _carried_out(rest: Rest, tool: Tool, given: dict[str, Any]) -> Told:
    """What came of a call; whatever is wrong with it is said in the result, where a model can read it."""
    try:
        return await tool.call(rest, given)
    except Declined as declined:
        said = {"code": declined.code, "status": declined.status, "detail": declined.detail}
        return Told(declined.detail, said, failed=True)
    except ValidationError as error:
        said = [f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in error.errors()]
        return Told("; ".join(said), failed=True)


def _shown(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(read_only_hint=tool.reads, open_world_hint=False),
    )


def _result(told: Told) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=told.text)],
        structured_content=told.data,
        is_error=told.failed,
        _meta=told.meta,
    )


def _prompt(instruction: Json) -> types.Prompt:
    gaps: list[Json] = instruction.get("variables") or []
    arguments = [
        types.PromptArgument(
            name=gap["name"],
            description=gap.get("description"),
            required=bool(gap.get("required", True)) and gap.get("default") is None,
        )
        for gap in gaps
    ]
    return types.Prompt(
        name=instruction["familyId"],
        title=instruction["name"],
        description=instruction.get("description") or None,
        arguments=arguments,
    )


def _refused(declined: Declined) -> MCPError:
    code = types.INVALID_PARAMS if declined.status in {404, 422} else types.INVALID_REQUEST
    return MCPError(code, declined.detail, {"code": declined.code, "status": declined.status})
