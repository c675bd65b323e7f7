"""The reference says everything there is, and the pages of the site are all within reach."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client, StdioServerParameters, stdio_client

from preceptor import Settings
from preceptor.surfaces.cli.main import app as commands
from tests.docs.blocks import PAGES, ROOT, blocks, name_of
from tests.requirements import covers
from tests.serving import COMMAND, clean
from tests.surfaces.test_errors import CODES
from tools.newcomer import commands as newcomer
from tools.reference.failures import failures
from tools.site import DOCS, SECTIONS, SITE, configuration

REFERENCE = DOCS / "reference"


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_every_code_is_on_the_page_of_errors_with_its_status_and_what_to_do():
    found: dict[int, set[str]] = {}
    for failure in failures():
        found.setdefault(failure.status, set()).add(failure.code)
        assert failure.sentence.endswith("."), failure
        assert ": ." not in failure.sentence, f"it says nothing of what was found: {failure}"
        assert failure.remedy.endswith("."), failure
    assert found == {status: set(codes.split()) for status, codes in CODES.items()}


@covers("R127")
def test_the_walk_through_uses_operations_whose_bodies_the_document_describes():
    document = json.loads(text_of("reference/openapi.json"))
    page = text_of("quickstarts/server.md")
    for path in ("/api/instructions", "/api/agents", "/api/agents/{agent_id}/instructions"):
        body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert document["components"]["schemas"][body["$ref"].rsplit("/", 1)[1]]["properties"]
    asked = {one["name"] for one in document["paths"]["/api/instructions"]["get"]["parameters"]}
    assert {"type", "category", "status", "cursor"} <= asked
    put = document["paths"]["/api/instructions/{instruction_id}"]["put"]["requestBody"]
    assert put["content"]["application/json"]["schema"]["$ref"].endswith("/Revision")
    assert page.index("$API/instructions -d") < page.index("$API/agents -d") < page.index("/effective")


@covers("R128")
def test_the_tutorial_and_its_neighbours_show_what_instructions_are_for():
    shown = text_of("tutorial.md") + text_of("quickstarts/server.md") + text_of("quickstarts/ab-test.md")
    for step in (
        "preceptor agents assign bookshop bookshop",  # guidance for each agent
        "preceptor instructions revise bookshop",  # version control, and a change without a deployment
        "agent-support-002/instructions",  # the same text for another agent
        "preceptor experiments create",  # an A/B test
    ):
        assert step in shown


@covers("R186")
def test_the_planning_architecture_clean_injection_and_the_missing_trace_are_explained():
    page = text_of("explanation/guardian-and-planning.md")
    assert {"The plan", "Tables decide", "Clean injection", "Three outputs"} <= set(
        re.findall(r"^## (.+)$", page, re.MULTILINE)
    )
    assert "kept in the record and out of the history" in page


def test_every_setting_and_every_command_has_its_line():
    settings, lines = text_of("reference/settings.md"), text_of("reference/command-line.md")
    assert all(f"`PRECEPTOR_{name.upper()}`" in settings for name in Settings.model_fields)
    assert all(f"## preceptor {group.name}" in lines for group in commands.registered_groups)


def test_every_page_is_in_the_table_of_contents():
    listed = re.findall(r": (\S+\.md)$", configuration(), re.MULTILINE)
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
    assert all((DOCS / folder).is_dir() for folder in SECTIONS.values())


def test_the_site_asks_for_nothing_from_elsewhere():
    theme: dict[str, Any] = yaml.safe_load(SITE.read_text(encoding="utf-8"))["theme"]
    assert theme["font"] is False
    elsewhere = [
        name_of(page) for page in PAGES if re.search(r"!\[[^]]*\]\(https?:|<(script|iframe)", page.read_text())
    ]
    assert elsewhere == []


async def test_the_configuration_for_desktop_clients_starts_a_server_that_the_official_client_understands(
    tmp_path: Path,
):
    [block] = [one for one in blocks(ROOT / "docs/quickstarts/mcp.md") if one.language == "json"]
    [[name, told]] = json.loads(block.code)["mcpServers"].items()
    assert (name, told["command"]) == ("preceptor", Path(COMMAND).name)
    environment = clean(tmp_path, PATH=str(Path(COMMAND).parent)) | told["env"]
    server = StdioServerParameters(command=told["command"], args=told["args"], env=environment, cwd=tmp_path)
    async with asyncio.timeout(60), Client(stdio_client(server)) as client:
        tools = (await client.list_tools()).tools
    assert "send_message" in {tool.name for tool in tools}
    assert (tmp_path / ".preceptor" / "preceptor.db").exists()


def test_the_pages_of_the_reference_are_not_edited_by_hand():
    assert {page.name for page in REFERENCE.iterdir()} == {
        "openapi.json",
        "rest.md",
        "values.md",
        "python-client.md",
        "command-line.md",
        "settings.md",
        "errors.md",
        "events.md",
        "decision-tables.md",
    }


def test_the_newcomer_finds_its_commands_in_the_readme():
    began, talked = newcomer((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [command.split()[0] for command in began] == ["git", "make"]
    assert any("chat" in command for command in talked)
    assert any(command.startswith("curl") for command in talked)


@pytest.mark.parametrize("words", ["TODO", "FIXME", "lorem"])
def test_nothing_is_left_to_be_written(words: str):
    assert [name_of(page) for page in PAGES if words in page.read_text(encoding="utf-8")] == []
