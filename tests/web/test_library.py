"""Instructions on their pages: reading, editing, comparing, trying."""

import re

import pytest
from playwright.sync_api import Dialog, Page, Route, expect

from tests.web.browsing import Site, before, findings, watched
from tests.web.library import ATTACK, Made, make


@pytest.fixture(scope="package")
def made(site: Site) -> Made:
    """For tests that change nothing."""
    return make(site)


def texts(page: Page, name: str) -> list[str]:
    return [one.input_value() for one in page.locator(f"[data-list={name}] ol textarea").all()]


def test_the_list_is_filtered_in_the_address_and_walked_by_keys(site: Site, tab: Page):
    kept = make(site, "Filtered kept")
    make(site, "Filtered other")
    tab.goto(f"{site.url}/instructions")
    tab.get_by_label("Words in name").fill("Filtered")
    tab.get_by_label("Words in name").press("Enter")
    expect(tab).to_have_url(re.compile(r"q=Filtered"))
    expect(tab.locator("[data-item]")).to_have_count(2)
    tab.wait_for_load_state()  # keys are heard once the scripts are there
    for key in ("j", "j", "k", "j", "Enter"):
        tab.keyboard.press(key)
    expect(tab).to_have_url(f"{site.url}/instructions/{kept.family_id}")
    expect(tab.get_by_role("heading", level=1)).to_have_text("Filtered kept")
    expect(tab.locator(".timeline")).to_contain_text("Friendlier")
    expect(tab.get_by_role("link", name=kept.agent_id)).to_be_visible()


def test_a_versions_address_shows_that_version_and_its_line(site: Site, tab: Page, made: Made):
    tab.goto(f"{site.url}/instructions/{made.versions[0]}#constraints-1")
    expect(tab.locator("#constraints-1")).to_contain_text("Do not promise refunds")
    expect(tab.locator("#constraints-1")).to_be_in_viewport()
    expect(tab.locator("#systemPrompt")).to_contain_text("professional")
    expect(tab.get_by_text("There is a newer version, 2.0.0.")).to_be_visible()


def test_an_instruction_that_says_nothing_yet_says_so(site: Site, tab: Page):
    made = site.api("POST", "/api/instructions", json={"name": "Blank", "type": "task", "content": {}})
    tab.goto(f"{site.url}/instructions/{made['familyId']}")
    expect(tab.locator("article")).to_contain_text("It says nothing yet.")


def test_items_are_added_moved_and_removed_by_keyboard_and_the_preview_follows(site: Site, tab: Page):
    mine = make(site)
    tab.goto(f"{site.url}/instructions/{mine.family_id}/edit")
    told = tab.locator("#told")
    expect(told).to_contain_text("Confirm that it is solved")
    add = tab.locator("[data-list=guidelines] [data-add]")
    add.focus()
    tab.keyboard.press("Enter")
    tab.keyboard.type("Say goodbye")
    expect(told).to_contain_text("Say goodbye")
    expect(tab.locator("#saved")).to_have_text("Unsaved changes")
    tab.keyboard.press("Alt+ArrowUp")
    tab.keyboard.press("Alt+ArrowUp")
    assert texts(tab, "guidelines") == [
        "Greet customers by name",
        "Say goodbye",
        "Give clear solutions",
        "Confirm that it is solved",
    ]
    first = tab.locator("[data-list=guidelines] li").first
    first.get_by_role("button", name="Move down").focus()
    tab.keyboard.press("Enter")
    tab.locator("[data-list=guidelines] li").last.get_by_role("button", name="Remove").focus()
    tab.keyboard.press("Enter")
    assert texts(tab, "guidelines") == ["Say goodbye", "Greet customers by name", "Give clear solutions"]
    expect(told).not_to_contain_text("Confirm that it is solved")
    lines = told.locator(".seg .text").all_inner_texts()
    assert lines.index("- Say goodbye") < lines.index("- Greet customers by name")
    tab.get_by_role("button", name="Review changes").click()
    expect(tab.get_by_text("This is a minor step: content changed: guidelines.")).to_be_visible()
    tab.get_by_label("Changelog").fill("Another order")
    tab.get_by_role("button", name="Save").click()
    expect(tab.locator(".timeline li").first).to_contain_text("Another order")
    head = site.api("GET", f"/api/instructions/{mine.family_id}")
    assert (head["version"], head["content"]["guidelines"][0]) == ("2.1.0", "Say goodbye")
    assert (
        head["content"]["constraints"]
        == site.api("GET", f"/api/instructions/{mine.versions[0]}")["content"]["constraints"]
    )


