"""Templates, agents, what they are told, and decision tables on their pages."""

import re
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.web.browsing import Site, complains, findings, watched
from tests.web.library import make


def test_every_line_that_is_told_names_its_source_and_what_is_disabled_is_struck(site: Site, tab: Page):
    mine = make(site)
    path = f"/api/agents/{mine.agent_id}/instructions"
    customized = {"additionalGuidelines": ["Focus on VIPs"], "disabledConstraints": ["Never share passwords"]}
    site.api("PUT", f"{path}/{mine.family_id}", json={"customizations": customized})
    tab.goto(f"{site.url}/agents/{mine.agent_id}/effective")
    told = site.api("GET", f"{path}/effective")
    lines = tab.locator(".seg:not(.struck)")
    assert [one.get_by_role("link").count() >= 1 for one in lines.all()] == [True] * lines.count()
    shown = "\n".join(tab.locator(".seg:not(.struck) .text").all_inner_texts())
    for line in told["prompt"].split("\n"):
        assert line.startswith("## ") or line in shown, line
    expect(tab.locator(".struck")).to_have_text(re.compile("Never share passwords\\s+disabled by the customization"))
    vip = lines.filter(has_text="Focus on VIPs").get_by_role("link")
    vip.click()
    assignment = site.api("GET", path)["items"][0]["assignmentId"]
    expect(tab).to_have_url(f"{site.url}/agents/{mine.agent_id}#assignment-{assignment}")
    expect(tab.locator(f"#assignment-{assignment}")).to_be_in_viewport()
    tab.go_back()
    lines.filter(has_text="Confirm that it is solved").get_by_role("link").click()
    expect(tab.locator("#guidelines-2")).to_have_text("Confirm that it is solved")


def test_what_was_told_at_another_time_is_compared(site: Site, tab: Page):
    mine = make(site)
    before = site.api("GET", f"/api/agents/{mine.agent_id}/instructions")["items"][0]["appliedAt"]
    site.api("PUT", f"/api/instructions/{mine.family_id}", json={"content": {"tone": "casual"}})
    tab.goto(f"{site.url}/agents/{mine.agent_id}/effective?then={before}")
    expect(tab.locator("tr.changed del")).to_have_text("casual")
    expect(tab.locator("tr.changed ins")).to_have_text("professional")


def test_nothing_is_no_line_when_two_agents_are_compared(site: Site, tab: Page):
    mine, nobody = make(site), f"quiet-{uuid4().hex[:8]}"
    site.api("POST", "/api/agents", json={"agentId": nobody, "name": "Quiet & <small>"})
    tab.goto(f"{site.url}/agents/{mine.agent_id}/effective?with={nobody}")
    expect(tab.locator(".diff thead th")).to_have_text(
        [f"Support agent ({mine.agent_id})", f"Quiet & <small> ({nobody})"]
    )
    expect(tab.locator("tbody.change")).to_have_count(1)
    expect(tab.locator(".diff tr:not(.removed)")).to_have_count(1)


def test_a_tool_that_is_not_here_is_named_on_the_page_of_its_agent(site: Site, tab: Page):
    mine = make(site)
    site.api("PATCH", f"/api/agents/{mine.agent_id}", json={"tools": ["calculatr", "calculator"]})
    tab.goto(f"{site.url}/agents/{mine.agent_id}")
    expect(tab.locator(".notice")).to_have_text("No tool here is called calculatr; turns go on without it.")


