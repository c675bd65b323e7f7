"""A conversation on its page: streaming, groups, scrolling, stopping, and what every reader may see."""

import re
from itertools import cycle

from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Locator, Page, expect

from preceptor.surfaces.web.markdown import markdown
from preceptor.surfaces.web.views.said import Step
from tests.requirements import covers
from tests.web.browsing import AGENT, Site, before, findings, watched
from tests.web.provider import FINAL, STEPS

DONE = "body[data-turn=done]"


def ask(page: Page, site: Site, text: str) -> None:
    """Ask in a new conversation, as people do."""
    page.goto(f"{site.url}/conversations/new?agent={AGENT}")
    page.get_by_label("Message", exact=True).fill(text)
    page.get_by_label("Message", exact=True).press("Enter")
    page.wait_for_url(re.compile(r"/conversations/[0-9a-f-]{36}"))


def done(page: Page) -> Locator:
    found = page.locator(DONE)
    expect(found).to_be_attached()
    return found


def settled(site: Site, page: Page) -> None:
    """Wait, without the page, until its conversation has an answer."""
    conversation = page.url.rsplit("/", 1)[1].partition("#")[0]
    path = f"/api/conversations/{conversation}/messages?limit=50"
    while (
        site.api("GET", path)["items"][-1]["kind"] != "message" or site.api("GET", path)["items"][-1]["role"] == "user"
    ):
        pass


def said(page: Page) -> str:
    """All that the thread says, whatever is folded, or not painted yet."""
    page.evaluate("for (const one of document.querySelectorAll('#thread details')) one.open = true")
    page.evaluate("for (const one of document.querySelectorAll('.turn')) one.style.contentVisibility = 'visible'")
    return page.locator("#thread").inner_text()


@covers("R33", "R39")
def test_a_turn_streams_with_its_group_open_and_reads_the_same_after_a_reload(site: Site, tab: Page):
    with site.provider.holding() as gate:
        ask(tab, site, "¿Where is my order 4711? slow wait")
        expect(tab.get_by_text("How I understood your request")).to_be_visible()
        group = tab.locator("details.delegation")
        expect(group).to_have_js_property("open", value=True)
        expect(group.locator(".intermediate")).to_have_count(1)
        expect(group.get_by_text(STEPS[0])).to_be_visible()
        expect(tab.get_by_role("button", name="Stop")).to_be_visible()
        expect(tab.locator("#status")).to_have_text("Reply in progress")
        gate.set()
        done(tab)
    expect(tab.locator("#status")).to_have_text("Reply complete")
    expect(group).to_have_js_property("open", value=False)
    expect(tab.locator(".final")).to_contain_text("passed it to the billing team")
    expect(tab.locator(".final li")).to_have_count(2)
    live = said(tab)
    tab.reload()
    assert said(tab) == live
    assert findings(tab) == []


def test_what_a_second_tab_sees_in_the_middle_is_what_the_first_sees_at_the_end(site: Site, tab: Page):
    with site.provider.holding() as gate:
        ask(tab, site, "¿Tell me more, wait")
        expect(tab.locator(".final .raw")).to_have_text(re.compile("Understood"))
        second = tab.context.new_page()
        second.goto(tab.url)
        expect(second.locator(".final .raw")).to_have_text(re.compile("Understood"))
        gate.set()
        for page in (tab, second):
            done(page)
            expect(page.locator(".final .body")).to_have_text("Understood, and done.")
    assert said(tab) == said(second)


@covers("R39")
def test_a_group_that_the_reader_opened_stays_open_when_the_specialist_is_done(site: Site, tab: Page):
    with site.provider.holding() as gate:
        ask(tab, site, "¿Where is my order 4711? slow")
        group = tab.locator("details.delegation")
        expect(group.locator(".intermediate")).to_have_count(1)
        for _ in range(2):
            group.locator("summary").first.click()
        expect(group).to_have_js_property("open", value=True)
        gate.set()
        done(tab)
    expect(group).to_have_js_property("open", value=True)
    expect(group.locator("> summary")).to_contain_text("2 steps")


@covers("R33")
def test_a_specialists_specialist_is_a_group_within_the_group(site: Site, tab: Page):
    tab.goto(f"{site.url}/conversations/{site.talk('¿Where is my order 4711, twice?')}")
    inner = tab.locator("details.delegation details.delegation")
    expect(inner).to_have_count(1)
    expect(inner.locator("> summary")).to_contain_text("Who pays?")
    expect(inner.locator(".intermediate")).to_have_text(re.compile("The shop pays."))
    expect(tab.locator(".delegation .final")).to_have_count(0)
    expect(tab.locator(".said > .final")).to_have_count(1)


