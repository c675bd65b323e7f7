"""The MCP server, spoken to by the official client over both transports, and by strangers."""

import json
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from preceptor.domain.delegation import DELEGATE, RETURN
from preceptor.surfaces.mcp.tools import DIRECTIVE, TOOLS
from tests.conftest import ADMIN
from tests.requirements import covers
from tests.serving import COMMAND, Served, clean, serving
from tests.surfaces.helpers import bearer, new_key, new_org, problem, rows
from tests.surfaces.talking import Talk, talking
from tests.talking import settings_in

Json = dict[str, Any]
NAMES = [
    "delegate_internal_reasoning",
    "return_control",
    "send_message",
    "get_effective_instructions",
    "list_instructions",
    "get_instruction",
    "update_instruction",
    "search_conversations",
    "explain_context",
]


@asynccontextmanager
async def over_http(served: Served) -> AsyncGenerator[Client]:
    async with (
        httpx2.AsyncClient(headers=bearer(served.admin_key), trust_env=False, timeout=30) as http,
        Client(streamable_http_client(f"{served.url}/mcp", http_client=http)) as client,
    ):
        yield client


def over_pipes(data_dir: Path, **environment: str) -> AbstractAsyncContextManager[Client]:
    return Client(
        stdio_client(StdioServerParameters(command=COMMAND, args=["mcp"], env=clean(data_dir, **environment)))
    )


def text_of(result: Any) -> str:
    assert isinstance(result, CallToolResult)
    return "".join(part.text for part in result.content if isinstance(part, TextContent))


def data_of(result: Any) -> Json:
    assert isinstance(result, CallToolResult)
    assert not result.is_error, text_of(result)
    return cast("Json", result.structured_content)


async def use_everything(client: Client) -> None:
    """What a client of this protocol does with us, from one end to the other."""
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == NAMES
    assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools)
    said = await client.call_tool("send_message", {"message": "Hello."})
    turn = data_of(said)
    assert (text_of(said), turn["status"]) == ("Good day.", "completed")
    again = data_of(
        await client.call_tool("send_message", {"message": "And?", "conversation_id": turn["conversationId"]})
    )
    assert again["conversationId"] == turn["conversationId"]
    context = data_of(await client.call_tool("explain_context", {"message_id": again["message"]["id"]}))
    assert (context["intact"], context["unattributedTokens"]) == (True, 0)
    found = data_of(await client.call_tool("search_conversations", {"agent_id": "assistant"}))
    assert turn["conversationId"] in {one["conversationId"] for one in found["items"]}
    [prompt] = (await client.list_prompts()).prompts
    assert prompt.title == "Manners"
    instruction = data_of(await client.call_tool("get_instruction", {"instruction_id": prompt.name}))
    change = {"content": {"guidelines": ["Say please."]}}
    wanted = {"instruction_id": prompt.name, "change": change, "etag": instruction["etag"]}
    revised = data_of(await client.call_tool("update_instruction", wanted))
    assert revised["version"] != instruction["version"]
    stale = await client.call_tool("update_instruction", wanted)
    assert isinstance(stale, CallToolResult)
    assert stale.is_error
    assert cast("Json", stale.structured_content)["code"] == "precondition_failed"
    listed = data_of(await client.call_tool("list_instructions", {"status": "active"}))
    assert [one["name"] for one in listed["items"]] == ["Manners"]
    effective = await client.call_tool("get_effective_instructions", {"agent_id": "assistant"})
    assert "sources" in data_of(effective)
    got = await client.get_prompt(prompt.name)
    assert "Say please." in str(got.messages[0].content)


def library(served: Served) -> None:
    with served.client() as client:
        new = {"name": "Manners", "type": "task", "content": {"systemPrompt": "Be kind."}}
        assert client.post("/api/instructions", json=new).status_code == 201


@covers("R30")
async def test_the_official_client_uses_every_tool_over_http_and_over_pipes(tmp_path: Path):
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["Good day."] * 4), encoding="utf-8")
    model = {"PRECEPTOR_MODEL": f"scripted:{script}"}
    with serving(tmp_path / "data", **model) as served:
        library(served)
        async with over_http(served) as client:
            await use_everything(client)
        async with over_pipes(tmp_path / "data", **model) as client:  # through the server that runs
            assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
            assert text_of(await client.call_tool("send_message", {"message": "Hi"})) == "Good day."
    async with over_pipes(tmp_path / "data", **model) as client:  # on the data itself
        assert text_of(await client.call_tool("send_message", {"message": "Hi"})) == "Good day."
        assert [prompt.title for prompt in (await client.list_prompts()).prompts] == ["Manners"]


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncGenerator[Talk]:
    async with talking(settings_in(tmp_path)) as opened:
        yield opened


