import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.durability.checker import check
from tests.durability.full_disk import DISKS
from tests.requirements import covers

ROOT = Path(__file__).parents[2]
SMALL = "a small disk"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path | None]:
    """A disk of 32 MB, where this user may mount one."""
    mounting = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(mounting, capture_output=True, check=False).returncode != 0:
        yield None
        return
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


@covers("F7")
@pytest.mark.parametrize("way", DISKS)
def test_a_full_disk_refuses_writes_loses_nothing_and_is_forgotten_when_there_is_room(
    request: pytest.FixtureRequest, tmp_path: Path, sqlite_template: bytes, way: str
):
    if way == SMALL and request.getfixturevalue("small_disk") is None:
        print("No small disk can be mounted here: a limit on file size takes its place.")
        way = "a limit on file size, after a checkpoint"
    (tmp_path / "preceptor.db").write_bytes(sqlite_template)
    command = [sys.executable, "-m", "tests.durability.full_disk", way, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=60)
    report = orjson.loads(done.stdout)
    acknowledged = check(f"sqlite:///{tmp_path / 'preceptor.db'}", report["history"])
    print(f"{way}: {acknowledged} acknowledged")
    assert {*report["before"], *report["after"]} <= {200, 201}
    assert {*report["full"]} <= {200, 201, 507}
    assert report["reads"] == 200
