"""A real browser on a real server. Whatever a page does wrong beside what a test looks at fails the test as well."""

import os
import re
import shutil
import threading
from base64 import urlsafe_b64encode
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import orjson
from axe_playwright_python.sync_playwright import Axe  # pyright: ignore[reportMissingTypeStubs]
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Playwright, Route, expect

from preceptor.adapters.sealing import SealedBox
from preceptor.domain.times import to_micros
from preceptor.surfaces.web.pages import COOKIE
from tests.serving import Served
from tests.web.provider import Provider

ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
AGENT = "support"
NO_BROWSER = (
    "The browser tests need Chromium. Install it (Debian: apt-get install chromium), or name one with "
    "CHROMIUM=/path/to/chromium."
)


def launched(playwright: Playwright) -> Browser:
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, NO_BROWSER
    return playwright.chromium.launch(executable_path=found, args=ARGS)


@dataclass
class Site:
    """A served Preceptor, the model behind it, and a browser to look at it with."""

    served: Served
    provider: Provider
    browser: Browser
    cookies: list[Any] = field(default_factory=list[Any])

    @property
    def url(self) -> str:
        return self.served.url

    def api(self, method: str, path: str, **sent: Any) -> Any:
        """What the API answers to the admin; the pages must say the same."""
        with self.served.client() as client:
            answer = client.request(method, path, **sent, timeout=30)
            assert answer.status_code < 300, answer.text
            return answer.json() if answer.content else None

    def link(self, key: str | None = None) -> str:
        with self.served.client(key) as client:
            return self.url + client.post("/api/sign-in-links").raise_for_status().json()["path"]

    def talk(self, *questions: str, agent: str = AGENT, title: str | None = None) -> str:
        """A conversation in which these were asked and answered."""
        made = self.api("POST", "/api/conversations", json={"agentId": agent, "title": title})
        for question in questions:
            self.api("POST", f"/api/conversations/{made['conversationId']}/messages", json={"content": question})
        return made["conversationId"]

    @contextmanager
    def context(self, **options: Any) -> Generator[BrowserContext]:
        """A browser of its own, as the admin unless `cookies` says otherwise."""
        cookies = options.pop("cookies", self.cookies)
        settings: dict[str, Any] = {"reduced_motion": "reduce", "viewport": {"width": 1280, "height": 800}} | options
        context = self.browser.new_context(**settings)
        context.set_default_timeout(20_000)
        try:
            if cookies:
                context.add_cookies(cookies)
            yield context
        finally:
            context.close()

    @contextmanager
    def tab(self, **options: Any) -> Generator[Page]:
        with self.context(**options) as context, watched(context.new_page(), self.url) as page:
            yield page

    def cookies_of(self, user: str, org: str = "default") -> list[Any]:
        """The session of another user, as the server itself would make it."""
        key = (self.served.data_dir / "secret.key").read_text(encoding="utf-8").strip()
        ends = to_micros(datetime.now(UTC) + timedelta(hours=1))
        body = urlsafe_b64encode(orjson.dumps([org, user, ends])).decode()
        value = f"{body}.{SealedBox(key).sign(body.encode(), 'session')}"
        return [{"name": COOKIE, "value": value, "url": self.url, "httpOnly": True, "sameSite": "Lax"}]

    def sign_in(self) -> None:
        """Open the link that `serve` printed, once for all tests, and have an agent with a tool."""
        answer = httpx2.get(self.served.link, trust_env=False)
        assert answer.status_code == 303, answer.text
        name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
        agent = {
            "agentId": AGENT,
            "name": "Support for customers of a shop with a long name",
            "tools": ["calculator"],
            "permissions": ["delegate"],
        }
        self.api("POST", "/api/agents", json=agent)
        self.cookies = [{"name": name, "value": value, "url": self.url, "httpOnly": True, "sameSite": "Lax"}]


@contextmanager
def watched(page: Page, url: str, allowed: tuple[str, ...] = ()) -> Generator[Page]:
    """Fails on a console error, an uncaught exception or a request that leaves the machine.

    `allowed` are statuses that a test provokes on purpose: the browser tells them as console errors.
    """
    bad: list[str] = []

    def console(message: Any) -> None:
        if message.type == "error" and not any(f"status of {status}" in message.text for status in allowed):
            bad.append(f"console: {message.text}")

    page.on("pageerror", lambda error: bad.append(f"uncaught: {error}"))
    page.on("console", console)
    page.on("request", lambda one: None if one.url.startswith((url, "data:", "about:")) else bad.append(one.url))
    yield page
    assert not bad, bad


@contextmanager
def before(script: str, page: Page) -> Generator[None]:
    """What is done in the block is done before that script is there."""
    held, over = list[Route](), threading.Event()

    def hold(route: Route) -> None:
        if over.is_set():
            route.continue_()
        else:
            held.append(route)

    page.route(f"**/{script}*", hold)
    yield
    over.set()
    for route in held:
        route.continue_()


def complains(field: Locator, sentence: str) -> None:
    """Whether the field itself says what is wrong with it, to those who see it and to those who do not."""
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile(re.escape(sentence)))
    expect(field).to_be_visible()


AXE: Any = Axe()
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
SHAPES = {"rules": {"color-contrast": {"enabled": False}}}
"""Axe, without what looks at colours and takes longest; and with nothing else."""
ASKED = "asked => axe.run(asked).then(told => told.violations.map(one => [one.id, one.nodes.map(node => node.target)]))"


def findings(page: Page, asked: dict[str, Any] | None = None) -> list[Any]:
    """What axe finds wrong with a page."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.axe_script)
    return page.evaluate(ASKED, {"resultTypes": ["violations"]} | (asked or {}))
