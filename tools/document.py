"""Write the reference pages that come from the code. `make docs` runs it; a test holds the pages to it."""

import sys
from pathlib import Path

from preceptor.settings import PREFIX, Settings

ROOT = Path(__file__).parent.parent
HEAD = """# Settings

Read once at start: from the environment, from `.env`, and from `preceptor.toml` or the file in `PRECEPTOR_CONFIG`, in
that order. In TOML the names are in small letters without the prefix.

| variable | default | meaning |
|---|---|---|
"""
DEFAULTS = {"data_dir": "platform data folder", "allowed_hosts": "loopback names"}


def settings_page() -> str:
    rows = [
        f"| `{PREFIX}{name.upper()}` | {DEFAULTS.get(name) or _shown(field.default)} | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]
    return HEAD + "\n".join(rows) + "\n"


def _shown(default: object) -> str:
    return "none" if default is None else str(default).lower() if isinstance(default, bool) else str(default)


PAGES = {ROOT / "docs" / "reference" / "settings.md": settings_page}

if __name__ == "__main__":
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
