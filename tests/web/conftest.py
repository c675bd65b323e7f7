from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.serving import serving
from tests.web.browsing import Site, launched
from tests.web.provider import Provider, providing

QUIET = {
    "PRECEPTOR_RATE_LIMIT_PER_KEY": "100000",
    "PRECEPTOR_RATE_LIMIT_PER_ORG": "100000",
    "PRECEPTOR_ACCESS_LOG": "false",
    "PRECEPTOR_MODEL": "openai-compatible:gpt-5-mini",
}


PATIENCE = 20_000
"""Milliseconds: what is waited for comes at once, unless the machine has much else to do."""
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="package")
def browser() -> Generator[Browser]:
    """For this folder only: while it is open, no other event loop can run in this thread."""
    with sync_playwright() as playwright:
        opened = launched(playwright)
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def provider() -> Generator[Provider]:
    with providing() as made:
        yield made


@pytest.fixture(scope="package")
def site(browser: Browser, provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """One server for all tests: each works in conversations of its own."""
    folder: Path = tmp_path_factory.mktemp("site")
    with serving(folder, PRECEPTOR_MODEL_URL=provider.url, **QUIET) as served:
        made = Site(served, provider, browser)
        made.sign_in()
        yield made


@pytest.fixture
def tab(site: Site) -> Generator[Page]:
    """A page signed in as the admin."""
    with site.tab() as page:
        yield page
