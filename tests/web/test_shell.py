"""What every page has: sign-in, security headers, languages, themes, accessibility."""

import json
import re
from uuid import uuid4

import httpx2
from playwright.sync_api import Page, expect

from preceptor.surfaces.web import assets
from preceptor.surfaces.web.rendering import LANGUAGE
from tests.requirements import covers
from tests.web.browsing import AGENT, Site, findings, watched
from tests.web.places import ALONE


def test_the_printed_link_signs_in_once_and_leads_to_the_conversations(site: Site):
    link = site.link()
    with site.tab(cookies=[]) as page:
        page.goto(link)
        expect(page).to_have_url(f"{site.url}/conversations")
        assert [(one.get("name"), one.get("httpOnly")) for one in page.context.cookies()] == [
            ("preceptor_session", True)
        ]
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_text("You are signed out.")).to_be_visible()
        assert page.context.cookies() == []
    with site.context(cookies=[]) as context, watched(context.new_page(), site.url, ("401",)) as page:
        page.goto(link)
        expect(page.get_by_role("alert")).to_contain_text("This link was used already")
        expect(page.get_by_text("preceptor link")).to_be_visible()
    with site.context() as context, watched(context.new_page(), site.url, ("401",)) as page:
        page.goto(link)
        expect(page.get_by_role("alert")).to_contain_text("This link was used already")
        page.get_by_role("link", name="Go on to your conversations").click()
        expect(page).to_have_url(f"{site.url}/conversations")


def test_a_page_is_whole_for_whoever_asks_for_a_part_it_does_not_have(site: Site):
    cookie = f"{site.cookies[0]['name']}={site.cookies[0]['value']}"
    pages = [*ALONE, "/agents/assistant", "/agents/assistant/effective"]
    for path in pages:
        for part in ("context", "effect", "told", "trial", "turn", "group", "../base", "none", ""):
            answer = httpx2.get(site.url + path, headers={"cookie": cookie, "x-part": part}, trust_env=False)
            assert answer.status_code == 200, (path, part, answer.text[:300])


def test_a_form_from_another_site_does_nothing(site: Site):
    cookie = f"{site.cookies[0]['name']}={site.cookies[0]['value']}"
    foreign = (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://evil.example"},
        {"origin": "http://[evil"},
    )
    for headers in foreign:
        answer = httpx2.post(
            f"{site.url}/settings/keys",
            data={"name": "evil", "role": "admin"},
            headers={"cookie": cookie, **headers},
            trust_env=False,
        )
        assert answer.status_code == 403
    assert "evil" not in json.dumps(site.api("GET", "/api/keys"))


@covers("S26")
def test_every_page_has_a_strict_policy_and_says_it_is_not_to_be_kept(site: Site, tab: Page):
    for path in ALONE:
        answer = tab.goto(site.url + path)
        assert answer
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"


def test_assets_are_small_and_kept_for_ever(site: Site):
    sizes = dict.fromkeys((".js", ".css"), 0)
    for name, asset in assets.assets().items():
        answer = httpx2.get(site.url + assets.address(name), trust_env=False)
        assert answer.content == asset.plain
        assert "immutable" in answer.headers["cache-control"]
        for kind in sizes:
            sizes[kind] += len(asset.plain) if name.endswith(kind) else 0
    assert sizes[".js"] <= 40_000
    assert sizes[".css"] <= 30_000


def test_an_address_that_leads_nowhere_and_a_thing_that_is_not_there_are_told_as_pages(site: Site):
    with site.context() as context, watched(context.new_page(), site.url, ("404",)) as page:
        for path in ("/nowhere", "/conversations/no-such-thing"):
            answer = page.goto(site.url + path)
            assert answer
            assert answer.status == 404
            expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("There is nothing here"))
            assert findings(page) == []