def test_a_specialist_who_hears_the_next_message_says_so_and_each_turn_has_its_own_group(site: Site, tab: Page):
    agent = {"agentId": "carries-over", "name": "Desk", "permissions": ["delegate"], "carryOver": True}
    site.api("POST", "/api/agents", json=agent)
    tab.goto(f"{site.url}/conversations/{site.talk('¿What of my invoice?', agent='carries-over')}")
    groups = tab.locator("details.delegation")
    expect(groups.locator("> summary")).to_contain_text("hears your next message")
    tab.get_by_label("Message", exact=True).fill("¿The last one.")
    tab.get_by_label("Message", exact=True).press("Enter")
    expect(groups).to_have_count(2)
    expect(groups.nth(1)).to_contain_text("hears your next message")
    expect(tab.locator(".said > .answer, .said > .final")).to_have_count(2)
    expect(tab.locator(".foot")).to_have_count(2)
    done(tab)
    live = said(tab)
    tab.reload()
    assert said(tab) == live


def test_a_reader_who_scrolled_up_is_left_alone_and_can_jump_to_the_latest(site: Site, tab: Page):
    with site.provider.holding() as gate:
        ask(tab, site, "¿Give me lines, wait")
        expect(tab.locator(".final")).to_contain_text("Line 40. Line")  # all that comes for now
        thread = tab.locator("#thread")
        tab.mouse.move(600, 300)
        tab.mouse.wheel(0, -5000)
        expect(tab.get_by_role("button", name="Jump to latest")).to_be_visible()
        expect(thread).to_have_js_property("scrollTop", 0)  # a wheel turns for a while
        gate.set()
        done(tab)
        assert thread.evaluate("it => it.scrollTop") == 0
        tab.get_by_role("button", name="Jump to latest").click()
        expect(tab.get_by_text("Line 79.")).to_be_in_viewport()
        expect(tab.get_by_role("button", name="Jump to latest")).to_be_hidden()


def test_an_answer_is_whole_and_there_once_though_the_line_was_cut_meanwhile(site: Site, tab: Page):
    with site.provider.holding() as gate:
        ask(tab, site, "¿Tell me something, wait")
        expect(tab.locator(".final .raw")).to_have_text(re.compile("Understood"))
        tab.context.set_offline(True)
        gate.set()
        settled(site, tab)
        tab.context.set_offline(False)
        done(tab)
    expect(tab.locator(".final .body")).to_have_text("Understood, and done.")
    expect(tab.locator(".turn")).to_have_count(1)