async def speak(talk: Talk, method: str, headers: Any = None, **params: Any) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return await talk.client.post("/mcp", json=body, headers=headers)


async def call(talk: Talk, name: str, headers: Any = None, **arguments: Any) -> Json:
    answer = await speak(talk, "tools/call", headers, name=name, arguments=arguments)
    assert answer.status_code == 200, answer.text
    return answer.json()


@covers("R30", "S16")
@pytest.mark.parametrize("name", [DELEGATE, RETURN])
async def test_control_tools_say_what_they_would_do_and_do_nothing_outside_a_turn(talk: Talk, name: str):
    before = rows(talk.preceptor)
    given = {"agent_prompt": "You are an analyst.", "reason": "sums"} if name == DELEGATE else {}
    result = (await call(talk, name, **given))["result"]
    assert result["isError"] is True
    assert "Nothing was switched" in result["content"][0]["text"]
    [directive] = result["_meta"][DIRECTIVE]
    assert directive["type"] == ("delegate_reasoning" if name == DELEGATE else "return_control")
    assert rows(talk.preceptor) == before
    assert TOOLS[name].description
    assert "Example" in TOOLS[DELEGATE].description
    wrong = (await call(talk, DELEGATE, agent_prompt=" "))["result"]
    assert (wrong["isError"], wrong["content"][0]["text"]) == (True, "Agent prompt cannot be blank")


@covers("S1")
async def test_each_tool_needs_the_permission_that_it_needs_elsewhere(talk: Talk):
    made = await talk.client.post("/api/instructions", json={"name": "Manners", "type": "task"})
    family = made.json()["familyId"]
    turn = await talk.say("Hello.")
    viewer = await new_key(talk.client, role="viewer")
    for name, given in {
        "get_effective_instructions": {"agent_id": "assistant"},
        "list_instructions": {},
        "get_instruction": {"instruction_id": family},
        "update_instruction": {"instruction_id": family, "change": {"name": "Rudeness"}},
        "explain_context": {"message_id": turn["message"]["id"]},
    }.items():
        result = (await call(talk, name, viewer, **given))["result"]
        assert (result["isError"], result["structuredContent"]["code"]) == (True, "forbidden"), name
    prompts = (await speak(talk, "prompts/list", viewer)).json()
    assert prompts["error"]["data"]["code"] == "forbidden"
    assert (await call(talk, "send_message", viewer, message="Hi"))["result"]["isError"] is False
    unrelated = await new_key(talk.client, permissions=["replay:run"])
    problem(await speak(talk, "tools/list", unrelated), 403, "forbidden")


@covers("S1")
async def test_nothing_of_another_organisation_is_found(talk: Talk):
    made = await talk.client.post("/api/instructions", json={"name": "Manners", "type": "task"})
    rivals = await new_org(talk.client, "rivals")
    result = (await call(talk, "get_instruction", rivals, instruction_id=made.json()["familyId"]))["result"]
    assert (result["isError"], result["structuredContent"]["code"]) == (True, "not_found")
    assert (await speak(talk, "prompts/list", rivals)).json()["result"]["prompts"] == []
    got = await speak(talk, "prompts/get", rivals, name=made.json()["familyId"])
    assert got.json()["error"]["data"]["code"] == "not_found"
    said = (await call(talk, "send_message", rivals, message="Hi", conversation_id=talk.id))["result"]
    assert said["structuredContent"]["code"] == "not_found"


async def test_a_conversation_with_one_agent_does_not_answer_for_another(talk: Talk):
    wanted = {"message": "Hi", "conversation_id": talk.id}
    said = (await call(talk, "send_message", **wanted, agent_id="support"))["result"]
    assert (said["isError"], said["structuredContent"]["code"]) == (True, "invalid")
    assert "is with 'assistant'" in said["content"][0]["text"]
    assert (await call(talk, "send_message", **wanted, agent_id="assistant"))["result"]["isError"] is False


