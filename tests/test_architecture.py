"""The size of things, and what loading them costs. Layers are checked by `lint-imports`."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.requirements import covers

SOURCE = Path(__file__).parent.parent / "src"
MODULES = sorted(SOURCE.rglob("*.py"))
MAX_FILE, MAX_FUNCTION = 320, 45
HEAVY = ("aiohttp", "alembic", "fastapi", "psycopg", "pydantic", "splintr", "sqlalchemy", "uvicorn")
NEEDED_FOR_A_REPLY = {
    *("annotated_types", "dotenv", "msgspec", "orjson", "platformdirs", "preceptor", "pydantic", "pydantic_core"),
    *("pydantic_settings", "splintr", "typing_extensions", "typing_inspection"),
}
DATACLASSES = {
    "a field is no argument": "Asking Connections Egress EgressWebhooks Fit Held LocalModel ModelRegistry "
    "RecordedModel Rule ScriptedModel Table",
    "a field must not be shown": "Letter OwnProvider OwnServer Tool",
    "it is part of a value": "Exact Labelled Latest Origin Overridden Range SemVer Source",
    "it takes any number of arguments": "Is",
    "it is raised and no failure": "AssignedNotShown Declined Replayed",
}
FIRST_REPLY = """
import asyncio, sys, tempfile
from preceptor import Settings, open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.testing import ScriptedModel

async def main():
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.load(data_dir=folder, guard_enabled=False, sgr_enabled=False)
        registry = ModelRegistry(settings)
        registry.add(registry.default, ScriptedModel(lambda _: "Hello."))
        async with open_preceptor(settings, models=registry) as preceptor:
            assert (await preceptor.conversations.say("Hello?", agent="assistant")).response == "Hello."

asyncio.run(main())
print(*sys.modules)
"""
"""In a folder that is new: what it loads is what opening a store and answering need."""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_and_functions_stay_short(path: Path):
    text = path.read_text(encoding="utf-8")
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [f.name for f in functions if f.end_lineno is not None and f.end_lineno - f.lineno >= MAX_FUNCTION]
    assert (len(text.splitlines()) <= MAX_FILE, long) == (True, [])


def test_a_record_is_a_struct_unless_it_cannot_be():
    """A dataclass has its methods written whenever a program starts: ten times what a Struct costs."""
    classes = (node for path in MODULES for node in ast.parse(path.read_text(encoding="utf-8")).body)
    found = [
        node.name
        for node in classes
        if isinstance(node, ast.ClassDef)
        if any(ast.unparse(one).partition("(")[0].endswith("dataclass") for one in node.decorator_list)
    ]
    assert sorted(found) == sorted(name for names in DATACLASSES.values() for name in names.split())


@covers("R187")
def test_a_tag_on_a_message_is_a_directive_and_what_the_library_holds_an_instruction():
    """The one name that says otherwise is the field of a message that holds its directives, as clients know it."""
    messages, library = named_in("domain/messages"), named_in("domain/instructions")
    assert {name for name in messages if "instruction" in name.lower()} == {"instructions"}
    assert {name for name in library if "directive" in name.lower()} == set()


def named_in(folder: str) -> set[str]:
    """Every name that the code of a folder gives or uses."""
    nodes = (
        node
        for path in MODULES
        if path.is_relative_to(SOURCE / "preceptor" / folder)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )
    named = (getattr(node, kind, None) for node in nodes for kind in ("name", "id", "attr", "arg", "module"))
    return {name for name in named if isinstance(name, str)}


def test_importing_preceptor_loads_nothing_heavy():
    code = f"import sys, preceptor; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("before", ["enable", "disable"])
def test_loading_leaves_the_collector_of_garbage_as_it_was(before: str):
    code = f"import gc; gc.{before}(); from preceptor import open_preceptor; print(gc.isenabled())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == f"{before == 'enable'}\n"


@pytest.mark.parametrize(("before", "kept"), [("pass", True), ("gc.collect()", False)])
def test_only_a_program_that_has_just_started_keeps_what_there_is(before: str, kept: bool):
    code = f"import gc; {before}; from preceptor import open_preceptor; print(gc.get_freeze_count() > 0)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == f"{kept}\n"


def test_a_first_reply_loads_only_what_it_uses():
    command = [sys.executable, "-I", "-c", FIRST_REPLY]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    outside = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert {name for name in outside if not name.startswith("_")} <= NEEDED_FOR_A_REPLY
    folders = {name.rpartition(".")[0] for name in loaded}
    ours = [name for name in loaded if name.startswith("preceptor.") and name not in folders]
    assert len(ours) <= 256, "a feature that this turn does not use is loaded by it"
    unused = ("experiments.results", "storage.sql.", "replays", "executions", "rules", "surfaces", "adapters.mcp.held")
    assert [name for name in ours if any(part in name for part in unused)] == []


def test_the_public_names_are_these():
    import preceptor

    assert preceptor.__all__ == [
        "Hearers",
        "ModelRegistry",
        "Preceptor",
        "PreceptorError",
        "Settings",
        "ToolError",
        "ToolRun",
        "__version__",
        "open_preceptor",
        "tool",
    ]
    assert all(getattr(preceptor, name) is not None for name in preceptor.__all__)
