"""A clean machine, as far as Python goes: an environment with what the lock names and the wheel, and no checkout."""

import os
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.serving import end

ROOT = Path(__file__).parents[2]
UV = str(Path(sys.executable).with_name("uv"))
PATIENCE = 60.0
STARTED = re.compile(r"is running on (http\S+)[\s\S]+?(http\S+/login\?token=\S+)")


def build(source: Path, target: Path, kind: str) -> Path:
    """Build the `sdist` or the `wheel` of a folder of sources."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=120)
    [made] = [path for path in target.iterdir() if path.suffix == (".gz" if kind == "sdist" else ".whl")]
    return made


def unpacked(archive: Path, target: Path) -> Path:
    with tarfile.open(archive) as opened:
        opened.extractall(target, filter="data")
    [folder] = target.iterdir()
    return folder


@dataclass(frozen=True)
class Installed:
    """`preceptor` where there is nothing else of ours."""

    folder: Path
    home: Path

    @property
    def command(self) -> str:
        return str(self.folder / "bin" / "preceptor")

    def environment(self, **more: str) -> dict[str, str]:
        kept = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.home)}
        return kept | {"PRECEPTOR_DATA_DIR": str(self.home / "data"), "PRECEPTOR_PORT": "0"} | more

    def run(self, *words: str, **more: str) -> str:
        environment, command = self.environment(**more), [self.command, *words]
        done = subprocess.run(
            command, env=environment, cwd=self.home, timeout=120, check=True, capture_output=True, text=True
        )
        return done.stdout

    @contextmanager
    def serving(self, **more: str) -> Generator[tuple[str, str]]:
        """The address of a server, and the sign-in link that it printed."""
        said = self.home / "said"
        with said.open("wb") as out:
            process = subprocess.Popen(
                [self.command, "serve"], env=self.environment(**more), cwd=self.home, stdout=out, stderr=out
            )
        try:
            deadline = time.monotonic() + PATIENCE
            while (
                found := re.search(
                    r"is running on (http\S+)[\s\S]+?(http\S+/login\?token=\S+)", said.read_text(encoding="utf-8")
                )
            ) is None:
                assert process.poll() is None, said.read_text(encoding="utf-8")
                assert time.monotonic() < deadline, said.read_text(encoding="utf-8")
                time.sleep(0.02)
            yield found[1], found[2]
        finally:
            end(process)


def install(wheel: Path, folder: Path, home: Path) -> Installed:
    """From what was fetched before, where that is enough; every package is held to its hash."""
    home.mkdir()
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True, timeout=60)
    python = str(folder / "bin" / "python")
    locked = ["--require-hashes", "-r", str(ROOT / "requirements.lock")]
    for wanted in (locked, [str(wheel)]):
        command = [UV, "pip", "install", "--quiet", "--python", python, "--no-deps", *wanted]
        if subprocess.run([*command, "--offline"], check=False, capture_output=True, timeout=300).returncode != 0:
            subprocess.run(command, check=True, timeout=300)
    return Installed(folder, home)