def test_a_late_preview_never_wins(site: Site, tab: Page, made: Made):
    tab.goto(f"{site.url}/instructions/{made.family_id}/edit")
    held: list[Route] = []

    def hold(route: Route) -> None:
        if "early+words" in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    tab.route("**/edit", hold)
    with tab.expect_request(lambda request: "early+words" in (request.post_data or "")):
        tab.get_by_label("System prompt").fill("early words")
    tab.get_by_label("System prompt").fill("late words")
    expect(tab.locator("#told")).to_contain_text("late words")
    held[0].fulfill(status=200, body="early words")
    expect(tab.locator("#told")).to_contain_text("late words")
    expect(tab.locator("#told")).not_to_contain_text("early words")
    tab.unroute("**/edit")


def test_leaving_with_changes_is_asked_about_and_what_was_written_is_kept(site: Site, tab: Page):
    mine = make(site)
    asked: list[str] = []

    def accept(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    tab.on("dialog", accept)
    tab.goto(f"{site.url}/instructions/{mine.family_id}/edit")
    tab.get_by_label("System prompt").click()
    tab.get_by_label("System prompt").fill("Half done")
    expect(tab.locator("#told")).to_contain_text("Half done")
    tab.goto(f"{site.url}/agents")
    assert asked == ["beforeunload"]
    tab.goto(f"{site.url}/instructions/{mine.family_id}/edit")
    tab.get_by_role("button", name="Take it up again").click()
    expect(tab.get_by_label("System prompt")).to_have_value("Half done")
    expect(tab.locator("#told")).to_contain_text("Half done")


def test_what_is_written_before_the_scripts_of_the_editor_are_there_is_not_lost(site: Site, tab: Page):
    mine = make(site)
    with before("edit.js", tab):
        tab.goto(f"{site.url}/instructions/{mine.family_id}/edit", wait_until="commit")
        tab.get_by_label("System prompt").fill("Quickly")
    expect(tab.locator("#told")).to_contain_text("Quickly")
    expect(tab.locator("#saved")).to_have_text("Unsaved changes")
    tab.once("dialog", lambda dialog: dialog.accept())
    tab.goto(f"{site.url}/agents")
    tab.goto(f"{site.url}/instructions/{mine.family_id}/edit")
    tab.get_by_role("button", name="Take it up again").click()
    expect(tab.get_by_label("System prompt")).to_have_value("Quickly")


def test_without_a_script_everything_is_edited_by_buttons(site: Site):
    mine = make(site)
    with site.tab(java_script_enabled=False) as page:
        page.goto(f"{site.url}/instructions/{mine.family_id}/edit")
        page.locator("[data-list=guidelines] [data-add]").click()
        page.locator("[data-list=guidelines] ol textarea").last.fill("Written without a script")
        page.locator("[data-list=guidelines] li").last.get_by_role("button", name="Move up").click()
        page.locator("[data-list=guidelines] li").first.get_by_role("button", name="Remove").click()
        assert texts(page, "guidelines") == [
            "Give clear solutions",
            "Written without a script",
            "Confirm that it is solved",
        ]
        page.get_by_role("button", name="Update").click()
        expect(page.locator("#told")).to_contain_text("Written without a script")
        page.get_by_role("button", name="Review changes").click()
        expect(page.locator("ins")).to_contain_text(["Written without a script"])
        expect(page.get_by_text("1 would be told something else.")).to_be_visible()
        page.get_by_label("Changelog").fill("By hand")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".timeline li").first).to_contain_text("By hand")


