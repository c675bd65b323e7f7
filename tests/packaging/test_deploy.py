"""What is shipped to run Preceptor with is right: the image, the compose file, the unit, the bill of materials."""

import configparser
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from preceptor.kept_secrets import PREFIX
from preceptor.settings import Settings
from tests.packaging.installing import ROOT

DEPLOY = ROOT / "deploy"
SETTINGS = {PREFIX + name.upper() for name in Settings.model_fields}
KEYS = {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}
NAMED = re.compile(r"\bPRECEPTOR_[A-Z_]+\b")


def steps() -> list[tuple[str, str]]:
    """The instructions of the image, each with what it says, lines put together."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [(word, said.strip()) for word, _, said in (line.partition(" ") for line in lines if line.strip())]


def final() -> dict[str, str]:
    """The last stage, by instruction."""
    at = max(place for place, (word, _) in enumerate(steps()) if word == "FROM")
    return dict(steps()[at:])


def test_the_linter_has_nothing_to_say_about_the_image():
    linter = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([linter, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_runs_without_rights_and_says_how_it_is():
    last = final()
    assert re.fullmatch(r"\d+:\d+", last["USER"])
    assert last["USER"] != "0:0"
    assert "/readyz" in last["HEALTHCHECK"]
    assert json.loads(last["VOLUME"]) == ["/data"]
    assert (json.loads(last["ENTRYPOINT"]), json.loads(last["CMD"])) == (["preceptor"], ["serve"])
    assert len([word for word, _ in steps() if word == "FROM"]) == 2
    installs = [said for word, said in steps() if word == "RUN" and "install" in said and "-r " in said]
    assert installs
    assert all("--require-hashes" in said for said in installs)


def test_the_image_is_built_from_files_that_are_there_and_are_sent():
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [said.split()[:-1] for word, said in steps() if word == "COPY" and "--from" not in said]
    for name in (one for files in copied for one in files):
        assert (ROOT / name).exists(), name
        assert name in sent, name


def compose() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["preceptor", "preceptor-postgres"])
def test_a_service_has_a_root_that_cannot_be_written_and_no_capabilities(name: str):
    service = compose()["services"][name]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert "no-new-privileges:true" in service["security_opt"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert set(service["environment"]) <= SETTINGS | KEYS
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()


def test_volumes_and_services_that_are_named_are_there():
    told = compose()
    for service in told["services"].values():
        assert {volume.split(":")[0] for volume in service["volumes"]} <= set(told["volumes"])
        assert set(service.get("depends_on", {})) <= set(told["services"])


def unit() -> configparser.ConfigParser:
    read = configparser.ConfigParser(strict=False, interpolation=None)
    read.optionxform = str  # pyright: ignore[reportAttributeAccessIssue] - as the library tells to
    read.read(DEPLOY / "preceptor.service", encoding="utf-8")
    return read


def test_the_unit_keeps_to_its_own_folder_and_to_few_rights():
    service = unit()["Service"]
    assert service["ExecStart"].endswith("/preceptor serve")
    strict = ("DynamicUser", "NoNewPrivileges", "PrivateTmp", "PrivateDevices", "ProtectHome", "RestrictSUIDSGID")
    assert {service[name] for name in strict} == {"yes"}
    assert (service["ProtectSystem"], service["CapabilityBoundingSet"]) == ("strict", "")
    assert f"PRECEPTOR_DATA_DIR=/var/lib/{service['StateDirectory']}" in service["Environment"]


def test_systemd_understands_the_unit_where_there_is_one(tmp_path: Path):
    copy = tmp_path / "preceptor.service"
    text = (DEPLOY / "preceptor.service").read_text(encoding="utf-8")
    copy.write_text(text.replace("/opt/preceptor/bin/preceptor", shutil.which("true") or ""), encoding="utf-8")
    if analyze := shutil.which("systemd-analyze"):
        done = subprocess.run([analyze, "verify", copy], capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
    assert unit()["Install"]["WantedBy"] == "multi-user.target"


def test_every_setting_that_these_files_and_pages_name_is_one():
    files = [*DEPLOY.rglob("*.yaml"), DEPLOY / "preceptor.service", DEPLOY / "Dockerfile"]
    files += [ROOT / "docs" / "how-to" / name for name in ("install.md", "observe.md", "upgrade.md", "webhooks.md")]
    more = {"PRECEPTOR_CONFIG", "PRECEPTOR_BUILD_VERSION"}
    for file in files:
        named = {name for name in NAMED.findall(file.read_text(encoding="utf-8")) if not name.endswith("_")}
        assert named <= SETTINGS | more, file.name


def sbom_tool() -> Any:
    spec = importlib.util.spec_from_file_location("sbom", ROOT / "tools" / "sbom.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_bill_of_materials_names_every_package_of_the_lock_and_is_the_same_each_time():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    bill = sbom_tool().bill(lock, "1.2.3")
    assert bill == sbom_tool().bill(lock, "1.2.3")
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert len(bill["components"]) == len(re.findall(r"^[A-Za-z0-9].*==", lock, re.MULTILINE))
    assert bill["dependencies"][0]["ref"] == bill["metadata"]["component"]["bom-ref"]
    hashes = [one["value"] for part in bill["components"] for one in part["properties"] if "sha256" in one["name"]]
    assert sorted(hashes) == sorted(re.findall(r"sha256:([0-9a-f]{64})", lock))
    [ours] = [part for part in bill["components"] if part["name"] == "fastapi"]
    assert re.fullmatch(r"pkg:pypi/fastapi@[\d.]+", ours["purl"])
