"""The version comes from the tag, wherever the code is built."""

import importlib.util
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def version(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("PRECEPTOR_BUILD_VERSION", raising=False)
    spec = importlib.util.spec_from_file_location("version", ROOT / "tools" / "version.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.version


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "commit", "--allow-empty", "-m", "Something")


def test_a_tag_is_the_version_and_what_follows_leads_to_the_next(version: Any, tmp_path: Path):
    git(tmp_path, "init")
    commit(tmp_path)
    commit(tmp_path)
    assert version(tmp_path) == "0.1.0.dev2"
    git(tmp_path, "tag", "v1.4.2")
    git(tmp_path, "tag", "not-a-version")
    assert version(tmp_path) == "1.4.2"
    commit(tmp_path)
    assert version(tmp_path) == "1.4.3.dev1"


def test_without_git_an_archive_or_the_builder_says_it(version: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert version(tmp_path) == "0.1.0.dev0"
    (tmp_path / "PKG-INFO").write_text("Metadata-Version: 2.5\nName: preceptor\nVersion: 3.1.4\n", encoding="utf-8")
    assert version(tmp_path) == "3.1.4"
    monkeypatch.setenv("PRECEPTOR_BUILD_VERSION", "5.0.0")
    assert version(tmp_path) == "5.0.0"
