"""Saying something on a page: with files, otherwise than before, and having it answered again."""

import re
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Page, expect

from preceptor.domain.phrases import LANGUAGES
from preceptor.surfaces.web.rendering import LANGUAGE
from tests.web.browsing import AGENT, Site, before, findings, watched
from tests.web.library import make


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "note <b>.txt"
    made.write_text("The parcel is blue.", encoding="utf-8")
    return made


def asked(site: Site, conversation: str) -> list[str]:
    """What the model was shown of what users said, as the last call has it."""
    said = site.api("GET", f"/api/conversations/{conversation}/messages")["items"]
    told = site.api("GET", f"/api/messages/{said[-1]['id']}/context")
    return [one["text"] for one in told["segments"] if one["role"] == "user" and "¿" in one["text"]]


def answered(page: Page, turns: int) -> None:
    """Reload, as one does without a script, until so many turns are over."""
    for _ in range(200):
        if page.locator(".foot").count() >= turns:
            return
        page.reload()
    raise AssertionError("it was not answered")


@pytest.mark.parametrize("script", [True, False])
def test_a_file_is_sent_with_a_message_and_the_model_is_shown_what_it_says(site: Site, file: Path, *, script: bool):
    with site.tab(java_script_enabled=script) as page:
        page.goto(f"{site.url}/conversations/new?agent={AGENT}")
        page.locator("textarea").fill("¿What colour is it?")
        page.locator("input[type=file]").set_input_files(file)
        page.get_by_role("button", name="Send").click()
        expect(page.locator("h1")).to_have_text("¿What colour is it?")
        conversation = page.url.split("/")[-1].partition("#")[0]
        site.provider.gate.set()
        expect(page.locator(".user")).to_contain_text("Attached: note <b>.txt")
        expect(page.locator(".user .body")).to_have_text("¿What colour is it?")
        answered(page, 1)
        assert "The parcel is blue." in asked(site, conversation)[0]
        page.locator("#say input[type=file]").set_input_files(file)
        page.get_by_role("button", name="Send").click()
        expect(page.locator(".user")).to_have_count(2)  # who leaves before it was taken has not said it
        answered(page, 2)
        expect(page.locator(".user").last).to_contain_text("Attached: note <b>.txt")


def test_a_file_that_is_chosen_before_the_scripts_of_a_page_are_there_is_named(site: Site, tab: Page, file: Path):
    with before("chat.js", tab):
        tab.goto(f"{site.url}/conversations/{site.talk('¿Hello')}", wait_until="commit")
        tab.locator("#say input[type=file]").set_input_files(file)
    expect(tab.locator(".names")).to_have_text("note <b>.txt")


def test_a_file_that_cannot_be_read_is_refused_and_what_was_written_stays(site: Site, tmp_path: Path):
    broken = tmp_path / "broken.bin"
    broken.write_bytes(b"\x00\xff\xfe\x00" * 10)
    conversation = site.talk("¿Hello")
    with site.context() as context, watched(context.new_page(), site.url, ("400", "415", "422")) as page:
        page.goto(f"{site.url}/conversations/{conversation}")
        page.locator("#text").fill("¿Can you read this?")
        page.locator("#say input[type=file]").set_input_files(broken)
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#trouble")).to_be_visible()
        expect(page.locator("#text")).to_have_value("¿Can you read this?")
        expect(page.locator(".turn")).to_have_count(1)


@pytest.mark.parametrize("script", [True, False])
def test_a_message_is_said_otherwise_and_what_was_said_before_comes_back(site: Site, *, script: bool):
    conversation = site.talk("¿First", "¿Second")
    with site.tab(java_script_enabled=script) as page:
        page.goto(f"{site.url}/conversations/{conversation}")
        page.locator(".user").first.get_by_role("link", name="Edit").click()
        expect(page.locator("#text")).to_have_value("¿First")
        if script:
            assert findings(page) == []
        page.locator("#text").fill("¿Instead")
        page.get_by_role("button", name="Send instead").click()
        expect(page.locator(".user .body")).to_have_text(["¿Instead"])
        answered(page, 1)
        assert asked(site, conversation) == ["¿Instead"]
        page.goto(f"{site.url}/conversations/{conversation}")
        page.get_by_role("button", name="Show that again").click()
        expect(page.locator(".user .body")).to_have_text(["¿First", "¿Second"])


@pytest.mark.parametrize("script", [True, False])
def test_the_last_question_is_answered_again(site: Site, *, script: bool):
    conversation = site.talk("¿First", "¿Second")
    before = site.api("GET", f"/api/conversations/{conversation}/messages")["items"][-1]["id"]
    with site.tab(java_script_enabled=script) as page:
        page.goto(f"{site.url}/conversations/{conversation}")
        expect(page.get_by_role("button", name="Answer again")).to_have_count(1)
        page.get_by_role("button", name="Answer again").click()
        expect(page.locator(f"#m-{before}")).to_have_count(0)
        answered(page, 2)
        expect(page.locator(".user .body")).to_have_text(["¿First", "¿Second"])
        expect(page.locator(".final")).to_have_count(2)


