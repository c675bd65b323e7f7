"""The first run: never a blank page, a demo that is labelled as one, and a tour."""

import re
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from tests.serving import PATIENCE, serving
from tests.web.browsing import Site, findings
from tests.web.conftest import QUIET
from tests.web.provider import Provider


@pytest.fixture(scope="module")
def fresh(browser: Browser, provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    folder: Path = tmp_path_factory.mktemp("fresh")
    with serving(folder, **QUIET | {"PRECEPTOR_MODEL_URL": provider.url}) as served:
        site = Site(served, provider, browser)
        site.sign_in()
        yield site


def test_an_empty_installation_offers_a_demo_that_is_answered_before_ones_eyes(fresh: Site):
    with fresh.tab() as page:
        page.goto(fresh.url)
        expect(page.get_by_role("heading", name="Nothing has been said yet")).to_be_visible()
        assert findings(page) == []
        page.get_by_role("button", name="Set up the demo").click()
        expect(page.locator("h1")).to_have_text("Order 4711 is late (demo)")
        expect(page.locator("body[data-turn=done]")).to_be_attached()
        assert re.search(r'details class=\\"delegation\\" id=\\"[^"]+\\" open', watched(fresh, page.url))
        expect(page.locator(".final")).to_contain_text("three days after the promised date")
        expect(page.locator(".bar .chip", has_text="demo")).to_be_visible()
        page.locator(".final [data-inspect]").click()
        panel = page.locator("#inspector")
        expect(panel.locator(".seg", has_text="Find out where an order is")).to_contain_text("instruction")
        expect(panel.locator("#unattributed")).to_have_text("0 tokens without a source")


def watched(site: Site, address: str) -> str:
    """What is told, step by step, to whoever is there from the beginning: the demo goes on at its own pace."""
    cookie = f"{site.cookies[0]['name']}={site.cookies[0]['value']}"
    stream = f"{address.partition('#')[0]}/stream?after=0"
    return httpx2.get(stream, headers={"cookie": cookie}, trust_env=False, timeout=PATIENCE).text


def test_every_demo_conversation_is_marked_and_the_tour_leads_to_them(fresh: Site):
    with fresh.tab() as page:
        page.goto(f"{fresh.url}/conversations")
        expect(page.locator("[data-item]")).to_have_count(3)
        expect(page.locator("[data-item] .chip", has_text="demo")).to_have_count(3)
        page.goto(f"{fresh.url}/start")
        expect(page.get_by_role("heading", name="A tour of three minutes")).to_be_visible()
        expect(page.get_by_text("let us set up a small demo")).to_have_count(0)
        expect(page.get_by_role("link", name="Take the tour")).to_have_count(0)
        assert findings(page) == []
        page.get_by_role("link", name="Open it").click()
        expect(page.locator("h1")).to_contain_text("(demo)")


def test_whoever_may_not_set_it_up_is_not_offered_it(fresh: Site):
    fresh.api("POST", "/api/users", json={"userId": "vera", "name": "Vera", "role": "viewer"})
    with fresh.tab(cookies=fresh.cookies_of("vera")) as page:
        page.goto(fresh.url)
        expect(page.get_by_role("heading", name="Nothing has been said yet")).to_be_visible()
        expect(page.get_by_role("button", name="Set up the demo")).to_have_count(0)
        expect(page.get_by_text("let us set up a small demo")).to_have_count(0)


def test_it_is_not_said_that_nothing_was_said_when_it_was_or_is_archived(fresh: Site):
    fresh.api("POST", "/api/orgs", json={"orgId": "quiet", "name": "Quiet"})
    with fresh.tab(cookies=fresh.cookies_of("admin", "quiet")) as page:
        page.goto(f"{fresh.url}/conversations/new")
        page.get_by_role("link", name="New agent").click()
        page.get_by_label("Name").fill("Helper")
        page.get_by_role("button", name="Create").click()
        page.get_by_role("link", name="New conversation").click()
        page.get_by_label("Message").fill("¿Hello")
        page.get_by_role("button", name="Send").click()
        expect(page.locator("body[data-turn=done]")).to_be_attached()
        page.goto(f"{fresh.url}/start")
        expect(page.get_by_role("heading", name="See it at work")).to_be_visible()
        page.go_back()
        page.locator(".menu > summary").click()
        page.get_by_role("button", name="Archive").click()
        page.goto(f"{fresh.url}/conversations")
        page.get_by_role("link", name="Show what is archived").click()
        expect(page.locator("[data-item]")).to_have_count(1)