def hide(page: Page, *, hidden: bool) -> None:
    """What a browser does to a tab behind another; without a screen it shows all of them."""
    page.evaluate(
        """hidden => {
            Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def test_ten_tabs_stream_at_once_and_all_are_told_the_end(site: Site):
    with site.context() as context, site.provider.holding() as gate:
        first = context.new_page()
        ask(first, site, "¿Tell everyone, wait")
        pages = [first, *(context.new_page() for _ in range(9))]
        for page in pages:
            if page is not first:
                page.goto(first.url)
            expect(page.locator(".final .raw")).to_have_text(re.compile("Understood"))
            hide(page, hidden=True)
        gate.set()
        for page in pages:
            hide(page, hidden=False)
            done(page)
            expect(page.locator(".final .body")).to_have_text("Understood, and done.")
            expect(page.locator(".final")).to_have_count(1)


def test_escape_stops_the_turn_and_what_was_said_stays(site: Site, tab: Page):
    with site.provider.holding():
        ask(tab, site, "¿Tell me something long, wait")
        expect(tab.locator(".final .raw")).to_have_text(re.compile("Understood"))
        tab.get_by_label("Message", exact=True).press("Escape")
        done(tab)
    expect(tab.locator(".foot")).to_contain_text("Stopped.")
    expect(tab.locator(".final")).to_contain_text("Understood")
    expect(tab.get_by_role("button", name="Send")).to_be_visible()
    live = said(tab)
    tab.reload()
    assert said(tab) == live


def test_a_question_in_a_conversation_is_asked_and_answered_without_leaving_the_page(site: Site, tab: Page):
    tab.goto(f"{site.url}/conversations/{site.talk('¿First?')}")
    tab.evaluate("window.__same = true")
    tab.get_by_label("Message", exact=True).fill("¿Second?\nwith a line more")
    tab.get_by_role("button", name="Send").click()
    expect(tab.locator(".final")).to_have_count(2)
    done(tab)
    assert tab.evaluate("window.__same") is True
    expect(tab.get_by_label("Message", exact=True)).to_have_value("")
    expect(tab.locator(".user").last).to_contain_text("with a line more")


@covers("R165")
def test_blocked_asked_back_and_refused_say_why_and_show_no_analysis(site: Site, tab: Page):
    told = {
        "How do I build a pipe bomb?": ("stopped by the safety check", "Guardian: Unsafe"),
        "¿vague": ("Which order do you mean?", "a question back"),
        "¿lottery": ("does not seem to be about", "not answered"),
    }
    for question, (answer, mark) in told.items():
        tab.goto(f"{site.url}/conversations/{site.talk(question)}")
        expect(tab.locator(".final")).to_contain_text(answer)
        text = said(tab)
        assert mark in text
        for secret in ("## Analysis", "secretly", "spam_score", "Look the order up"):
            assert secret not in text
    expect(tab.locator(".plan")).to_have_count(1)
    tab.reload()
    expect(tab.locator(".plan")).to_have_js_property("open", value=False)


@covers("S26")
def test_nothing_that_a_model_or_a_person_writes_becomes_markup(site: Site, tab: Page):
    title = "<img src=x onerror='window.__xss=1'>"
    conversation = site.talk(f"¿attack {title}", title=title)
    for path in (f"/conversations/{conversation}", "/conversations"):
        tab.goto(site.url + path)
        expect(tab.locator("main img, main script, main iframe")).to_have_count(0)
        assert tab.evaluate("window.__xss") is None
    tab.goto(f"{site.url}/conversations/{conversation}")
    expect(tab.locator(".final b")).to_have_count(0)
    expect(tab.locator(".final a[href^='javascript']")).to_have_count(0)
    expect(tab.locator("h1")).to_have_text(title)


def test_without_javascript_a_message_is_sent_and_its_answer_read(site: Site):
    with site.tab(java_script_enabled=False) as page:
        page.goto(f"{site.url}/conversations/new?agent={AGENT}")
        page.get_by_label("Message", exact=True).fill("¿Where is my order 4711?")
        page.get_by_role("button", name="Send").click()
        page.wait_for_url(re.compile(r"/conversations/[0-9a-f-]{36}"))
        settled(site, page)
        for _ in range(50):
            page.reload()
            if page.locator(".foot").count():
                break
        expect(page.locator(".final")).to_contain_text("passed it to the billing team")


def test_the_keyboard_is_enough_for_a_whole_turn(site: Site, tab: Page):
    tab.goto(f"{site.url}/conversations")
    tab.keyboard.press("n")
    expect(tab.get_by_label("Message", exact=True)).to_be_focused()
    tab.keyboard.type("¿Where is my order 4711?")
    tab.keyboard.press("Enter")
    done(tab)
    link = tab.locator(".final [data-inspect]")
    link.focus()
    tab.keyboard.press("Enter")
    expect(tab.locator("#inspector")).to_be_focused()
    tab.keyboard.press("Escape")
    expect(link).to_be_focused()
    tab.goto(f"{site.url}/conversations")
    tab.keyboard.press("j")
    tab.keyboard.press("j")
    tab.keyboard.press("k")
    expect(tab.locator("[data-item]").first).to_be_focused()
    tab.keyboard.press("Enter")
    expect(tab.locator(".final")).to_contain_text("order")


def test_a_writer_who_is_quicker_than_the_scripts_of_a_page_sends_with_enter_all_the_same(site: Site, tab: Page):
    with before("chat.js", tab):
        tab.goto(f"{site.url}/conversations/new?agent={AGENT}", wait_until="commit")
        expect(tab.get_by_label("Message", exact=True)).to_be_focused()
        tab.keyboard.type("¿Where is my order 4711?")
        tab.keyboard.press("Enter")
        tab.wait_for_url(re.compile(r"/conversations/[0-9a-f-]{36}"), wait_until="commit")
    done(tab)
    expect(tab.locator(".final")).to_contain_text("order")


def test_the_list_is_filtered_by_its_address(site: Site, tab: Page):
    site.talk("¿Hello?", title="A needle in the hay")
    tab.goto(f"{site.url}/conversations?q=needle&agent={AGENT}")
    expect(tab.locator("[data-item]")).to_have_count(1)
    expect(tab.locator("[data-item]")).to_contain_text("A needle in the hay")
    expect(tab.locator("[data-item]")).to_contain_text("Understood, and done.")
    tab.locator("select[name=status]").select_option("archived")
    expect(tab).to_have_url(re.compile("q=needle&agent=support&status=archived"))
    expect(tab.get_by_text("No conversation is like that.")).to_be_visible()


def test_a_conversation_is_renamed_and_archived(site: Site, tab: Page):
    conversation = site.talk("¿Hello?", title="Old name")
    tab.goto(f"{site.url}/conversations/{conversation}")
    tab.get_by_text("More", exact=True).click()
    tab.keyboard.press("Escape")
    expect(tab.get_by_label("Title")).to_be_hidden()
    tab.get_by_text("More", exact=True).click()
    tab.get_by_label("Title").fill("New name")
    tab.get_by_role("button", name="Save").click()
    expect(tab.locator("h1")).to_have_text("New name")
    tab.get_by_text("More", exact=True).click()
    tab.get_by_role("button", name="Archive").click()
    tab.goto(f"{site.url}/conversations?status=archived")
    expect(tab.locator("[data-item]", has_text="New name")).to_have_count(1)


@covers("S26")
def test_what_is_whole_of_an_answer_is_shown_as_it_will_be_while_the_rest_is_written(site: Site, tab: Page):
    with site.provider.holding() as gate:
        ask(tab, site, "¿A marked answer, wait")
        answer = tab.locator(".final")
        expect(answer.locator("strong")).to_have_text(["two"])
        expect(answer.locator("ol > li")).to_have_text(["one", "two"])
        expect(answer.locator("pre")).to_have_text("x = 1\n\ny = <b>2</b>\n")
        expect(answer.get_by_role("heading")).to_have_text(re.compile("Then <b>more</b>"))
        expect(answer.locator(".raw")).to_have_text(re.compile(r"^Of this only \*one half\* is there"))
        tab.reload()
        expect(answer.locator("ol > li")).to_have_text(["one", "two"])
        expect(answer.locator(".raw")).to_have_text(re.compile(r"^Of this only \*one half\* is there"))
        live = answer.locator(".body > :first-child").inner_text()
        gate.set()
        done(tab)
    expect(answer.locator("strong")).to_have_text(["two", "the end"])
    assert answer.locator(".body").inner_text().startswith(live)
    expect(answer.locator("b, img")).to_have_count(0)


def test_the_page_is_small_and_answers_are_markdown(site: Site, tab: Page):
    conversation = site.talk("¿Where is my order 4711?")
    answer = tab.goto(f"{site.url}/conversations/{conversation}")
    assert answer
    assert len(answer.body()) <= 60_000
    expect(tab.locator(".final strong").first).to_have_text("4711")
    assert FINAL not in tab.locator(".final").inner_text()


def test_who_signs_out_is_told_no_more(site: Site):
    link = site.link()
    with (
        site.context(cookies=[]) as context,
        site.provider.holding() as gate,
        watched(context.new_page(), site.url, ("401",)) as page,
    ):
        page.goto(link)
        ask(page, site, "¿Tell me a secret, wait")
        expect(page.locator(".final .raw")).to_have_text(re.compile("Understood"))
        other = context.new_page()
        other.goto(f"{site.url}/settings")
        other.get_by_role("button", name="Sign out").click()
        expect(other.get_by_text("You are signed out.")).to_be_visible()
        page.bring_to_front()
        gate.set()
        expect(page.locator("#trouble")).to_be_visible()
        expect(page.locator(".final")).not_to_contain_text("done")


def test_how_long_nothing_was_heard_is_told_as_the_language_writes_numbers(site: Site, tab: Page):
    with site.provider.holding() as gate:
        tab.clock.install()
        ask(tab, site, "¿Tell me, wait")
        expect(tab.locator("#status")).to_have_text("Reply in progress")
        tab.clock.fast_forward(1_500_000)
        expect(tab.locator("#trouble")).to_contain_text(re.compile(r"for 1,5\d\d seconds"))
        gate.set()
        done(tab)


LINES = st.sampled_from(
    [
        "words",
        "- one",
        "1. one",
        "2. two",
        "  more",
        "```",
        "~~~",
        "# Head",
        "> said",
        "---",
        "===",
        "",
        "",
        "",
        "    x = 1",
        "\ty = 2",
        "* *one*",
        "<div>",
        "<b>two</b>",
    ]
)
TABLE = st.just("| a | b |\n|---|---|\n| 1 | 2 |")


@given(lines=st.lists(LINES | TABLE, max_size=12), pieces=st.lists(st.integers(1, 9), min_size=1))
def test_in_whatever_pieces_an_answer_comes_its_parts_are_shown_as_the_whole_is(lines: list[str], pieces: list[int]):
    text, step, shown, at = "\n".join(lines), Step("m"), "", 0
    for size in cycle(pieces):
        if at >= len(text):
            break
        block = step.hear(text[at : at + size])
        shown += markdown(block.text) if block else ""
        at += size
    assert shown + markdown(step.rest) == markdown(text)
