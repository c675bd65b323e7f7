"""Running a page: all its blocks, from top to bottom, in one shell, as a reader would who types them in."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests import warm
from tests.docs.blocks import Block
from tests.serving import Served, clean

ADDRESS = "127.0.0.1:3003"
"""Where the documents say a server listens. The tests' one listens elsewhere."""
SHELL = frozenset({"bash", "console"})
LONGEST = 120
_PROMPT = re.compile(r"^\$ ", re.MULTILINE)


def run(blocks: list[Block], folder: Path, served: Served, model_url: str) -> None:
    """Run blocks in an empty folder beside a server; what one of them says or does wrong fails the test."""
    (folder / ".preceptor").symlink_to(served.data_dir)
    (folder / ".venv").symlink_to(sys.prefix)
    address = served.url.removeprefix("http://")
    command(folder / "bin" / "preceptor")
    script, wanted = folder / "page.sh", dict[str, str]()
    lines = ["set -euo pipefail"]
    for block in blocks:
        lines += [f"echo '== line {block.line}' >&2", *_lines(block, folder, address, wanted)]
    script.write_text("\n".join(lines).replace(ADDRESS, address), encoding="utf-8")
    done = subprocess.run(
        ["bash", script],
        cwd=folder,
        env=_environment(folder, served, model_url),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    for name, expected in wanted.items():
        shown = (folder / name).read_text(encoding="utf-8")
        assert _alike(expected.replace(ADDRESS, address), shown), f"expected\n{expected}\nbut it said\n{shown}"


def command(file: Path) -> None:
    """`preceptor`, which need not read all its code again for every line of a page."""
    file.parent.mkdir()
    file.write_text(f'#!/bin/sh\nexec {sys.executable} -IS {warm.__file__} {warm.parent()} "$@"\n', encoding="utf-8")
    file.chmod(0o755)


def _environment(folder: Path, served: Served, model_url: str) -> dict[str, str]:
    here = clean(served.data_dir, PRECEPTOR_MODEL_URL=model_url, NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")
    path = os.pathsep.join((str(folder / "bin"), str(Path(sys.executable).parent), here["PATH"]))
    return here | {"PATH": path, "COLUMNS": "200", "EDITOR": "true"}


def _lines(block: Block, folder: Path, address: str, wanted: dict[str, str]) -> Iterator[str]:
    if block.language == "python":
        script = folder / f"line{block.line}.py"
        script.write_text(block.code.replace(ADDRESS, address), encoding="utf-8")
        yield f"PRECEPTOR_DATA_DIR=own python {script.name}"  # a library opens a folder that no server holds
    elif block.language == "bash":
        yield block.code
    else:
        yield from _commands(block, wanted)


def _commands(block: Block, wanted: dict[str, str]) -> Iterator[str]:
    """Each command after a `$`, and below it what it says."""
    for number, told in enumerate(_PROMPT.split(block.code)[1:]):
        command, _, output = told.partition("\n")
        name = f"line{block.line}-{number}.out"
        wanted[name] = output
        yield f"{{ {command}\n}} > {name} 2>&1"


def _alike(expected: str, shown: str) -> bool:
    """Whether it says that; `…` stands for anything, and spaces do not count."""
    pattern = r"[\s\S]*".join(re.escape(" ".join(part.split())) for part in expected.split("…"))
    return re.fullmatch(pattern.replace(r"\ ", r"\s*"), " ".join(shown.split())) is not None
