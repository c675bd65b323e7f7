"""What people install: built from the source archive, in an environment with nothing else of ours."""

import json
import re
import zipfile
from pathlib import Path

import httpx2
import pytest

import preceptor
from preceptor.domain.instructions.shipped import SHIPPED
from tests.packaging.installing import ROOT, Installed, build, install, unpacked

SOURCE = ROOT / "src"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("sdist"), "sdist")


@pytest.fixture(scope="module")
def wheel(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = unpacked(archive, tmp_path_factory.mktemp("source"))
    return build(source, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("machine")
    return install(wheel, folder / "venv", folder / "home")


def test_the_wheel_of_the_archive_carries_every_file_of_the_package(wheel: Path):
    """The pages, their scripts and words, the migrations: whatever is not compiled."""
    files = [file for file in (SOURCE / "preceptor").rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    wanted = {file.relative_to(SOURCE).as_posix() for file in files}
    assert {Path(name).suffix for name in wanted} >= {".py", ".html", ".css", ".js", ".json", ".svg", ".typed"}
    assert wanted - set(zipfile.ZipFile(wheel).namelist()) == set()


def test_the_archive_says_which_version_it_is_without_git(archive: Path, wheel: Path):
    of_archive = re.fullmatch(r"preceptor-(.+)\.tar\.gz", archive.name)
    assert of_archive
    assert wheel.name == f"preceptor-{of_archive[1]}-py3-none-any.whl"


def test_commands_run_without_the_checkout(installed: Installed, wheel: Path):
    assert "preceptor serve" in installed.run("--help")
    version = wheel.name.split("-")[1]
    assert installed.run("version") == f"Preceptor {version}\n"
    found = json.loads(installed.run("doctor", "--json", PRECEPTOR_MODEL=script(installed)))
    assert found["ok"], found
    names = [check["name"] for check in found["checks"]]
    assert {"settings", "database", "disk", "clock", "model", "guard", "runner", "extras"} <= set(names)


def test_a_server_answers_shows_its_pages_and_takes_a_turn(installed: Installed):
    with installed.serving(PRECEPTOR_MODEL=script(installed), PRECEPTOR_ADMIN_KEY="a-key-of-this-test") as (url, link):
        bearer = {"Authorization": "Bearer a-key-of-this-test"}
        with httpx2.Client(base_url=url, headers=bearer, trust_env=False, timeout=30) as client:
            assert client.get("/readyz").json()["ready"]
            page = client.get(link, follow_redirects=True)
            assert (page.status_code, "<html" in page.text) == (200, True)
            style = re.search(r'href="(/static/[^"]+\.css)"', page.text)
            assert style
            assert client.get(style[1]).status_code == 200
            shipped = client.get("/api/instructions/templates", params={"limit": 200}).json()["items"]
            assert len(shipped) >= len(SHIPPED)
            made = client.post("/api/conversations", json={"agentId": "assistant"}).json()
            said = client.post(f"/api/conversations/{made['conversationId']}/messages", json={"content": "Hello"})
            assert said.json()["message"]["parts"][-1]["text"] == "Good day."


def script(installed: Installed) -> str:
    path = installed.home / "script.json"
    path.write_text('[{"text": "Good day.", "repeat": true}]', encoding="utf-8")
    return f"scripted:{path}"


def test_the_version_of_this_environment_is_the_one_that_was_built():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", preceptor.__version__)