def test_the_effect_of_a_change_is_shown_before_it_is_saved(site: Site, tab: Page):
    mine = make(site)
    path = f"/api/agents/{mine.agent_id}/instructions"
    tab.goto(f"{site.url}/agents/{mine.agent_id}")
    tab.get_by_text("Customizations").click()
    tab.get_by_label("Never share passwords").check()
    effect = tab.locator(".effect").first
    expect(effect.locator("tr.removed")).to_contain_text("Never share passwords")
    assert site.api("GET", path)["items"][0]["customizations"]["disabledConstraints"] == []
    tab.get_by_label("Additional guideline", exact=True).fill("Focus on VIPs")
    expect(effect.locator("tr.added")).to_contain_text("Focus on VIPs")
    tab.locator(".assignment").get_by_role("button", name="Save").click()
    expect(tab.get_by_label("Never share passwords")).to_be_checked()
    assert site.api("GET", path)["items"][0]["customizations"] == {
        "additionalGuidelines": ["Focus on VIPs"],
        "disabledConstraints": ["Never share passwords"],
        "reason": None,
    }
    tab.get_by_label("switched on").uncheck()
    tab.locator(".assignment").get_by_role("button", name="Save").click()
    expect(tab.locator(".assignment h3")).to_contain_text("switched off")


@pytest.mark.parametrize("script", [True, False])
def test_instructions_are_given_reordered_and_taken_away(site: Site, *, script: bool):
    mine = make(site)
    other = site.api(
        "POST", "/api/instructions", json={"name": "Other", "type": "system", "content": {"guidelines": ["Hum"]}}
    )
    with site.tab(java_script_enabled=script) as page:
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        page.get_by_role("combobox", name="Instruction").select_option(other["familyId"])
        page.get_by_role("button", name="Show the effect").last.click()
        expect(page.locator("#new tr.added")).to_contain_text(["Hum"])
        page.get_by_role("button", name="Assign").click()
        expect(page.locator(".assignment h3")).to_contain_text(["Support", "Other"])
        page.get_by_role("button", name="Move Other up").click()
        expect(page.locator("tr.added")).to_contain_text(["Hum"])
        page.get_by_role("button", name="Save this order").click()
        expect(page.locator(".assignment h3")).to_contain_text(["Other", "Support"])
        first = page.locator(".assignment").first
        first.get_by_role("button", name="Take away…").click()
        expect(first.locator("tr.removed")).to_contain_text(["Hum"])
        first.get_by_role("button", name="Take it away").click()
        expect(page.locator(".assignment")).to_have_count(1)
    listed = site.api("GET", f"/api/agents/{mine.agent_id}/instructions")["items"]
    assert [one["familyId"] for one in listed] == [mine.family_id]


def worded(site: Site, name: str, said: str, *gaps: str) -> str:
    variables = [{"name": gap} for gap in gaps]
    new = {"name": name, "type": "template", "content": {"guidelines": [said]}, "variables": variables}
    return site.api("POST", "/api/instructions", json=new)["name"]


@pytest.mark.parametrize("script", [True, False])
def test_fallback_models_and_the_wording_of_plans_are_changed_on_an_agents_page(site: Site, *, script: bool):
    mine, polite = make(site), worded(site, f"Polite {script}", "Kindly say more.")
    before = site.api("PATCH", f"/api/agents/{mine.agent_id}", json={"sgr": {"maxClarifications": 7}})
    with site.tab(java_script_enabled=script) as page:
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        page.get_by_label("Fallback model 1").fill("openai:gpt-5-mini")
        page.get_by_label("It asks back").fill(f"{polite}@^1")
        card = page.locator("#answering")
        card.get_by_role("button", name="Save").click()
        expect(page.get_by_label("Fallback model 1")).to_have_value("openai:gpt-5-mini")
        page.get_by_label("Fallback model 2").fill("local")
        card.get_by_role("button", name="Save").click()
        expect(page.get_by_label("Fallback model 2")).to_have_value("local")
        expect(page.get_by_label("It asks back")).to_have_value(f"{polite}@^1")
        after = site.api("GET", f"/api/agents/{mine.agent_id}")
        assert after["fallbackModels"] == ["openai:gpt-5-mini", "local"]
        assert after["sgr"] == before["sgr"] | {"templateInstructions": {"clarify": f"{polite}@^1"}}
        page.get_by_label("Fallback model 1").fill("")
        page.get_by_label("It asks back").fill("")
        card.get_by_role("button", name="Save").click()
        expect(page.get_by_label("Fallback model 1")).to_have_value("local")
    after = site.api("GET", f"/api/agents/{mine.agent_id}")
    assert (after["fallbackModels"], after["sgr"]) == (["local"], before["sgr"])


