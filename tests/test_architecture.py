"""The size of things, and what loading them costs. Layers are checked by `lint-imports`."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
MODULES = sorted(SOURCE.rglob("*.py"))
MAX_FILE, MAX_FUNCTION = 320, 45
HEAVY = ("aiohttp", "alembic", "fastapi", "psycopg", "pydantic", "splintr", "sqlalchemy", "uvicorn")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_and_functions_stay_short(path: Path):
    text = path.read_text(encoding="utf-8")
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [f.name for f in functions if f.end_lineno is not None and f.end_lineno - f.lineno >= MAX_FUNCTION]
    assert (len(text.splitlines()) <= MAX_FILE, long) == (True, [])


def test_importing_preceptor_loads_nothing_heavy():
    code = f"import sys, preceptor; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_public_names_are_these():
    import preceptor

    assert preceptor.__all__ == [
        "Preceptor",
        "Settings",
        "ToolError",
        "ToolRun",
        "__version__",
        "open_preceptor",
        "tool",
    ]
    assert all(getattr(preceptor, name) is not None for name in preceptor.__all__)
