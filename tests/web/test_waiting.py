"""Writing on while an answer is written: the next message waits for its end, in sight, and can be taken back."""

import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, expect

from preceptor.engine.means.queues import MOST
from preceptor.surfaces.web.rendering import LANGUAGE
from tests.serving import serving
from tests.web.browsing import Site, findings, watched
from tests.web.conftest import PATIENCE, QUIET
from tests.web.test_conversation import said

WAITS = "Waits for the end of the answer:"


@contextmanager
def answering(site: Site, page: Page) -> Generator[threading.Event]:
    """In the middle of an answer, which goes on when the event is set."""
    conversation = site.talk("¿Hello")
    with site.provider.holding() as gate:
        page.goto(f"{site.url}/conversations/{conversation}")
        say(page, "¿Tell me something, wait")
        expect(page.locator(".final .raw")).to_contain_text("Understood")
        yield gate


def say(page: Page, text: str) -> None:
    page.locator("#text").fill(text)
    page.locator("#text").press("Enter")


def speak(site: Site, path: str, refused: threading.Event) -> None:
    with site.served.client() as client:
        if client.post(path, json={"content": "¿Me", "queue": True}, timeout=60).status_code == 409:
            refused.set()


def done(page: Page, turns: int) -> None:
    expect(page.locator(".foot")).to_have_count(turns)
    expect(page.locator("body[data-turn=done]")).to_be_attached()


def test_a_message_that_is_sent_meanwhile_waits_in_sight_and_is_answered_next(site: Site, tab: Page):
    with answering(site, tab) as gate:
        say(tab, "¿And then")
        expect(tab.locator("#waiting")).to_contain_text(f"{WAITS} ¿And then")
        expect(tab.locator("#text")).to_have_value("")
        expect(tab.locator(".user")).to_have_count(2)
        assert findings(tab) == []
        gate.set()
        done(tab, 3)
    expect(tab.locator("#waiting")).to_be_hidden()
    expect(tab.locator(".user .body")).to_have_text(["¿Hello", "¿Tell me something, wait", "¿And then"])
    expect(tab.locator(".final .body")).to_have_count(3)
    live = said(tab)
    tab.reload()
    expect(tab.locator(".foot")).to_have_count(3)
    assert said(tab) == live


def test_a_message_that_waits_is_taken_back_with_its_file_and_was_never_said(site: Site, tab: Page, tmp_path: Path):
    file = tmp_path / "note.txt"
    file.write_text("The parcel is blue.", encoding="utf-8")
    with answering(site, tab) as gate:
        tab.locator("#say input[type=file]").set_input_files(file)
        say(tab, "¿What colour is it")
        expect(tab.locator("#waiting")).to_contain_text("¿What colour is it")
        expect(tab.locator(".names")).to_have_text("")
        tab.locator("#text").fill("¿More")
        tab.get_by_role("button", name="Take it back").click()
        expect(tab.locator("#waiting")).to_be_hidden()
        expect(tab.locator("#text")).to_have_value("¿What colour is it\n\n¿More")
        expect(tab.locator("#text")).to_be_focused()
        expect(tab.locator(".names")).to_have_text("note.txt")
        expect(tab.locator("#trouble")).to_be_hidden()
        gate.set()
        done(tab, 2)
    tab.reload()
    expect(tab.locator(".user .body")).to_have_text(["¿Hello", "¿Tell me something, wait"])


def test_a_second_message_does_not_wait_behind_the_first_and_nothing_of_it_is_lost(site: Site, tab: Page):
    with answering(site, tab) as gate:
        say(tab, "¿And then")
        say(tab, "¿And after that")
        expect(tab.locator("#trouble")).to_contain_text("A message waits already.")
        expect(tab.locator("#text")).to_have_value("¿And after that")
        expect(tab.locator("#waiting")).to_contain_text("¿And then")
        gate.set()
        done(tab, 3)
    expect(tab.locator("#trouble")).to_be_hidden()
    tab.locator("#text").press("Enter")
    done(tab, 4)


def test_what_is_sent_before_the_message_before_it_was_taken_stays_where_it_was_written(site: Site, tab: Page):
    tab.goto(f"{site.url}/conversations/{site.talk('¿Hello')}")
    tab.evaluate(
        """() => {
            const form = document.querySelector("#say");
            for (const text of ["¿One", "¿Two"]) { form.elements.text.value = text; form.requestSubmit(); }
        }"""
    )
    done(tab, 2)
    expect(tab.locator("#text")).to_have_value("¿Two")
    tab.locator("#text").press("Enter")
    done(tab, 3)
    expect(tab.locator(".user .body")).to_have_text(["¿Hello", "¿One", "¿Two"])


def test_where_too_many_wait_a_message_is_refused_and_stays(site: Site):
    with (
        site.context() as context,
        watched(context.new_page(), site.url, ("409",)) as page,
        answering(site, page) as gate,
    ):
        path = f"/api{page.url.removeprefix(site.url)}/messages"
        refused = threading.Event()
        others = [threading.Thread(target=speak, args=(site, path, refused)) for _ in range(MOST + 1)]
        for one in others:
            one.start()
        assert refused.wait(PATIENCE / 1000)  # one of them: there is no place left
        say(page, "¿And then")
        expect(page.locator("#trouble")).to_contain_text("Too many messages wait here already.")
        expect(page.locator("#text")).to_have_value("¿And then")
        gate.set()
        for one in others:
            one.join()


def test_a_message_that_waits_for_a_server_that_goes_away_comes_back(site: Site, tmp_path: Path):
    with serving(tmp_path, PRECEPTOR_MODEL_URL=site.provider.url, **QUIET) as served:
        own = Site(served, site.provider, site.browser)
        own.sign_in()
        with own.context() as context:
            page = context.new_page()  # not watched: the browser tells each request that fails as an error
            with answering(own, page):
                say(page, "¿And then")
                expect(page.locator("#waiting")).to_be_visible()
                served.process.kill()
                expect(page.locator("#trouble")).to_contain_text("The server was not reached.")
                expect(page.locator("#text")).to_have_value("¿And then")
                expect(page.locator("#waiting")).to_be_hidden()


def test_whoever_leaves_while_a_message_waits_is_asked_first(site: Site, tab: Page):
    asked: list[str] = []

    def leave(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    tab.on("dialog", leave)
    with answering(site, tab):
        say(tab, "¿And then")
        expect(tab.locator("#waiting")).to_be_visible()
        tab.goto(f"{site.url}/settings")
    assert asked == ["beforeunload"]


@pytest.mark.parametrize("language", ["en", "ru", "vi"])
def test_there_is_room_for_all_of_it_on_a_narrow_screen(site: Site, language: str):
    chosen = {"name": LANGUAGE, "value": language, "url": site.url}
    with (
        site.tab(viewport={"width": 390, "height": 844}, cookies=[*site.cookies, chosen]) as page,
        answering(site, page),
    ):
        say(page, "¿And then " + "what happens " * 60)
        expect(page.locator("#waiting")).to_be_visible()
        box = page.locator("#waiting").bounding_box()
        assert box
        assert box["height"] < 120
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        room = page.locator("#text").bounding_box()
        assert room
        assert room["width"] > 300
        assert findings(page) == []
        page.locator("#waiting button").click()
        expect(page.locator("#text")).to_have_value(re.compile("¿And then"))