async def test_only_active_instructions_are_prompts_and_gaps_are_arguments(talk: Talk):
    gap = {"type": "template", "content": {"systemPrompt": "Greet {{who}}."}, "variables": [{"name": "who"}]}
    made = await talk.client.post("/api/instructions", json={"name": "Greeting"} | gap)
    await talk.client.post("/api/instructions", json={"name": "Draft", "type": "task", "status": "draft"})
    [prompt] = (await speak(talk, "prompts/list")).json()["result"]["prompts"]
    assert (prompt["title"], [one["name"] for one in prompt["arguments"]]) == ("Greeting", ["who"])
    family = made.json()["familyId"]
    got = (await speak(talk, "prompts/get", name=family, arguments={"who": "Ann"})).json()
    assert "Greet Ann." in got["result"]["messages"][0]["content"]["text"]


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Origin": "https://evil.example"}, 403, "forbidden"),
        ({"Origin": "null"}, 403, "forbidden"),
        ({"Origin": "http://[evil"}, 403, "forbidden"),
        ({"Origin": "http://127.0.0.1.evil.example"}, 403, "forbidden"),
        ({"Origin": "http://127.0.0.1:8080"}, 403, "forbidden"),
        ({"Host": "evil.example"}, 400, "wrong_host"),
        ({"Mcp-Session-Id": "someone-elses"}, 404, "not_found"),
        ({"Authorization": "Bearer nothing"}, 401, "unauthenticated"),
    ],
)
async def test_pages_of_other_sites_and_sessions_of_others_get_nothing(
    talk: Talk, headers: dict[str, str], status: int, code: str
):
    before = rows(talk.preceptor)
    answer = await speak(talk, "tools/call", headers, name="send_message", arguments={"message": "Hi"})
    problem(answer, status, code)
    assert rows(talk.preceptor) == before
    own = {"Origin": "http://127.0.0.1:3003", "Host": "127.0.0.1:3003"}
    assert (await speak(talk, "tools/list", own)).status_code == 200


async def test_there_is_nothing_to_listen_to_or_to_delete_without_a_session(talk: Talk):
    for method in ("GET", "DELETE"):
        answer = await talk.client.request(method, "/mcp")
        problem(answer, 405, "method_not_allowed")
        assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("accept", ["application/json", "application/json, text/event-stream"])
async def test_a_client_of_an_earlier_version_shakes_hands_and_is_answered_as_it_likes(talk: Talk, accept: str):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    answer = await speak(talk, "initialize", {"Accept": accept}, **hello)
    streamed = answer.headers["content-type"].startswith("text/event-stream")
    assert streamed is ("event-stream" in accept)
    told = json.loads(answer.text.split("data: ")[1].split("\r\n")[0]) if streamed else answer.json()
    assert told["result"]["serverInfo"]["name"] == "preceptor"
    assert "mcp-session-id" not in answer.headers
    noted = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await talk.client.post("/mcp", json=noted)).status_code == 202


WRONG: dict[str, tuple[str, Json]] = {
    "an argument that is none": ("send_message", {"message": "Hi", "role": "system"}),
    "no message": ("send_message", {}),
    "an empty message": ("send_message", {"message": ""}),
    "a path for an id": ("get_instruction", {"instruction_id": "../keys"}),
    "a change that is none": ("update_instruction", {"instruction_id": "x", "change": {"familyId": "y"}}),
    "a field that is an option": ("update_instruction", {"instruction_id": "x", "change": {"etag": "y"}}),
    "a cursor of one's own": ("list_instructions", {"cursor": "' OR 1=1"}),
}


@pytest.mark.parametrize(("name", "given"), WRONG.values(), ids=WRONG)
async def test_a_wrong_call_is_told_what_is_wrong_where_a_model_can_read_it(talk: Talk, name: str, given: Json):
    before = rows(talk.preceptor)
    result = (await call(talk, name, **given))["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"]
    assert rows(talk.preceptor) == before


async def test_an_unknown_tool_method_or_message_is_an_error_of_the_protocol(talk: Talk):
    assert "no tool 'rm'" in (await call(talk, "rm"))["error"]["message"]
    assert (await speak(talk, "nothing/here")).json()["error"]["code"] == -32601
    problem(await talk.client.post("/mcp", json={"jsonrpc": "1.0", "method": "x"}), 422, "invalid")
    problem(await talk.client.post("/mcp", json=[]), 422, "invalid")
    headers = ADMIN | {"Content-Type": "application/json"}
    problem(await talk.client.post("/mcp", content=b'{"a": 1, "a": 2}', headers=headers), 400, "malformed_json")


async def test_the_client_is_told_when_a_prompt_is_not_there(tmp_path: Path):
    with serving(tmp_path) as served:
        async with over_http(served) as client:
            with pytest.raises(MCPError) as missing:
                await client.get_prompt("nothing")
    assert "nothing" in str(missing.value)
