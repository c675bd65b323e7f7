"""Write the reference pages that come from the code. `make docs` runs it; a test holds the pages to it."""

import json
import sys
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from preceptor.app import Preceptor
from preceptor.domain.reasoning.routing import BINDING, patience, routing
from preceptor.domain.reasoning.verdict import GATE
from preceptor.domain.reasoning.visibility import OUTPUTS
from preceptor.kept_secrets import PREFIX
from preceptor.settings import Settings
from preceptor.surfaces.http import create_app
from tools import fields
from tools.reference.client import client_page
from tools.reference.commands import commands_page
from tools.reference.events import events_page
from tools.reference.failures import failures_page
from tools.reference.rest import rest_page, values_page
from tools.site import SITE, configuration

ROOT = Path(__file__).parent.parent
HEAD = """# Settings

Read once at start: from the environment, from `.env`, and from `preceptor.toml` or the file in `PRECEPTOR_CONFIG`, in
that order. In TOML the names are in small letters without the prefix.

| variable | default | meaning |
|---|---|---|
"""
DEFAULTS = {
    "data_dir": "platform data folder",
    "allowed_hosts": "loopback names",
    "model": "chosen",
    "egress_allow": "none",
    "tools": "none",
    "guard_mosec_path": "none",
    "sgr_templates": "ours",
}
TABLES_HEAD = """# Decision tables

What becomes of a turn is decided by these tables, never by a model alone. Each decision is stored with the table, its
version and the row that fired. They are checked when they are loaded: every case has a row, and every row a case.
DT-002 and DT-005 are shown with the default thresholds; an agent may have its own.
"""
TABLES = (GATE, routing(), BINDING, OUTPUTS, patience())


def settings_page() -> str:
    rows = [
        f"| `{PREFIX}{name.upper()}` | {DEFAULTS.get(name) or _shown(field.default)} | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]
    return HEAD + "\n".join(rows) + "\n"


def _shown(default: object) -> str:
    return "none" if default is None else str(default).lower() if isinstance(default, bool) else str(default)


def tables_page() -> str:
    return "\n\n".join([TABLES_HEAD.rstrip(), *(f"{table}\n\nVersion `{table.version}`." for table in TABLES)]) + "\n"


def openapi_page() -> str:
    """The document of the HTTP API, as a server with these settings gives it at /openapi.json."""
    return json.dumps(_app().openapi(), indent=1, ensure_ascii=False) + "\n"


def _app() -> FastAPI:
    nothing: Any = None
    return create_app(Preceptor(nothing, Settings.model_construct(), nothing))


REFERENCE = ROOT / "docs" / "reference"
PAGES = {
    REFERENCE / "settings.md": settings_page,
    REFERENCE / "decision-tables.md": tables_page,
    REFERENCE / "openapi.json": openapi_page,
    REFERENCE / "rest.md": lambda: rest_page(_app()),
    REFERENCE / "values.md": lambda: values_page(_app()),
    REFERENCE / "command-line.md": commands_page,
    REFERENCE / "python-client.md": client_page,
    REFERENCE / "errors.md": failures_page,
    REFERENCE / "events.md": events_page,
    SITE: configuration,
}

if __name__ == "__main__":
    for path, text in [*((path, page()) for path, page in PAGES.items()), *fields.modules().items()]:
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
