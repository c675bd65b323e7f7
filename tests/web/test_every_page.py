"""What is true of every page: no accessibility finding, nothing too wide, one API call, and it needs its permission."""

import re
import shlex
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Page, ViewportSize, expect

from preceptor.surfaces.web.languages import SPEAKERS
from preceptor.surfaces.web.rendering import LANGUAGE
from tests.web.browsing import COLOURS, SHAPES, Site, findings, watched
from tests.web.places import places

LIGHT, DARK = "light", "dark"
WIDE: ViewportSize = {"width": 1280, "height": 800}
NARROW: ViewportSize = {"width": 390, "height": 844}
CUT = """all => all.filter(one => one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth + 1)
    .map(one => one.textContent)"""
"""The words of those that show only a part of them."""
CHAT, ANY = 60_000, 120_000
"""Bytes that a page may have: one with a conversation, and any other."""


@pytest.fixture(scope="module")
def found(site: Site) -> dict[str, str]:
    return places(site)


def faults(page: Page) -> list[Any]:
    """Of what is shown: all in light, its colours in dark, its shape when it is as narrow as a telephone."""
    bad: list[Any] = []
    for theme, size, asked in ((LIGHT, WIDE, None), (DARK, WIDE, COLOURS), (LIGHT, NARROW, SHAPES)):
        page.emulate_media(color_scheme="dark" if theme == DARK else "light")
        page.set_viewport_size(size)
        bad += [(theme, size["width"], one) for one in findings(page, asked)]
        if not page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            bad.append((theme, size["width"], "too wide"))
    return bad


def test_no_page_has_an_accessibility_finding_or_is_too_wide(site: Site, found: dict[str, str]):
    with site.tab() as page:
        for name, path in found.items():
            page.goto(site.url + path)
            assert faults(page) == [], name
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        assert faults(page) == [], "keys"


@pytest.mark.parametrize("language", SPEAKERS)
def test_a_telephone_cuts_off_nothing_of_what_a_list_says_of_its_entries(
    site: Site, found: dict[str, str], language: str
):
    chosen = {"name": LANGUAGE, "value": language, "url": site.url}
    with site.tab(cookies=[*site.cookies, chosen], viewport=NARROW) as page:
        for name in ("templates", "executions", "replays", "experiments"):
            page.goto(site.url + found[name])
            said = page.locator(".last")
            expect(said.first).to_be_visible()

            assert said.evaluate_all(CUT) == [], name


def test_the_way_in_has_no_accessibility_finding(site: Site):
    with site.context(cookies=[]) as context, watched(context.new_page(), site.url, ("401",)) as page:
        page.goto(site.url)
        expect(page.get_by_text("preceptor link")).to_be_visible()
        assert faults(page) == []


def test_every_page_names_the_one_call_that_has_its_data(site: Site, found: dict[str, str]):
    cookie = f"{site.cookies[0]['name']}={site.cookies[0]['value']}"
    with httpx2.Client(base_url=site.url, headers={"cookie": cookie}, trust_env=False, timeout=30) as client:
        for name, path in found.items():
            answer = client.get(path)
            assert answer.status_code == 200, name
            assert len(answer.content) < (CHAT if name.startswith("conversation") else ANY), name
            told = re.search(r'<code id="curl" tabindex="0">(.*?)</code>', answer.text, re.DOTALL)
            assert told, name
            words = shlex.split(told[1].replace("&#34;", '"').replace("&#39;", "'").replace("&amp;", "&"))
            if "-X" not in words:
                site.api("GET", words[-1].removeprefix(site.url))


def test_no_page_has_two_things_with_one_id(site: Site, found: dict[str, str]):
    cookie = f"{site.cookies[0]['name']}={site.cookies[0]['value']}"
    with httpx2.Client(base_url=site.url, headers={"cookie": cookie}, trust_env=False, timeout=30) as client:
        for name, path in found.items():
            ids = re.findall(r' id="([^"]+)"', client.get(path).text)
            assert sorted(one for one in set(ids) if ids.count(one) > 1) == [], name


def test_whoever_may_not_see_a_page_is_told_so_and_without_a_session_asked_to_sign_in(
    site: Site, found: dict[str, str]
):
    site.api("POST", "/api/users", json={"userId": "vol", "name": "Vol", "role": "viewer"})
    [viewer] = site.cookies_of("vol")
    with httpx2.Client(base_url=site.url, trust_env=False, timeout=30) as client:
        for name, path in found.items():
            assert client.get(path).status_code == 401, name
            if name.startswith(("experiment", "execution", "replay")):
                seen = client.get(path, headers={"cookie": f"{viewer['name']}={viewer['value']}"})
                assert seen.status_code == 403, name


def test_another_organisations_work_is_not_there(site: Site, found: dict[str, str]):
    site.api("POST", "/api/orgs", json={"orgId": "others", "name": "Others"})
    [other] = site.cookies_of("admin", "others")
    headers = {"cookie": f"{other['name']}={other['value']}"}
    with httpx2.Client(base_url=site.url, headers=headers, trust_env=False, timeout=30) as client:
        for name in ("experiment", "experiment-conversations", "execution", "replay", "replay-item"):
            assert client.get(found[name]).status_code == 404, name
        for name, verb in (
            ("experiment", "stop"),
            ("experiment", "promote"),
            ("execution", "cancel"),
            ("execution", "retry"),
            ("replay", "cancel"),
            ("conversation", "edit"),
            ("conversation", "regenerate"),
        ):
            answer = client.post(f"{found[name]}/{verb}", data={"arm": "variant", "text": "x", "message": "y"})
            assert answer.status_code in {404, 409}, (name, verb)
            assert "Friendlier" not in answer.text


def test_the_keys_are_shown_and_closed_by_key(site: Site, tab: Page):
    for path in ("/experiments", "/settings"):
        tab.goto(site.url + path)
        tab.keyboard.press("?")
        expect(tab.get_by_role("dialog")).to_be_visible()
        tab.keyboard.press("Escape")
        expect(tab.get_by_role("dialog")).not_to_be_visible()