def test_an_agent_whose_plans_are_as_everyones_keeps_no_policy_of_its_own(site: Site, tab: Page):
    mine = make(site)
    tab.goto(f"{site.url}/agents/{mine.agent_id}")
    tab.get_by_label("Fallback model 1").fill("local")
    tab.locator("#answering").get_by_role("button", name="Save").click()
    expect(tab.get_by_label("Fallback model 2")).to_have_value("")
    assert site.api("GET", f"/api/agents/{mine.agent_id}")["sgr"] is None


def test_what_cannot_be_is_said_at_its_field_and_nothing_is_saved(site: Site):
    mine, wrong = make(site), worded(site, "Telltale", "{{spam_score}}", "spam_score")
    with site.context() as context, watched(context.new_page(), site.url, ("422",)) as page:
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        page.get_by_label("Fallback model 1").fill("nobody:such")
        page.get_by_label("It answers").fill("Unheard of")
        page.get_by_label("It declines").fill(wrong)
        page.locator("#answering").get_by_role("button", name="Save").click()
        for label, sentence in {
            "Fallback model 1": "nobody",
            "It answers": "There is no instruction 'Unheard of'",
            "It declines": "cannot word a plan that ends in block",
        }.items():
            complains(page.get_by_label(label), sentence)
        expect(page.get_by_label("It answers")).to_have_value("Unheard of")
        expect(page.get_by_label("It asks back")).not_to_have_attribute("aria-invalid", "true")
        assert findings(page) == []
        assert site.api("GET", f"/api/agents/{mine.agent_id}")["fallbackModels"] == []
        page.get_by_label("Fallback model 1").fill("local")
        for label in ("It answers", "It declines"):
            page.get_by_label(label).fill("")
        page.locator("#answering").get_by_role("button", name="Save").click()
        expect(page.locator(".fault")).to_have_count(0)
        expect(page.get_by_label("Fallback model 1")).to_have_value("local")
    assert site.api("GET", f"/api/agents/{mine.agent_id}")["fallbackModels"] == ["local"]


def test_an_agent_that_someone_else_changed_meanwhile_is_not_overwritten_unseen(site: Site):
    mine = make(site)
    with site.context() as context, watched(context.new_page(), site.url, ("412",)) as page:
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        site.api("PATCH", f"/api/agents/{mine.agent_id}", json={"fallbackModels": ["local"]})
        page.get_by_label("Fallback model 1").fill("openai:gpt-5-mini")
        save = page.locator("#answering").get_by_role("button", name="Save")
        save.click()
        expect(page.get_by_role("alert")).to_contain_text("It has changed since you read it")
        assert site.api("GET", f"/api/agents/{mine.agent_id}")["fallbackModels"] == ["local"]
        save.click()
        expect(page.get_by_role("alert")).to_have_count(0)
    assert site.api("GET", f"/api/agents/{mine.agent_id}")["fallbackModels"] == ["openai:gpt-5-mini"]


@pytest.mark.parametrize(
    ("language", "heading", "field"),
    [
        ("en", "How it answers", "Fallback model 1"),
        ("ru", "Как он отвечает", "Запасная модель 1"),
        ("vi", "Nó trả lời thế nào", "Mô hình dự phòng 1"),
    ],
)
def test_the_form_speaks_the_language_that_was_chosen(site: Site, language: str, heading: str, field: str):
    mine = make(site)
    cookies = [*site.cookies, {"name": "preceptor_language", "value": language, "url": site.url}]
    with site.tab(cookies=cookies) as page:
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        expect(page.locator("#answering").get_by_role("heading")).to_have_text(heading)
        expect(page.get_by_label(field)).to_be_visible()


