"""What is installed has the pages with it."""

import subprocess
import sys
import zipfile
from pathlib import Path

from preceptor.surfaces import web

ROOT = Path(__file__).parents[2]


def test_a_wheel_carries_every_template_asset_and_word(tmp_path: Path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    [wheel] = tmp_path.glob("*.whl")
    here = Path(web.__path__[0])
    files = [
        file for folder in ("templates", "static", "words") for file in (here / folder).rglob("*") if file.is_file()
    ]
    wanted = {f"preceptor/surfaces/web/{file.relative_to(here).as_posix()}" for file in files}
    assert len(wanted) > 20
    assert wanted - set(zipfile.ZipFile(wheel).namelist()) == set()