def test_what_someone_else_saved_meanwhile_is_not_overwritten_and_nothing_is_lost(site: Site):
    mine = make(site)
    with site.context() as context, watched(context.new_page(), site.url, ("412",)) as page:
        page.goto(f"{site.url}/instructions/{mine.family_id}/edit")
        page.get_by_label("System prompt").fill("My own words")
        page.get_by_role("button", name="Review changes").click()
        page.get_by_label("Changelog").fill("Mine")
        site.api("PUT", f"/api/instructions/{mine.family_id}", json={"content": {"tone": "casual"}})
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert")).to_contain_text("It has changed since you read it")
        expect(page.get_by_label("System prompt")).to_have_value("My own words")
        page.get_by_role("button", name="Review changes").click()
        expect(page.get_by_label("Changelog")).to_have_value("Mine")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".timeline li").first).to_contain_text("Mine")


def test_a_comparison_marks_the_right_words_and_is_walked_by_keyboard_alone(site: Site, tab: Page, made: Made):
    tab.goto(f"{site.url}/instructions/{made.family_id}/diff?from=1.0.0&to=2.0.0")
    changed = tab.locator("tr.changed")
    expect(changed.locator("del")).to_have_text("professional")
    expect(changed.locator("ins")).to_have_text("friendly")
    expect(tab.locator("tr.removed del")).to_have_text("- Listen actively and show empathy")
    changes = tab.locator("tbody.change")
    for key, place in (("n", 0), ("n", 1), ("n", 2), ("n", 2), ("p", 1)):
        tab.keyboard.press(key)
        expect(changes.nth(place)).to_be_focused()
    tab.get_by_role("link", name=re.compile("unchanged lines")).last.focus()
    tab.keyboard.press("Enter")
    expect(tab.get_by_text("requiredKeywords: thank you").first).to_be_visible()
    tab.goto(f"{site.url}/instructions/{made.family_id}/diff?from=1.0.0&to=2.0.0&view=inline&mode=field")
    expect(tab.get_by_role("heading", level=2)).to_have_text(["System prompt", "Guidelines"])
    expect(tab.locator("tr.removed del").first).to_have_text("professional")


def test_a_draft_is_compared_with_any_version_before_it_is_saved(site: Site, tab: Page, made: Made):
    tab.goto(f"{site.url}/instructions/{made.family_id}/edit")
    tab.get_by_label("System prompt").fill("You are a patient support agent for ACME Corp.")
    tab.get_by_role("button", name="Review changes").click()
    expect(tab.get_by_text("This is a major step: the system prompt was rewritten.")).to_be_visible()
    shown = tab.locator("form > .card").nth(1)
    expect(shown.locator("tr.changed del")).to_have_text("friendly")
    tab.get_by_role("combobox", name="Compare the draft with").select_option("1.0.0")
    tab.get_by_role("button", name="Compare").click()
    expect(shown.locator("tr.changed del")).to_have_text("professional")
    expect(shown.locator("tr.changed ins")).to_have_text("patient")
    assert site.api("GET", f"/api/instructions/{made.family_id}")["version"] == "2.0.0"
    assert findings(tab) == []


def test_restoring_is_shown_as_a_comparison_first_and_makes_a_new_version(site: Site, tab: Page):
    mine = make(site)
    tab.goto(f"{site.url}/instructions/{mine.family_id}")
    tab.get_by_role("link", name="Restore…").click()
    expect(tab.locator("tr.changed del")).to_have_text("friendly")
    expect(tab.locator("tr.changed ins").first).to_have_text("professional")
    tab.get_by_role("button", name="Restore 1.0.0 as a new version").click()
    expect(tab.locator(".timeline li").first).to_contain_text("Restored 1.0.0.")
    head = site.api("GET", f"/api/instructions/{mine.family_id}")
    assert (head["version"], head["content"]["tone"]) == ("2.0.1", "professional")


def test_a_dry_run_streams_and_says_which_rules_were_broken(site: Site, tab: Page, made: Made):
    tab.goto(f"{site.url}/instructions/{made.family_id}/test?against=1.0.0")
    tab.get_by_label("What a user would say").fill("¿Tell me something, wait")
    with site.provider.holding() as gate:
        tab.get_by_role("button", name="Run with the model").click()
        expect(tab.locator(".answer").first).to_contain_text("Understood")
        expect(tab.locator(".answer").last).to_contain_text("Understood")
        expect(tab.locator("#trial-status")).to_contain_text("answering")
        expect(tab.locator(".rules")).to_have_count(0)
        gate.set()
    expect(tab.locator(".rules")).to_have_count(2)
    expect(tab.locator(".trial").first).to_contain_text("Understood, and done.")
    broken = tab.locator(".rules").first.get_by_role("listitem").filter(has_text="broken")
    expect(broken).to_have_text(re.compile("An answer must contain · missing: thank you"))
    assert findings(tab) == []


