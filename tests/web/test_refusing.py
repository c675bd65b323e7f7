"""What cannot be done is said on the page where it was tried, with all that was written."""

from playwright.sync_api import expect

from tests.web.browsing import Site, complains, findings, watched
from tests.web.library import make


def test_a_message_that_says_nothing_is_asked_for_again_with_its_agent(site: Site):
    mine = make(site)
    with site.context() as context, watched(context.new_page(), site.url, ("422",)) as page:
        page.goto(f"{site.url}/conversations/new?agent={mine.agent_id}")
        page.get_by_label("Message").fill("   ")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_role("alert")).to_contain_text("Write something and send it again.")
        expect(page.get_by_label("Agent")).to_have_value(mine.agent_id)
        assert findings(page) == []
        page.get_by_label("Message").fill("¿Hello")
        page.get_by_role("button", name="Send").click()
        expect(page.locator(".user")).to_contain_text("¿Hello")


def test_a_key_without_a_name_is_refused_at_its_field(site: Site):
    with site.context() as context, watched(context.new_page(), site.url, ("422",)) as page:
        page.goto(f"{site.url}/settings")
        form = page.locator("form[action^='/settings/keys#']")
        form.get_by_label("Name").fill("  ")
        form.get_by_label("Role").select_option("editor")
        form.get_by_role("button").click()
        complains(form.get_by_label("Name"), "There must be something in it that can be seen.")
        expect(form.get_by_label("Role")).to_have_value("editor")
        assert findings(page) == []


def test_a_label_that_cannot_be_and_a_gate_that_is_closed_are_told_beside_the_labels(site: Site):
    mine = make(site)
    gate = f"/api/instructions/{mine.family_id}/labels/production/gate"
    site.api("PUT", gate, json={"atLeast": 9})
    with site.context() as context, watched(context.new_page(), site.url, ("409", "422")) as page:
        page.goto(f"{site.url}/instructions/{mine.family_id}")
        labels = page.locator("#labels")
        for name, sentence in {"latest": "'latest' is not a label.", "production": "no replay has been run"}.items():
            labels.get_by_label("Label", exact=True).fill(name)
            labels.get_by_label("Version").select_option(mine.versions[0])
            labels.get_by_role("button", name="Point it there").click()
            expect(labels.get_by_role("alert")).to_contain_text(sentence)
            expect(labels.get_by_role("alert")).to_be_in_viewport()
            expect(labels.get_by_label("Label", exact=True)).to_have_value(name)
            expect(labels.get_by_label("Version")).to_have_value(mine.versions[0])
        assert findings(page) == []


def test_a_state_that_someone_else_changed_and_an_instruction_in_use_are_told_on_their_pages(site: Site):
    mine = make(site)
    with site.context() as context, watched(context.new_page(), site.url, ("409", "412")) as page:
        page.goto(f"{site.url}/instructions/{mine.family_id}")
        site.api("POST", f"/api/instructions/{mine.versions[1]}/status", json={"status": "deprecated"})
        page.get_by_role("button", name="Make it deprecated").click()
        expect(page.locator("#state").get_by_role("alert")).to_contain_text("It has changed since you read it.")
        page.goto(f"{site.url}/instructions/{mine.versions[1]}/archive")
        site.api("POST", f"/api/instructions/{mine.versions[0]}/status", json={"status": "deprecated"})
        page.get_by_role("button", name="Archive").click()
        expect(page.get_by_role("alert")).to_be_visible()
        assert findings(page) == []


def test_an_experiment_that_compares_nothing_is_told_so_in_plain_words(site: Site):
    mine = make(site)
    with site.context() as context, watched(context.new_page(), site.url, ("422",)) as page:
        page.goto(f"{site.url}/experiments/new?agent={mine.agent_id}")
        page.get_by_label("Name", exact=True).fill("Nothing")
        page.get_by_role("button", name="Start it").click()
        expect(page.get_by_role("alert")).to_have_text(
            "Say what is compared: two versions of an instruction, or two models."
        )
        page.locator("[name=control]").select_option(mine.versions[0])
        page.locator("[name=variant]").select_option(mine.versions[1])
        page.locator(f"[name=agent][value='{mine.agent_id}']").uncheck()
        page.get_by_role("button", name="Start it").click()
        expect(page.get_by_role("alert")).to_have_text("With which agents: There must be at least 1 of these.")
