"""Pictures of the pages: `python -m tools.screenshots` writes those of the README, with a server and a demo of its own;
with a folder, every page in both themes, wide and narrow.
"""

import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

from tests.serving import serving
from tests.web.browsing import Site, launched
from tests.web.conftest import QUIET
from tests.web.places import places
from tests.web.provider import providing

FOLDER = Path(__file__).parent.parent / "docs" / "images"
SHOWN = {"light": {"conversation", "effective"}, "dark": {"context", "cleanup"}}
SIZE = {"width": 1280, "height": 800}
VIEWS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": SIZE},
    "dark": {"color_scheme": "dark", "viewport": SIZE},
    "narrow": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
    "narrow-dark": {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
    "wide": {"color_scheme": "light", "viewport": {"width": 1920, "height": 1080}},
}


def main() -> None:
    with site() as shown:
        if len(sys.argv) > 1:
            every_page(shown, Path(sys.argv[1]))
        else:
            readme(shown)


@contextmanager
def site() -> Generator[Site]:
    with sync_playwright() as playwright, providing() as provider, tempfile.TemporaryDirectory() as folder:
        browser = launched(playwright)
        with serving(Path(folder), **QUIET | {"PRECEPTOR_MODEL_URL": provider.url}) as served:
            made = Site(served, provider, browser)
            made.sign_in()
            yield made
        browser.close()


def every_page(shown: Site, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    found = places(shown)
    for name, view in VIEWS.items():
        with shown.tab(**view) as page:
            for place, path in found.items():
                page.goto(shown.url + path)
                page.screenshot(path=folder / f"{place}-{name}.png", full_page=True)
        with shown.context(cookies=[], **view) as context:
            page = context.new_page()
            page.goto(shown.url)
            page.screenshot(path=folder / f"sign-in-{name}.png")


def readme(shown: Site) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for look, names in SHOWN.items():
        with shown.tab(viewport=SIZE, color_scheme=look) as page:
            for name in walk(shown, page):
                if name in names:
                    page.screenshot(path=FOLDER / f"{name}-{look}.png")


def walk(shown: Site, page: Page) -> Iterator[str]:
    """Through the demo, as a newcomer would; at each stop a picture is taken."""
    page.goto(f"{shown.url}/start")
    page.locator("form[action='/start/demo'] button").click()
    expect(page.locator("body[data-turn=done]")).to_be_attached(timeout=30_000)
    page.locator(".delegation > summary").first.click()
    page.locator("#thread").evaluate("it => { it.scrollTop = 0; }")
    yield "conversation"
    page.locator(".final [data-inspect]").click()
    expect(page.locator("#inspector")).to_be_visible()
    page.mouse.move(0, 0)
    yield "context"
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Clean up intermediate").click()
    yield "cleanup"
    page.goto(f"{shown.url}/agents/demo-support/effective")
    yield "effective"


if __name__ == "__main__":
    main()
