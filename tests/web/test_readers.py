"""Who sees what: the pages go through the same permissions as the API."""

import os
import signal
import time
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from tests.requirements import covers
from tests.serving import serving
from tests.web.browsing import AGENT, Site, findings, watched
from tests.web.conftest import QUIET
from tests.web.provider import LOGISTICS, Provider

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))


@covers("S1")
def test_a_viewer_sees_the_conversation_and_no_record_of_the_system(site: Site):
    site.api("POST", "/api/users", json={"userId": "vic", "name": "Vic", "role": "viewer"})
    with (
        site.context(cookies=site.cookies_of("vic")) as context,
        watched(context.new_page(), site.url, ("403", "404")) as page,
    ):
        page.goto(f"{site.url}/conversations/new?agent={AGENT}")
        page.get_by_label("Message", exact=True).fill("¿Where is my order 4711?")
        page.get_by_role("button", name="Send").click()
        expect(page.locator("body[data-turn=done]")).to_be_attached()
        page.reload()
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        expect(page.get_by_text("How I understood your request")).to_be_visible()
        expect(page.locator(".intermediate")).to_have_count(2)
        html = page.content()
        for secret in (LOGISTICS, "confidence 0.9", "gpt-5-mini", "What the model saw</a>", "secretly"):
            assert secret not in html, secret
        message = page.locator(".final").get_attribute("id")
        assert message
        answer = page.goto(f"{site.url}/messages/{message.removeprefix('m-')}/context")
        assert answer
        assert answer.status == 403
        expect(page.get_by_role("heading", name="You may not do this")).to_be_visible()
        assert findings(page) == []
        answer = page.goto(f"{site.url}/conversations/{site.talk('¿The admin speaks')}")
        assert answer
        assert answer.status == 404


@covers("S1")
def test_another_organisations_conversations_are_not_there(site: Site):
    site.api("POST", "/api/orgs", json={"orgId": "rivals", "name": "Rivals"})
    conversation = site.talk("¿Ours", title="canary-77")
    cookies = site.cookies_of("admin", "rivals")
    cookie = f"{cookies[0]['name']}={cookies[0]['value']}"
    with httpx2.Client(base_url=site.url, headers={"cookie": cookie}, trust_env=False) as client:
        assert client.get("/conversations").status_code == 200
        assert "canary-77" not in client.get("/conversations").text
        for method, path in (
            ("GET", ""),
            ("GET", "/stream"),
            ("POST", "/messages"),
            ("POST", "/cancel"),
            ("POST", "/cleanup"),
            ("POST", "/archive"),
        ):
            data = {"text": "x", "message": "y"} if method == "POST" else None
            answer = client.request(method, f"/conversations/{conversation}{path}", data=data)
            assert (path, answer.status_code) == (path, 404)


def test_without_a_session_every_page_asks_to_sign_in(site: Site):
    for path in (
        "/conversations",
        "/conversations/new",
        "/settings",
        "/start",
        "/conversations/x",
        "/messages/x/context",
    ):
        answer = httpx2.get(site.url + path, trust_env=False)
        assert answer.status_code == 401
        assert "preceptor link" in answer.text


def test_a_server_with_open_streams_stops_at_once(
    browser: Browser, provider: Provider, tmp_path_factory: pytest.TempPathFactory
):
    with serving(tmp_path_factory.mktemp("stop"), **QUIET | {"PRECEPTOR_MODEL_URL": provider.url}) as served:
        site = Site(served, provider, browser)
        site.sign_in()
        with site.context() as context, provider.holding():
            page = context.new_page()
            page.goto(f"{site.url}/conversations/new?agent={AGENT}")
            page.get_by_label("Message", exact=True).fill("¿Tell me, wait")
            page.get_by_role("button", name="Send").click()
            expect(page.locator(".final .raw")).to_contain_text("Understood")
            began = time.monotonic()
            served.process.send_signal(signal.SIGTERM)
            served.process.wait(timeout=5)
            assert time.monotonic() - began < 5


def test_a_long_conversation_opens_with_its_last_turns_and_leads_to_the_rest(site: Site):
    turns = 500 if NIGHTLY else 55
    conversation = site.talk(*(f"¿Question {number}" for number in range(1, turns + 1)), title="Long")
    with site.tab() as page:
        session: Any = page.context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        page.goto(f"{site.url}/conversations/{conversation}")
        expect(page.locator(".turn")).to_have_count(50)
        assert page.evaluate("document.querySelectorAll('*').length") < 2_500
        if NIGHTLY:
            assert page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") < 1000
        page.get_by_role("link", name="Show earlier").click()
        expect(page.locator(".turn")).to_have_count(min(50, turns - 50))
        expect(page.locator(".user").last).to_contain_text(f"Question {turns - 50}")
