"""Small windows, large letters, a keyboard: what a page is about stays in sight and within reach."""

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from preceptor.surfaces.web.rendering import LANGUAGE
from tests.web.browsing import Site
from tests.web.library import make

NARROW: ViewportSize = {"width": 390, "height": 844}
WIDE: ViewportSize = {"width": 1280, "height": 800}
ZOOMED: ViewportSize = {"width": 640, "height": 400}
"""A window of 1280 by 800 at 200 %."""
IN_SIGHT = """it => {
    const box = it.getBoundingClientRect(), middle = [box.left + box.width / 2, box.top + box.height / 2];
    const top = document.elementFromPoint(...middle);
    return Boolean(top) && (it.contains(top) || top.contains(it));
}"""
"""Whether nothing lies over the middle of it."""
BROKEN = """() => [...document.querySelectorAll("main :is(button, .button, label)")].flatMap(it => [...it.childNodes])
    .filter(it => it.nodeType === Node.TEXT_NODE && it.parentElement.checkVisibility())
    .flatMap(it => [...it.data.matchAll(/\\p{L}+/gu)].map(word => [it, word]))
    .filter(([it, word]) => {
        const range = document.createRange();
        range.setStart(it, word.index);
        range.setEnd(it, word.index + word[0].length);
        return new Set([...range.getClientRects()].map(box => box.top)).size > 1;
    })
    .map(([, word]) => word[0])"""
"""Words that begin on one line and end on another."""


def passed(page: Page, times: int, key: str = "Tab") -> list[str]:
    """What the key leads to and does not show."""
    hidden: list[str] = []
    for _ in range(times):
        page.keyboard.press(key)
        at = page.locator("main :focus, .rail :focus").locator("visible=true")
        if at.count() and not at.evaluate(IN_SIGHT):
            hidden.append(at.evaluate("it => `${it.name} ${it.innerText}`.trim()"))
    return hidden


@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, NARROW, ZOOMED])
def test_no_bar_lies_over_what_has_the_focus(site: Site, tab: Page, size: ViewportSize):
    tab.set_viewport_size(size)
    tab.goto(f"{site.url}/instructions/{make(site).family_id}/edit")
    assert passed(tab, 60) == []


@pytest.mark.parametrize("size", [NARROW, ZOOMED])
def test_the_keyboard_passes_by_what_a_panel_lies_over(site: Site, tab: Page, size: ViewportSize):
    conversation = site.talk("¿Hello")
    tab.set_viewport_size(size)
    tab.goto(f"{site.url}/conversations/{conversation}")
    opener = tab.locator(".final [data-inspect]")
    opener.click()
    expect(tab.locator("#inspector")).to_be_focused()
    assert passed(tab, 20, "Shift+Tab") == []
    tab.keyboard.press("Escape")
    expect(opener).to_be_focused()
    opener.click()
    tab.set_viewport_size({"width": 1280, "height": 800})
    tab.locator("#text").click()
    expect(tab.locator("#text")).to_be_focused()


@pytest.mark.parametrize("language", ["en", "ru", "vi"])
def test_a_long_title_leaves_room_for_the_conversation_when_letters_are_large(site: Site, language: str):
    conversation = site.talk("¿Hello", title="A title that goes on " * 14)
    chosen = {"name": LANGUAGE, "value": language, "url": site.url}
    with site.tab(cookies=[*site.cookies, chosen]) as page:
        for size in (ZOOMED, {"width": 320, "height": 256}, NARROW):
            page.set_viewport_size({"width": size["width"], "height": size["height"]})
            page.goto(f"{site.url}/conversations/{conversation}")
            thread, head = page.locator("#thread").bounding_box(), page.locator("h1").bounding_box()
            assert thread
            assert head
            assert thread["height"] >= 200
            assert head["height"] <= 48
            page.locator("#send").scroll_into_view_if_needed()
            expect(page.locator("#send")).to_be_in_viewport(ratio=0.9)


def test_what_is_written_instead_has_the_whole_width_of_a_narrow_screen(site: Site, tab: Page):
    tab.set_viewport_size(NARROW)
    tab.goto(f"{site.url}/conversations/{site.talk('¿Hello')}")
    tab.get_by_role("link", name="Edit").click()
    box = tab.locator("#text").bounding_box()
    assert box
    assert box["width"] > 300


def test_the_composer_ends_where_the_conversation_does(site: Site, tab: Page):
    tab.goto(f"{site.url}/conversations/{site.talk('¿Hello')}")
    sides = [tab.locator(one).bounding_box() for one in (".final", "#send")]
    ends = [side["x"] + side["width"] for side in sides if side]
    assert ends[0] == pytest.approx(ends[1], abs=1)


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_second_click_on_send_does_not_stop_what_the_first_one_sent(site: Site, tab: Page, size: ViewportSize):
    tab.set_viewport_size(size)
    tab.goto(f"{site.url}/conversations/{site.talk('¿Hello')}")
    with site.provider.holding() as gate:
        tab.locator("#text").fill("¿Tell me, wait")
        send = tab.locator("#send").bounding_box()
        assert send
        middle = send["x"] + send["width"] / 2, send["y"] + send["height"] / 2
        tab.mouse.click(*middle)
        expect(tab.get_by_role("button", name="Stop")).to_be_visible()
        tab.mouse.click(*middle)
        gate.set()
        expect(tab.locator("body[data-turn=done]")).to_be_attached()
    expect(tab.locator(".final").last).to_contain_text("Understood, and done.")
    expect(tab.get_by_text("Stopped.")).to_have_count(0)


def test_the_way_to_the_latest_lies_over_nothing_that_is_written(site: Site, tab: Page):
    tab.goto(f"{site.url}/conversations/{site.talk(*['¿Hello'] * 5)}")
    for size in (NARROW, ZOOMED):
        tab.set_viewport_size(size)
        tab.locator("#text").fill("A line\n" * 5)
        tab.locator("#thread").evaluate("it => { it.scrollTop = 0; }")
        expect(tab.get_by_role("button", name="Jump to latest")).to_be_visible()
        jump, composer = tab.locator("#jump").bounding_box(), tab.locator(".composer").bounding_box()
        assert jump
        assert composer
        assert jump["y"] + jump["height"] <= composer["y"]


@pytest.mark.parametrize("language", ["en", "ru", "vi"])
def test_no_word_on_a_button_or_a_label_is_broken_in_two(site: Site, language: str):
    chosen = {"name": LANGUAGE, "value": language, "url": site.url}
    with site.tab(viewport={"width": 320, "height": 844}, cookies=[*site.cookies, chosen]) as page:
        for path in ("/instructions/new", f"/instructions/{make(site).family_id}/edit"):
            page.goto(site.url + path)
            assert page.evaluate(BROKEN) == []


def test_what_was_said_last_stays_in_sight_while_a_long_message_is_written(site: Site, tab: Page):
    tab.goto(f"{site.url}/conversations/{site.talk(*['¿Hello'] * 5)}")
    expect(tab.locator(".foot").last).to_be_in_viewport()
    tab.locator("#text").fill("A line\n" * 12)
    expect(tab.locator(".foot").last).to_be_in_viewport()
    expect(tab.get_by_role("button", name="Jump to latest")).to_be_hidden()