def test_files_stay_with_a_message_that_is_said_otherwise_unless_they_are_taken_away(site: Site, tab: Page, file: Path):
    conversation = site.talk("¿Hello")
    tab.goto(f"{site.url}/conversations/{conversation}")
    tab.locator("#text").fill("¿What colour?")
    tab.locator("#say input[type=file]").set_input_files(file)
    tab.get_by_role("button", name="Send").click()
    expect(tab.locator(".foot")).to_have_count(2)
    for kept in (True, False):
        tab.goto(f"{site.url}/conversations/{conversation}")
        tab.locator(".user").last.get_by_role("link", name="Edit").click()
        tab.get_by_label("note <b>.txt").set_checked(kept)
        said = f"¿Which colour, kept: {kept}?"
        tab.locator("#text").fill(said)
        tab.get_by_role("button", name="Send instead").click()
        expect(tab.locator(".user .body").last).to_have_text(said)
        expect(tab.locator("body[data-turn=done]")).to_be_attached()
        expect(tab.locator(".foot")).to_have_count(2)
        assert ("The parcel is blue." in asked(site, conversation)[-1]) is kept


def test_an_upload_needs_a_session_and_has_a_limit(site: Site):
    files = {"file": ("big.txt", b"x" * 30_000_000, "text/plain")}
    answer = httpx2.post(f"{site.url}/conversations", files=files, trust_env=False)
    assert answer.status_code == 401
    cookie = f"{site.cookies[0]['name']}={site.cookies[0]['value']}"
    answer = httpx2.post(f"{site.url}/conversations", files=files, headers={"cookie": cookie}, trust_env=False)
    assert answer.status_code == 413


def test_a_turn_that_says_nothing_for_long_is_told_and_the_page_stays_as_it_is(site: Site, tab: Page):
    conversation = site.talk("¿Hello")
    with site.provider.holding() as gate:
        tab.clock.install()
        tab.goto(f"{site.url}/conversations/{conversation}")
        tab.locator("#text").fill("¿Tell me, wait")
        tab.get_by_role("button", name="Send").click()
        expect(tab.locator(".final .raw")).to_have_text("Understood,")  # all that comes for now
        tab.clock.fast_forward(45_000)
        expect(tab.locator("#trouble")).to_contain_text(re.compile(r"Nothing was heard for [4-6]\d seconds"))
        expect(tab.locator(".turn")).to_have_count(2)
        gate.set()
        expect(tab.locator("body[data-turn=done]")).to_be_attached()
        expect(tab.locator("#trouble")).to_be_hidden()


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_is_room_to_write_on_a_narrow_screen(site: Site, language: str):
    chosen = {"name": LANGUAGE, "value": language, "url": site.url}
    with site.tab(viewport={"width": 390, "height": 844}, cookies=[*site.cookies, chosen]) as page:
        page.goto(f"{site.url}/conversations/{site.talk('¿Hello')}")
        box = page.locator("#text").bounding_box()
        assert box
        assert box["width"] > 300


def test_a_server_that_is_gone_is_told_in_a_sentence_whatever_was_asked_of_it(site: Site):
    made = make(site)
    with site.context() as context, site.provider.holding() as gate:
        page = context.new_page()  # not watched: the browser tells each request that fails as an error
        uncaught: list[str] = []
        page.on("pageerror", lambda error: uncaught.append(str(error)))
        page.goto(f"{site.url}/instructions/{made.family_id}/test")
        page.get_by_label("What a user would say").fill("¿Hello")
        context.set_offline(True)
        page.get_by_role("button", name="Run with the model").click()
        expect(page.locator("#trial-problem")).to_have_text("The connection is lost. Reload the page.")
        context.set_offline(False)
        page.goto(f"{site.url}/conversations/{site.talk('¿Hello')}")
        page.locator("#text").fill("¿Tell me, wait")
        page.get_by_role("button", name="Send").click()
        expect(page.locator(".final .raw")).to_contain_text("Understood")
        saw, stop = page.get_by_role("link", name="What the model saw").first, page.get_by_role("button", name="Stop")
        for asked in (saw, stop):
            context.set_offline(True)
            asked.click()
            expect(page.locator("#trouble")).to_have_text("The connection is lost. Reload the page.")
            context.set_offline(False)
        gate.set()
        expect(page.locator("body[data-turn=done]")).to_be_attached()
        expect(page.locator("#trouble")).to_have_text("The connection is lost. Reload the page.")
        assert uncaught == []


def test_whoever_was_signed_out_meanwhile_is_told_so_and_keeps_what_was_written(site: Site):
    with site.context() as context, watched(context.new_page(), site.url, ("401",)) as page:
        page.goto(f"{site.url}/conversations/{site.talk('¿Hello')}")
        page.locator("#text").fill("¿Still there")
        context.clear_cookies()
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#trouble")).to_contain_text("You are not signed in any more.")
        expect(page.locator("#text")).to_have_value("¿Still there")
