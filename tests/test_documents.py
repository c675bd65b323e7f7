"""What the documents say is true."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.requirements import covers
from tools.document import PAGES as GENERATED

ROOT = Path(__file__).parent.parent
PAGES = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md"))
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_the_reference_pages_are_what_the_code_says():
    assert GENERATED
    for path, page in GENERATED.items():
        assert path.read_text(encoding="utf-8") == page(), f"{path.name} is out of date: run `make docs`"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_runs(example: Path, tmp_path: Path):
    environment = os.environ | {"PRECEPTOR_DATA_DIR": str(tmp_path)}
    shown = subprocess.run([sys.executable, example], env=environment, stdout=subprocess.PIPE, timeout=60, check=True)
    assert shown.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_between_documents_leads_somewhere(page: Path):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("record", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_has_its_number_and_tests_that_hold_it(record: Path):
    text = record.read_text(encoding="utf-8")
    assert text.startswith(f"# {int(record.stem[:4])}. ")
    *_, held = text.partition("**Held by**")
    named = [path for each in re.findall(r"`(tests/[^`]+)`", held) for path in written_out(each)]
    assert named, "it names no test"
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_path_on_the_map_leads_somewhere_and_every_module_is_on_it():
    code = ROOT / "src" / "preceptor"
    rows = [line for line in (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    named = {path for row in rows for each in re.findall(r"`([^`\s]*(?:/|\.py|}))`", row) for path in written_out(each)}
    above = (ROOT, code, code / "adapters" / "storage", code / "surfaces")
    found = {path: [folder / path for folder in above if (folder / path).exists()] for path in named}
    assert [path for path, places in found.items() if not places] == []
    mapped = {place for places in found.values() for place in places}
    modules = [path for layer in ("domain", "engine", "wire", "adapters") for path in (code / layer).rglob("*.py")]
    lost = [path for path in modules if path.name != "__init__.py" and mapped.isdisjoint({path, *path.parents})]
    assert [str(path.relative_to(code)) for path in lost] == []


def written_out(path: str) -> list[str]:
    """`a/{b,c}.py` is two paths."""
    before, brace, rest = path.partition("{")
    choices, _, after = rest.partition("}")
    return [before + choice + after for choice in choices.split(",")] if brace else [path]


EXPLAINED = {
    "docs/explanation/guardian-and-planning.md": {
        "The plan": ("analyse_user_request", "once"),
        "Tables decide": ("decision-tables.md", "the row that fired"),
        "Clean injection": ("trace", "assistant message", "turn_directive"),
        "Three outputs": ("model", "user", "record"),
        "Words": ("template", "templateInstructions"),
    },
}


@covers("R186")
@pytest.mark.parametrize("page", EXPLAINED)
def test_planning_clean_injection_and_the_missing_trace_are_explained(page: str):
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL))
    missing = [
        (title, word)
        for title, words in EXPLAINED[page].items()
        for word in words
        if word not in sections.get(title, "")
    ]
    assert missing == []
