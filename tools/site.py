"""The documentation site: which pages it has, in which order.

`make docs` writes the order into mkdocs.yml, which Zensical reads and MkDocs with its theme Material could. A page that
nobody put in order comes last in its folder.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SITE = ROOT / "mkdocs.yml"
HEAD = """# Written by `make docs` from tools/site.py: change it there.
site_name: Preceptor
site_description: Decides what an agent is told, how it reasons and who sees what, and can prove it afterwards
docs_dir: docs
site_dir: site
theme:
  name: material
  font: false
  features: [navigation.tabs, navigation.sections, navigation.top, search.highlight, content.code.copy]
  palette:
    - media: "(prefers-color-scheme: light)"
      scheme: default
      toggle: {icon: lucide/sun, name: Dark}
    - media: "(prefers-color-scheme: dark)"
      scheme: slate
      toggle: {icon: lucide/moon, name: Light}
plugins: [search]
markdown_extensions:
  - admonition
  - attr_list
  - md_in_html
  - tables
  - toc: {permalink: true}
  - pymdownx.highlight
  - pymdownx.superfences
nav:
"""
SECTIONS = {
    "Quickstarts": "quickstarts",
    "How to": "how-to",
    "Explanation": "explanation",
    "Reference": "reference",
    "Decisions": "decisions",
}
FIRST = {
    "quickstarts": ["library", "server", "openai-client", "chat-clients", "mcp", "pydantic-ai", "ab-test", "replay"],
    "how-to": [
        "install",
        "connect",
        "python-client",
        "keep-prompts-in-git",
        "run-an-experiment",
        "replay-traffic",
        "run-executions",
        "fit-a-history",
        "operate",
        "upgrade",
        "scale-out",
        "observe",
        "webhooks",
    ],
    "explanation": [
        "merge",
        "delegation",
        "guardian-and-planning",
        "views-and-history",
        "manifests",
        "exactly-once",
        "experiments",
        "web-pages",
        "comparison",
    ],
    "reference": ["rest", "values", "python-client", "command-line", "settings", "errors", "events", "decision-tables"],
}


def configuration() -> str:
    lines = [HEAD.rstrip("\n"), "  - Home: index.md", "  - Tutorial: tutorial.md"]
    for title, folder in SECTIONS.items():
        lines.append(f"  - {title}:")
        lines += [f"      - {_quoted(title_of(page))}: {page.relative_to(DOCS)}" for page in pages(folder)]
    return "\n".join(lines) + "\n"


def pages(folder: str) -> list[Path]:
    first = FIRST.get(folder, [])

    def place(page: Path) -> tuple[int, str]:
        return (first.index(page.stem) if page.stem in first else len(first)), page.stem

    return sorted((DOCS / folder).glob("*.md"), key=place)


def title_of(page: Path) -> str:
    heading = page.read_text(encoding="utf-8").lstrip().partition("\n")[0].removeprefix("#").strip()
    number, _, _ = page.stem.partition("-")
    if not number.isdigit():
        return heading
    return f"{int(number)}. {re.sub(r'^[0-9]+[.:] *', '', heading)}"


def _quoted(title: str) -> str:
    return '"' + title.replace('"', "'") + '"'