def test_a_template_is_filled_in_with_a_preview(site: Site, tab: Page):
    site.api(
        "POST",
        "/api/instructions",
        json={
            "name": "Greeter",
            "type": "template",
            "content": {"systemPrompt": "You greet for {{company}}, {{times}} times."},
            "variables": [{"name": "company"}, {"name": "times", "type": "number", "default": 2}],
        },
    )
    tab.goto(f"{site.url}/templates")
    tab.get_by_role("link", name=re.compile("Greeter")).click()
    expect(tab.locator("#told")).to_contain_text("'company' is required")
    tab.get_by_label("company").fill("ACME")
    expect(tab.locator("#told")).to_contain_text("You greet for ACME, 2 times.")
    tab.get_by_label("Name of the new instruction").fill("Our greeter")
    tab.get_by_role("button", name="Create").last.click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Our greeter")
    expect(tab.locator("#systemPrompt")).to_contain_text("You greet for ACME, 2 times.")


def test_tables_count_what_fired_and_decide_a_case(site: Site, tab: Page):
    site.talk("¿Tell me of the lottery")
    tab.goto(f"{site.url}/decision-tables")
    expect(tab.get_by_role("columnheader", name="Fired")).to_have_count(0)
    tab.get_by_label("Count what fired").select_option("1")
    spam = tab.locator("#DT-002").get_by_role("row", name=re.compile("^spam"))
    fired = site.api("GET", "/api/reasoning/metrics")["fired"]["DT-002"]
    expect(spam.get_by_role("cell").last).to_have_text(str(fired["spam"]))
    card = tab.locator("#DT-002")
    card.get_by_text("Try a case").click()
    card.get_by_label("spam_score").fill("0.9")
    card.get_by_role("button", name="Decide").click()
    expect(tab).to_have_url(re.compile(r"fact\.spam_score=0\.9"))
    expect(card.locator("tr.hit")).to_contain_text("spam")
    expect(card.get_by_role("status")).to_contain_text("action = block")


def test_pages_show_what_the_reader_may_see_and_nothing_of_another_organisation(site: Site):
    mine = make(site)
    site.api("POST", "/api/users", json={"userId": "vivi", "name": "Vivi", "role": "viewer"})
    cookies = site.cookies_of("vivi")
    with site.context(cookies=cookies) as context, watched(context.new_page(), site.url, ("403",)) as page:
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        expect(page.get_by_role("link", name="Instructions")).to_have_count(0)
        expect(page.get_by_role("heading", level=1)).to_have_text("Support agent")
        expect(page.locator(".assignment")).to_have_count(0)
        page.goto(f"{site.url}/decision-tables")
        expect(page.get_by_role("columnheader", name="Fired")).to_have_count(0)
        for path in (f"/instructions/{mine.family_id}", f"/agents/{mine.agent_id}/effective", "/templates"):
            answer = page.goto(site.url + path)
            assert answer
            assert answer.status == 403
    site.api("POST", "/api/orgs", json={"orgId": "foreigners", "name": "Foreigners"})
    foreign = site.cookies_of("admin", "foreigners")
    with site.context(cookies=foreign) as context, watched(context.new_page(), site.url, ("404",)) as page:
        for path in (
            f"/instructions/{mine.family_id}",
            f"/agents/{mine.agent_id}",
            f"/instructions/{mine.family_id}/edit",
        ):
            answer = page.goto(site.url + path)
            assert answer
            assert answer.status == 404


@pytest.mark.parametrize(
    ("language", "title", "count"), [("ru", "Инструкции", "3 изменения"), ("vi", "Chỉ dẫn", "3 thay đổi")]
)
def test_the_library_speaks_the_language_that_was_chosen(site: Site, language: str, title: str, count: str):
    mine = make(site)
    cookies = [*site.cookies, {"name": "preceptor_language", "value": language, "url": site.url}]
    with site.tab(cookies=cookies) as page:
        page.goto(f"{site.url}/instructions")
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        own, agent = f"/instructions/{mine.family_id}", f"/agents/{mine.agent_id}"
        for path in (
            own,
            f"{own}/edit",
            f"{own}/test",
            f"{own}/archive",
            agent,
            f"{agent}/effective",
            "/templates",
            "/decision-tables",
        ):
            answer = page.goto(site.url + path)
            assert answer
            assert answer.status == 200, path
        page.goto(f"{site.url}{own}/diff?mode=field")
        expect(page.get_by_text(count)).to_be_visible()
