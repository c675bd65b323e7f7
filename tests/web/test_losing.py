"""A server that is gone, a session that is over, words that never end: a page bears it, and nothing is lost."""

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.web.browsing import Site, before
from tests.web.library import make

LOST, OVER = "The connection is lost. Reload the page.", "You are not signed in any more."
LONG = "Pneumonoultramicroscopicsilicovolcanoconiosis" * 4
SIZES: tuple[ViewportSize, ...] = ({"width": 1280, "height": 800}, {"width": 390, "height": 844})
PREVIEWS = {
    "assignment": ("/agents/{agent}", ".assignment [name=priority]", ".assignment .effect"),
    "instruction": ("/instructions/{family}/edit", "[name=description]", "#told"),
    "experiment": ("/experiments/new", "[name=days]", "#needed"),
}
"""Where a page shows what a form would come to while it is filled in: the page, a field, and the place."""


@pytest.mark.parametrize("name", PREVIEWS)
def test_a_preview_that_cannot_be_had_says_why_and_comes_back(site: Site, name: str):
    mine = make(site)
    path, field, place = PREVIEWS[name]
    with site.context() as context:
        page, uncaught = context.new_page(), list[str]()  # not watched: each request that fails is told as an error
        page.on("pageerror", lambda error: uncaught.append(str(error)))
        page.goto(site.url + path.format(agent=mine.agent_id, family=mine.family_id))
        written, shown = page.locator(field).first, page.locator(place).first
        context.set_offline(True)
        written.fill("13")
        expect(shown).to_have_text(LOST)
        context.set_offline(False)
        context.clear_cookies()
        written.fill("14")
        expect(shown).to_contain_text(OVER)
        context.add_cookies(site.cookies)
        written.fill("15")
        expect(shown).not_to_contain_text(OVER)
        expect(shown.locator("p").first).to_be_visible()
        expect(written).to_have_value("15")
        assert uncaught == []


@pytest.mark.parametrize("name", PREVIEWS)
def test_what_is_written_before_the_script_of_a_page_is_there_is_previewed_too(site: Site, tab: Page, name: str):
    mine = make(site)
    path, field, _ = PREVIEWS[name]
    with tab.expect_response(lambda answer: "x-part" in answer.request.headers) as previewed, before("part.js", tab):
        tab.goto(site.url + path.format(agent=mine.agent_id, family=mine.family_id), wait_until="commit")
        tab.locator(field).first.fill("13")
    assert "=13" in (previewed.value.request.post_data or "")


def test_a_word_that_never_ends_makes_no_page_wider_than_the_screen(site: Site):
    content = {"systemPrompt": LONG, "constraints": [{"id": "a" * 60, "text": LONG, "locked": True}]}
    wish = {"name": LONG, "type": "system", "description": LONG, "category": "c" * 60, "tags": ["t" * 60]}
    made = site.api("POST", "/api/instructions", json=wish | {"content": content})["familyId"]
    path = f"/instructions/{made}"
    site.api("PUT", f"/api{path}", json={"content": {"guidelines": [LONG]}, "changelog": LONG})
    site.api(
        "PUT", f"/api{path}/labels/{'l' * 60}", json={"instructionId": site.api("GET", f"/api{path}")["instructionId"]}
    )
    agent = {"name": LONG, "role": "r" * 60, "tools": ["mail__" + "x" * 50], "capabilities": ["y" * 60]}
    named = site.api("POST", "/api/agents", json=agent | {"agentId": "n" * 120})["agentId"]
    site.api("POST", f"/api/agents/{named}/instructions", json={"instructionId": made})
    talk = site.talk(f"¿{LONG}", agent=named, title=LONG)
    said = site.api("GET", f"/api/conversations/{talk}/messages")["items"][-1]["id"]
    paths = [path, *(f"{path}/{one}" for one in ("edit", "diff", "test", "archive"))]
    paths += ["/instructions", "/agents", f"/agents/{named}", f"/agents/{named}/effective", "/experiments/new"]
    paths += [
        "/conversations",
        f"/conversations/{talk}",
        f"/messages/{said}/context",
        "/replays/new",
        "/decision-tables",
    ]
    with site.tab() as page:
        for one in paths:
            page.goto(site.url + one)
            for size in SIZES:
                page.set_viewport_size(size)
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (one, size)


def test_templates_in_the_language_of_whoever_looks_come_first(site: Site):
    for language, first in (("en", "Data analysis"), ("ru", "Анализ данных"), ("vi", "Phân tích dữ liệu")):
        cookies = [*site.cookies, {"name": "preceptor_language", "value": language, "url": site.url}]
        with site.tab(cookies=cookies) as page:
            page.goto(f"{site.url}/templates")
            built_in = page.locator("[data-item]").filter(has=page.locator(".chip"))
            expect(built_in.first.locator(".title")).to_contain_text(first)