def test_what_a_dry_run_came_to_is_taken_as_an_example_and_kept_when_it_is_saved(site: Site, tab: Page):
    mine = make(site)
    tab.goto(f"{site.url}/instructions/{mine.family_id}/test")
    tab.get_by_label("What a user would say").fill("¿Is it open?")
    tab.get_by_role("button", name="Run with the model").click()
    tab.get_by_role("button", name="Take this as an example…").click()
    expect(tab.locator("[data-list=examples] li")).to_have_count(1)
    tab.get_by_role("button", name="Review").click()
    tab.locator("[name=changelog]").fill("An example")
    tab.get_by_role("button", name="Save").first.click()
    expect(tab.locator("#examples-0")).to_contain_text("Understood, and done.")
    assert site.api("GET", f"/api/instructions/{mine.family_id}")["content"]["examples"][0]["input"] == "¿Is it open?"


def test_a_dry_run_without_a_script_or_a_model_shows_the_prompt(site: Site, made: Made):
    with site.tab(java_script_enabled=False) as page:
        page.goto(f"{site.url}/instructions/{made.versions[0]}/test")
        page.get_by_role("button", name="Show the prompt").click()
        expect(page.locator(".trial pre")).to_contain_text("You are a professional support agent")
        page.get_by_label("What a user would say").fill("¿Hello?")
        page.get_by_role("button", name="Run with the model").click()
        expect(page.locator(".answer")).to_have_text("Understood, and done.")


def test_labels_ratings_and_states_are_set_and_what_is_in_use_is_guarded(site: Site):
    mine = make(site)
    with site.context() as context, watched(context.new_page(), site.url, ("409",)) as page:
        page.goto(f"{site.url}/instructions/{mine.family_id}")
        page.get_by_label("Label", exact=True).fill("production")
        page.get_by_role("combobox", name="Version").select_option("1.0.0")
        page.get_by_role("button", name="Point it there").click()
        expect(page.locator("#labels li")).to_have_text(re.compile(r"production.*1\.0\.0"))
        page.get_by_role("combobox", name="Yours").select_option("3")
        page.get_by_role("button", name="Rate", exact=True).click()
        expect(page.locator("#rating")).to_contain_text("★ 3.0")
        page.get_by_role("link", name="Delete…").click()
        expect(page.locator(".notice")).to_contain_text(mine.agent_id)
        page.evaluate("document.querySelector('[name=force]').required = false")
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_text(re.compile("Agents use it"))).to_be_visible()
        page.goto(f"{site.url}/instructions/{mine.family_id}/archive")
        page.get_by_label("Switch the assignments off").check()
        page.get_by_role("button", name="Delete").click()
        expect(page).to_have_url(f"{site.url}/instructions")
        page.goto(f"{site.url}/instructions/{mine.versions[0]}")
        expect(page.get_by_text("This instruction was deleted.")).to_be_visible()
    assert not site.api("GET", f"/api/agents/{mine.agent_id}/instructions")["items"][0]["isActive"]


def test_markup_in_names_and_content_is_text_on_every_page(site: Site, tab: Page):
    mine = make(site, ATTACK, systemPrompt=ATTACK, guidelines=[ATTACK], tone="<b>x</b>")
    site.api(
        "PUT",
        f"/api/instructions/{mine.family_id}",
        json={"content": {"guidelines": [ATTACK + "2"]}, "changelog": ATTACK},
    )
    own = f"/instructions/{mine.family_id}"
    for path in (
        "/instructions",
        own,
        f"{own}/edit",
        f"{own}/diff",
        f"{own}/test",
        f"{own}/archive",
        "/agents",
        f"/agents/{mine.agent_id}",
        f"/agents/{mine.agent_id}/effective",
    ):
        tab.goto(site.url + path)
        expect(tab.locator("main")).to_contain_text("<img src=x onerror" if path != "/agents" else "agent")
        assert tab.locator("main img, main script").count() == 0, path
        assert tab.evaluate("window.__xss") is None, path