def test_language_and_theme_are_chosen_and_kept(site: Site, tab: Page):
    tab.goto(f"{site.url}/settings")
    for language, title, permissions in (
        ("ru", "Настройки", "19 прав"),
        ("vi", "Cài đặt", "19 quyền"),
        ("en", "Settings", "19 permissions"),
    ):
        tab.locator("select[name=language]").select_option(language)
        tab.locator("select[name=theme]").select_option("dark")
        tab.locator("form[action='/settings/look'] button").click()
        expect(tab.get_by_role("heading", level=1)).to_have_text(title)
        expect(tab.locator("html")).to_have_attribute("lang", language)
        expect(tab.locator("html")).to_have_attribute("data-theme", "dark")
        expect(tab.get_by_text(permissions)).to_be_visible()


def test_a_key_is_shown_once_works_and_is_revoked(site: Site, tab: Page):
    tab.goto(f"{site.url}/settings")
    tab.get_by_label("Name", exact=True).fill("<b>for curl</b>")
    tab.locator("form[action^='/settings/keys'] select").select_option("viewer")
    tab.get_by_role("button", name="Make a key").click()
    expect(tab.get_by_role("button", name="Copy", exact=True)).to_be_visible()
    key = tab.locator("#minted").inner_text()
    with site.served.client(key) as client:
        assert client.get("/api/conversations").status_code == 200
        tab.goto(f"{site.url}/settings")
        expect(tab.locator("#minted")).to_have_count(0)
        tab.get_by_role("row", name="<b>for curl</b>").get_by_role("button").click()
        expect(tab.get_by_role("row", name="<b>for curl</b>")).to_contain_text("revoked")
        assert client.get("/api/conversations").status_code == 401


def test_a_long_name_and_its_marks_do_not_stand_in_each_others_way_on_a_narrow_screen(site: Site):
    chosen = {"name": LANGUAGE, "value": "ru", "url": site.url}
    name = "Support for customers of a shop with a long name"
    site.api("POST", "/api/agents", json={"agentId": "a-shop", "name": name, "permissions": ["delegate"]})
    with site.tab(viewport={"width": 390, "height": 844}, cookies=[*site.cookies, chosen]) as page:
        page.goto(f"{site.url}/agents")
        box = page.locator("a[href='/agents/a-shop'] .title").bounding_box()
        assert box
        assert box["width"] > 300


def test_marks_stand_apart_and_a_moment_stays_in_one_piece_on_a_narrow_screen(site: Site):
    title = f"Order {uuid4().hex[:8]}"
    told = {"agentId": AGENT, "title": title, "metadata": {"demo": True}}
    path = f"/api/conversations/{site.api('POST', '/api/conversations', json=told)['conversationId']}/messages"
    site.api("POST", path, json={"content": "¿Where is my order 4711, twice?"})
    with site.tab(viewport={"width": 390, "height": 844}) as page:
        page.goto(f"{site.url}/conversations?q={title}")
        expect(page.locator("[data-item] .chip")).to_have_text(["demo", "intermediate"])
        demo, intermediate = (page.locator("[data-item] .chip").nth(one).bounding_box() for one in (0, 1))
        assert demo
        assert intermediate
        assert demo["x"] + demo["width"] + 4 <= intermediate["x"]
        expect(page.locator("[data-item] time")).to_have_text(re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d UTC$"))
        assert page.locator("[data-item] time").evaluate("it => it.getClientRects().length") == 1


def test_a_list_shows_what_was_said_without_its_marks_and_what_says_nothing_yet_without_an_id(site: Site, tab: Page):
    title = f"Order {uuid4().hex[:8]}"
    said, silent = site.talk("¿Where is my order 4711?", title=title), site.talk()
    tab.goto(f"{site.url}/conversations")
    told = tab.locator(f"a[href='/conversations/{said}'] .last")
    expect(told).to_contain_text("I checked order 4711: it left our hub on 12 November. Expected delivery: tomorrow")
    tab.locator(f"a[href='/conversations/{silent}']", has_text="Nothing has been said yet").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Nothing has been said yet")


def test_a_conversation_leads_to_the_agent_that_answers_in_it(site: Site, tab: Page):
    tab.goto(f"{site.url}/conversations/{site.talk('¿Hello')}")
    tab.locator("#top").get_by_role("link", name=AGENT).click()
    expect(tab).to_have_url(f"{site.url}/agents/{AGENT}")
