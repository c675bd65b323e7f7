"""What the model saw: every token has a source, and what was left out is named."""

from typing import Any

from playwright.sync_api import Page, expect

from tests.requirements import covers
from tests.web.browsing import AGENT, Site, findings


def answers(site: Site, conversation: str) -> list[Any]:
    found = site.api("GET", f"/api/conversations/{conversation}/messages?limit=100&view=all")["items"]
    return [message for message in found if message["role"] == "assistant" and message.get("callId")]


def test_parts_add_up_to_what_was_sent_and_none_is_without_a_source(site: Site, tab: Page):
    conversation = site.talk("¿Where is my order 4711?")
    told = site.api("GET", f"/api/messages/{answers(site, conversation)[-1]['id']}/context")
    tab.goto(f"{site.url}/conversations/{conversation}")
    tab.locator(".final [data-inspect]").click()
    panel = tab.locator("#inspector")
    expect(panel).to_be_focused()
    expect(panel.locator(".parts .seg")).to_have_count(len(told["segments"]))
    shown = [int(one.get_attribute("data-tokens") or "0") for one in panel.locator(".parts [data-tokens]").all()]
    assert shown == [one["tokens"] for one in told["segments"]]
    assert sum(shown) == told["tokens"]
    expect(panel.locator("#total")).to_have_text(f"{told['tokens']:,} tokens")
    expect(panel.locator("#unattributed")).to_have_text("0 tokens without a source")
    expect(panel.get_by_text("rebuilt to the byte")).to_be_visible()
    assert findings(tab) == []
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_be_hidden()
    expect(tab.locator(".final [data-inspect]")).to_be_focused()


def test_a_source_leads_to_the_very_message_and_the_very_line(site: Site, tab: Page):
    made = site.api(
        "POST",
        "/api/instructions",
        json={"name": "Tone", "type": "system", "content": {"systemPrompt": "Be kind.", "guidelines": ["Say hello."]}},
    )
    agent = {"agentId": "kind", "name": "Kind", "instructions": {"systemInstructionId": made["familyId"]}}
    site.api("POST", "/api/agents", json=agent)
    conversation = site.talk("¿Hello?", agent="kind")
    message = answers(site, conversation)[-1]["id"]
    tab.goto(f"{site.url}/messages/{message}/context")
    line = tab.locator(".seg", has_text="Say hello.").locator("a")
    expect(line).to_have_attribute("href", f"/instructions/{made['instructionId']}#guidelines-0")
    tab.locator(".seg", has_text="¿Hello?").locator("a").click()
    expect(tab.locator(".user:target")).to_contain_text("¿Hello?")


def test_every_message_that_a_model_saw_can_be_led_to_also_where_it_shows_nothing_of_its_own(site: Site, tab: Page):
    conversation = site.talk("¿Where is my order 4711, twice?")
    for message in answers(site, conversation):
        tab.goto(f"{site.url}/messages/{message['id']}/context")
        for link in tab.locator(".seg a[href*='#m-'], .crumb a").all():
            address = link.get_attribute("href") or ""
            with site.tab() as other:
                other.goto(site.url + address)
                expect(other.locator(f"#{address.partition('#')[2]}")).to_have_count(1)
    said = site.api("GET", f"/api/conversations/{conversation}/messages")["items"]
    counted = next(one for one in said if one["role"] == "tool" and one["parts"][0]["name"] == "calculator")
    tab.goto(f"{site.url}/conversations/{conversation}#m-{counted['id']}")
    expect(tab.locator(".tool")).to_be_in_viewport()


@covers("R39")
def test_what_was_left_out_is_named_and_what_is_new_is_marked(site: Site, tab: Page):
    conversation = site.talk("¿Where is my order 4711?", "¿And now?")
    message = answers(site, conversation)[-1]["id"]
    told = site.api("GET", f"/api/messages/{message}/context")
    tab.goto(f"{site.url}/messages/{message}/context")
    for one in told["leftOut"]:
        expect(tab.locator(".left-out")).to_contain_text(one["what"])
        expect(tab.locator(".left-out")).to_contain_text(one["why"])
    expect(tab.locator(".seg.new", has_text="¿And now?")).to_have_count(1)
    expect(tab.locator(".seg:not(.new)", has_text="¿Where is my order 4711?")).to_have_count(1)
    tab.get_by_role("link", name="The call before").click()
    expect(tab.locator(".seg", has_text="¿And now?")).to_have_count(0)


def test_the_request_is_shown_as_it_was_sent_and_as_the_one_call_that_has_it(site: Site, tab: Page):
    conversation = site.talk("¿Hello?", agent=AGENT)
    message = answers(site, conversation)[-1]["id"]
    tab.goto(f"{site.url}/messages/{message}/context")
    tab.get_by_text("The request, as it was sent").click()
    expect(tab.locator(".raw-json pre")).to_contain_text('"model": "gpt-5-mini"')
    tab.get_by_text("Copy as curl").click()
    expect(tab.locator("#curl")).to_contain_text(f"{site.url}/api/messages/{message}/context")


def test_parts_are_filtered_by_their_source_in_the_address_and_in_the_panel(site: Site, tab: Page):
    conversation = site.talk("¿Hello?", agent=AGENT)
    message = answers(site, conversation)[-1]["id"]
    told = site.api("GET", f"/api/messages/{message}/context")["segments"]
    said = sum(one["source"]["kind"] == "message" for one in told)
    tab.goto(f"{site.url}/messages/{message}/context")
    tab.get_by_role("link", name="message", exact=True).click()
    expect(tab.locator(".parts .seg")).to_have_count(said)
    tab.goto(f"{site.url}/conversations/{conversation}")
    tab.keyboard.press("i")
    panel = tab.locator("#inspector")
    expect(panel.locator(".parts .seg")).to_have_count(len(told))
    panel.locator("rect[data-kind=message]").hover()
    expect(panel.locator(".seg.lit")).to_have_count(said)
    panel.get_by_role("link", name="message", exact=True).click()
    expect(panel.locator(".parts .seg")).to_have_count(said)
    tab.reload()
    expect(panel.locator(".parts .seg")).to_have_count(len(told))
    panel.get_by_role("button", name="Close").click()
    tab.reload()
    expect(panel).to_be_hidden()
