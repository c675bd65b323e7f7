"""Write the screenshots of the README: `python -m tools.screenshots`, with a server and a demo of its own."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from tests.serving import serving
from tests.web.browsing import Site, launched
from tests.web.conftest import QUIET
from tests.web.provider import providing

FOLDER = Path(__file__).parent.parent / "docs" / "images"
SHOWN = {"light": {"conversation", "effective"}, "dark": {"context", "cleanup"}}
SIZE = {"width": 1280, "height": 800}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, providing() as provider, tempfile.TemporaryDirectory() as folder:
        browser = launched(playwright)
        with serving(Path(folder), **QUIET | {"PRECEPTOR_MODEL_URL": provider.url}) as served:
            site = Site(served, provider, browser)
            site.sign_in()
            for look, names in SHOWN.items():
                with site.tab(viewport=SIZE, color_scheme=look) as page:
                    for name in walk(site, page):
                        if name in names:
                            page.screenshot(path=FOLDER / f"{name}-{look}.png")
        browser.close()


def walk(site: Site, page: Page) -> Iterator[str]:
    """Through the demo, as a newcomer would; at each stop a picture is taken."""
    page.goto(f"{site.url}/start")
    page.locator("form[action='/start/demo'] button").click()
    expect(page.locator("body[data-turn=done]")).to_be_attached(timeout=30_000)
    page.locator(".delegation > summary").first.click()
    page.locator("#thread").evaluate("it => { it.scrollTop = 0; }")
    yield "conversation"
    page.locator(".final [data-inspect]").click()
    expect(page.locator("#inspector")).to_be_visible()
    yield "context"
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Clean up intermediate").click()
    yield "cleanup"
    page.goto(f"{site.url}/agents/demo-support/effective")
    yield "effective"


if __name__ == "__main__":
    main()
