"""Which version this is: from the tag, wherever the code is built.

v1.2.3 itself is 1.2.3; seven commits later it is 1.2.4.dev7. A source archive says what it was made as. A clone without
tags, or a folder without git, is a step before the first release.
"""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
FIRST = "0.1.0"
GIVEN = "PRECEPTOR_BUILD_VERSION"
"""Says it outright, where neither git nor an archive is there: in an image."""
_DESCRIBED = re.compile(r"v(\d+)\.(\d+)\.(\d+)-(\d+)-g[0-9a-f]+")


def version(root: Path = ROOT) -> str:
    return os.environ.get(GIVEN) or _of_archive(root) or _of_git(root) or f"{FIRST}.dev0"


def _of_archive(root: Path) -> str | None:
    about = root / "PKG-INFO"
    found = re.search(r"^Version: (\S+)$", about.read_text(encoding="utf-8"), re.MULTILINE) if about.exists() else None
    return found[1] if found else None


def _of_git(root: Path) -> str | None:
    if not (root / ".git").exists():  # a folder inside someone else's repository is not ours
        return None
    tagged = _said(root, "describe", "--tags", "--long", "--match", "v[0-9]*.[0-9]*.[0-9]*")
    if found := _DESCRIBED.fullmatch(tagged or ""):
        major, minor, patch, since = map(int, found.groups())
        return f"{major}.{minor}.{patch}" if since == 0 else f"{major}.{minor}.{patch + 1}.dev{since}"
    count = _said(root, "rev-list", "--count", "HEAD")
    return f"{FIRST}.dev{count}" if count else None


def _said(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
