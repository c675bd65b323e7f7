"""Cleaning up intermediate steps: what is removed, what it frees, and that nothing is lost."""

import re

from playwright.sync_api import Page, expect

from tests.requirements import covers
from tests.web.browsing import Site
from tests.web.provider import STEPS


def opened(site: Site, page: Page, *questions: str) -> str:
    conversation = site.talk(*(questions or ("¿Where is my order 4711?",)))
    page.goto(f"{site.url}/conversations/{conversation}")
    return conversation


def tokens(site: Site, conversation: str) -> int:
    return site.api("GET", f"/api/conversations/{conversation}/views")["items"][0]["tokens"]


@covers("R34", "R39")
def test_what_is_selected_is_removed_and_nothing_else_and_undo_brings_it_back(site: Site, tab: Page):
    conversation = opened(site, tab)
    before = tokens(site, conversation)
    tab.get_by_role("button", name="Clean up intermediate").or_(
        tab.get_by_role("link", name="Clean up intermediate")
    ).click()
    expect(tab.get_by_text("2 steps selected")).to_be_visible()
    tab.get_by_role("checkbox", name="Select this step").first.uncheck()
    expect(tab.get_by_text("1 step selected")).to_be_visible()
    told = re.search(r"frees (\d+) tokens", tab.locator("#cleanup").inner_text())
    assert told
    tab.get_by_role("button", name="Remove from context").click()
    expect(tab.locator("#undo")).to_contain_text("The originals are kept.")
    assert tokens(site, conversation) == before - int(told[1])
    expect(tab.locator("#undo")).to_contain_text(f"Frees {told[1]} tokens.")
    tab.locator(".delegation > summary").click()
    expect(tab.get_by_text(STEPS[0])).to_be_visible()
    expect(tab.get_by_text(STEPS[1])).to_have_count(0)
    expect(tab.locator(".delegation > summary")).to_contain_text("1 removed")
    tab.get_by_role("link", name="Show everything that was said").click()
    expect(tab.get_by_text(STEPS[1])).to_have_count(1)
    tab.get_by_role("link", name="Show what is shown now").click()
    tab.get_by_role("button", name="Undo").click()
    expect(tab.get_by_text(STEPS[1])).to_have_count(1)
    assert tokens(site, conversation) == before


@covers("R34", "R39")
def test_a_whole_group_goes_with_the_call_that_opened_it(site: Site, tab: Page):
    conversation = opened(site, tab, "¿Where is my order 4711, twice?")
    before = tokens(site, conversation)
    tab.get_by_role("link", name="Clean up intermediate").click()
    told = re.search(r"frees ([\d,]+) tokens", tab.locator("#cleanup").inner_text())
    assert told
    tab.get_by_role("button", name="Remove from context").click()
    expect(tab.locator("#undo")).to_be_visible()
    expect(tab.locator(".delegation")).to_have_count(0)
    assert tokens(site, conversation) == before - int(told[1].replace(",", ""))
    left = site.api("GET", f"/api/conversations/{conversation}/messages?limit=100")["items"]
    assert [message["role"] for message in left if message["instructions"]] == []


@covers("R34")
def test_steps_are_squashed_into_what_a_person_writes(site: Site, tab: Page):
    conversation = opened(site, tab)
    tab.get_by_role("link", name="Clean up intermediate").click()
    tab.get_by_text("Squash into one").click()
    tab.get_by_label("Summary").fill("The parcel is late and shipping is refunded.")
    tab.get_by_role("button", name="Squash", exact=True).click()
    summary = tab.locator(".msg.summary")
    expect(summary).to_contain_text("The parcel is late and shipping is refunded.")
    expect(summary).to_contain_text("in place of")
    expect(tab.locator(".said > *").last).to_have_class(re.compile("final"))
    view = site.api("GET", f"/api/conversations/{conversation}/views")["items"][0]
    assert view["compaction"]["edited"] is True
    result = view["compaction"]["result"]
    kept = site.api("GET", f"/api/conversations/{conversation}/messages?limit=100&view=all")["items"]
    sources = next(message["sources"] for message in kept if message["id"] == result)
    assert set(sources) <= {message["id"] for message in kept}


def test_steps_are_cleaned_up_without_javascript(site: Site):
    conversation = site.talk("¿Where is my order 4711?")
    with site.tab(java_script_enabled=False) as page:
        page.goto(f"{site.url}/conversations/{conversation}")
        page.get_by_role("link", name="Clean up intermediate").click()
        page.get_by_role("checkbox", name="The whole group").check()
        page.get_by_role("button", name="Remove from context").click()
        expect(page.locator("#undo")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".delegation")).to_have_count(1)


def test_steps_are_cleaned_up_with_the_keyboard_alone(site: Site, tab: Page):
    opened(site, tab)
    tab.get_by_role("link", name="Clean up intermediate").focus()
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("button", name="Remove from context")).to_be_focused()
    tab.keyboard.press("Escape")
    expect(tab.locator("#cleanup")).to_be_hidden()
    tab.keyboard.press("Enter")
    tab.keyboard.press("Enter")
    expect(tab.locator("#undo")).to_be_visible()
