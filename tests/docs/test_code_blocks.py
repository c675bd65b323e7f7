"""Every block of code in the documents runs, or says why it does not."""

import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from preceptor import Settings
from preceptor.kept_secrets import PREFIX
from tests.docs.blocks import PAGES, ROOT, Block, blocks, name_of
from tests.docs.running import SHELL, run
from tests.requirements import covers
from tests.serving import Served, serving
from tests.web.provider import PLAN, PLANNED, Piece, Provider, providing


def read_settings(lines: str) -> None:
    """Lines of an environment file: every variable of ours is one that there is."""
    names = {line.partition("=")[0] for line in lines.splitlines() if line.startswith(PREFIX)}
    assert names - {f"{PREFIX}{name.upper()}" for name in Settings.model_fields} == set()


READERS: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
    "ini": read_settings,
}
PROSE = frozenset({"text", "markdown"})
NOT_RUN: dict[str, tuple[str, ...]] = {
    "docs/how-to/connect.md": (
        "it asks for a key of yours",
        "the agent and its models are yours",
        "there is no MCP server at that address",
    ),
    "docs/how-to/scale-out.md": ("it needs Docker",),
    "docs/tutorial.md": ("tools/newcomer.py runs it",),
    "README.md": (
        "tools/newcomer.py runs it",
        "it runs these tests",
    ),
}
"""The blocks that are not run, by page and in order: why not."""


def runnable(page: Path) -> list[Block]:
    ready = [block for block in blocks(page) if block.excuse is None and block.example is None]
    return [block for block in ready if block.language in {"python", *SHELL}]


RUNNABLE = [page for page in PAGES if runnable(page)]


def answers(request: dict[str, Any]) -> Iterator[Piece]:
    """A model that understands every request and does what it asks."""
    planning = [tool["function"]["name"] for tool in request.get("tools") or ()] == [PLAN]
    yield (PLAN, PLANNED) if planning else "Understood, and done."


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with providing(answers) as made:
        yield made


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[Served]:
    """The one server that all pages speak to, as a reader's does who tries one after the other."""
    with serving(tmp_path_factory.mktemp("data"), PRECEPTOR_MODEL_URL=provider.url) as running:
        yield running


@covers("R127", "R128")
@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path, served: Served, provider: Provider):
    run(runnable(page), tmp_path, served, provider.url)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_what_it_is_and_data_can_be_read(page: Path):
    for block in blocks(page):
        assert block.language in {"python", *SHELL, *READERS, *PROSE}, f"line {block.line}: {block.language!r}"
        if block.excuse is None and block.language in READERS:
            READERS[block.language](block.code)


def test_a_block_that_names_an_example_is_that_file_word_for_word():
    named = [block for page in PAGES for block in blocks(page) if block.example]
    assert named
    for block in named:
        assert block.code == (ROOT / str(block.example)).read_text(encoding="utf-8")


def test_what_is_not_run_is_known_and_has_a_reason():
    found = {name_of(page): tuple(block.excuse for block in blocks(page) if block.excuse) for page in PAGES}
    assert {page: excuses for page, excuses in found.items() if excuses} == NOT_RUN
