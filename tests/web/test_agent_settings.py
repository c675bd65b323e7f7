"""Making an agent and its settings: refused at their fields, and never overwritten unseen."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from preceptor.domain.agents import Agent
from preceptor.domain.ids import AgentId, OrgId, UserId
from preceptor.domain.ownership import Owner
from preceptor.domain.reasoning.policy import GuardPolicy, SgrPolicy
from preceptor.domain.reasoning.verdict import Mode
from preceptor.surfaces.web.views.answering import answers_in, change_of
from preceptor.surfaces.web.views.profiles import Everyones, change_in, profile_of
from tests.web.browsing import Site, complains, findings, watched
from tests.web.library import make


def of(site: Site, agent_id: str) -> Any:
    return site.api("GET", f"/api/agents/{agent_id}")


def save(page: Page) -> None:
    page.locator("#profile").get_by_role("button", name="Save").click()


def opened(page: Page, group: str) -> Locator:
    part = page.locator("#profile details").filter(has=page.locator("summary", has_text=group))
    if not part.evaluate("one => one.open"):
        part.locator("summary").click()
    return part


@pytest.mark.parametrize("script", [True, False])
def test_an_agent_is_made_and_what_it_cannot_be_is_said_at_its_field(site: Site, *, script: bool):
    taken = make(site).agent_id
    with (
        site.context(java_script_enabled=script) as context,
        watched(context.new_page(), site.url, ("409", "422")) as page,
    ):
        page.goto(f"{site.url}/agents")
        form = page.locator("#new")
        name, named, model = (form.get_by_label(one, exact=True) for one in ("Name", "Id", "Model"))
        name.fill("A second one")
        for field, value, sentence in (
            (named, taken, f"There is an agent '{taken}' already"),
            (model, "nobody:such", "nobody"),
        ):
            field.fill(value)
            form.get_by_role("button", name="Create").click()
            complains(field, sentence)
            expect(field).to_have_value(value)
            expect(name).to_have_value("A second one")
            expect(form).to_be_in_viewport()
            field.fill("")
        assert not script or findings(page) == []
        form.get_by_role("button", name="Create").click()
        expect(page.locator("h1")).to_have_text("A second one")


@pytest.mark.parametrize("script", [True, False])
def test_tools_are_chosen_and_names_that_mean_nothing_now_are_kept(site: Site, *, script: bool):
    mine = make(site)
    site.api("PATCH", f"/api/agents/{mine.agent_id}", json={"tools": ["mail__send", "calculator"]})
    with site.tab(java_script_enabled=script) as page:
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        tools = page.get_by_role("group", name="Tools")
        boxes = tools.get_by_role("checkbox")
        assert [one.get_attribute("value") for one in boxes.all()] == [
            *("mail__send", "calculator"),
            *("current_time", "start_conversation"),
        ]
        expect(tools.get_by_label("mail__send")).to_be_checked()
        expect(tools.locator("label", has_text="mail__send")).to_contain_text("not known now")
        told = tools.locator("label", has_text="calculator")
        expect(told).to_contain_text("only reads")
        expect(told).to_contain_text("Works out an arithmetic expression")
        page.locator("#profile").get_by_label("Name", exact=True).fill("Ada")
        save(page)
        expect(page.get_by_role("heading", level=1)).to_have_text("Ada")
        assert of(site, mine.agent_id)["tools"] == ["mail__send", "calculator"]
        tools.get_by_label("calculator").uncheck()
        tools.get_by_label("current_time").check()
        tools.get_by_label("Others, by name, with commas").fill("clock, mail__send")
        save(page)
        expect(tools.get_by_label("clock")).to_be_checked()
        assert of(site, mine.agent_id)["tools"] == ["mail__send", "current_time", "clock"]
        for name in ("mail__send", "current_time", "clock"):
            tools.get_by_label(name).uncheck()
        save(page)
        expect(tools.get_by_label("clock")).to_have_count(0)
    assert of(site, mine.agent_id)["tools"] == []


def test_a_tool_that_cannot_be_one_is_refused_at_the_tools_and_none_is_lost(site: Site):
    mine = make(site)
    with site.context() as context, watched(context.new_page(), site.url, ("422",)) as page:
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        tools = page.get_by_role("group", name="Tools")
        tools.get_by_label("calculator").check()
        others = tools.get_by_label("Others, by name, with commas")
        others.fill("x" * 65)
        save(page)
        complains(others, "It may have at most 64 characters.")
        expect(tools.get_by_label("calculator")).to_be_checked()
        assert findings(page) == []
        tools.get_by_label("x" * 65).uncheck()
        save(page)
        expect(page.locator(".fault")).to_have_count(0)
    assert of(site, mine.agent_id)["tools"] == ["calculator"]


@pytest.mark.parametrize("script", [True, False])
def test_who_an_agent_is_and_how_it_is_asked_are_changed_on_its_page(site: Site, *, script: bool):
    mine = make(site)
    site.api("PATCH", f"/api/agents/{mine.agent_id}", json={"parameters": {"seed": 7, "temperature": 1.5}})
    with site.tab(java_script_enabled=script) as page:
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        form = page.locator("#profile")
        expect(form.get_by_label("Model", exact=True)).to_have_attribute("placeholder", "as the installation")
        expect(form.get_by_label("Name", exact=True)).to_have_attribute("required", "")
        for label, value in {
            "Name": "Ada",
            "Role": "analyst",
            "Model": "openai:gpt-5-mini",
            "Language": "vi",
            "Others, by name, with commas": "clock",
            "Capabilities, with commas": "sums",
        }.items():
            form.get_by_label(label, exact=True).fill(value)
        form.get_by_label("may ask specialists").check()
        form.get_by_label("specialists who answer hear the next message too").check()
        form.get_by_role("checkbox", name="calculator").check()
        requests = opened(page, "Requests")
        requests.get_by_label("Temperature").fill("0.2")
        requests.get_by_label("Longest answer, in tokens").fill("500")
        requests.get_by_label("Longest prompt, in tokens").fill("8000")
        requests.get_by_label("Messages shown at most").fill("40")
        budget = opened(page, "Budget of a turn")
        for label, value in {"Tokens": "90000", "Seconds": "30.5", "Cost": "0.25"}.items():
            budget.get_by_label(label).fill(value)
        save(page)
        expect(page.get_by_role("heading", level=1)).to_have_text("Ada")
        after = of(site, mine.agent_id)
        assert {name: after[name] for name in ("name", "role", "model", "language", "tools", "capabilities")} == {
            "name": "Ada",
            "role": "analyst",
            "model": "openai:gpt-5-mini",
            "language": "vi",
            "tools": ["calculator", "clock"],
            "capabilities": ["sums"],
        }
        assert (after["permissions"], after["carryOver"]) == (["delegate"], True)
        asked = {"temperature": 0.2, "maxCompletionTokens": 500, "maxTokens": 8000, "maxHistorySize": 40}
        assert after["parameters"] == {"seed": 7, **asked}
        assert after["budget"] == {"tokens": 90000, "seconds": 30.5, "cost": 0.25}
        for label in ("Tokens", "Seconds", "Cost"):
            opened(page, "Budget of a turn").get_by_label(label).fill("")
        opened(page, "Requests").get_by_label("Temperature").fill("")
        form.get_by_label("Model", exact=True).fill("")
        form.get_by_label("may ask specialists").uncheck()
        form.get_by_label("specialists who answer hear the next message too").uncheck()
        save(page)
        expect(form.get_by_label("Model", exact=True)).to_have_value("")
    after = of(site, mine.agent_id)
    assert (after["budget"], after["model"], after["permissions"]) == (None, None, [])
    assert after["carryOver"] is False
    assert after["parameters"] == {"seed": 7} | {name: asked[name] for name in asked if name != "temperature"}


def test_the_guard_and_the_planning_of_an_agent_are_switched_and_back_to_everyones(site: Site, tab: Page):
    mine = make(site)
    tab.goto(f"{site.url}/agents/{mine.agent_id}")
    guard = opened(tab, "Guard")
    guard.get_by_label("What the guardian does").select_option(label="it only records")
    guard.get_by_label("answers are checked too").check()
    planning = opened(tab, "Planning")
    planning.get_by_label("It makes a plan first").select_option(label="never")
    planning.get_by_label("Times it may ask back").fill("5")
    save(tab)
    expect(tab.locator("#profile summary", has_text="Guard")).to_contain_text("its own")
    after = of(site, mine.agent_id)
    assert after["guard"] == {"mode": "report", "answers": True}
    assert after["sgr"] == {"enabled": "false", "maxClarifications": 5}
    guard = opened(tab, "Guard")
    guard.get_by_label("What the guardian does").select_option(label="it blocks")
    guard.get_by_label("answers are checked too").uncheck()
    save(tab)
    expect(tab.locator("#profile summary", has_text="Guard")).to_contain_text("as the installation")
    assert of(site, mine.agent_id)["guard"] is None


def test_what_an_agent_cannot_be_is_said_at_its_field_and_nothing_is_lost(site: Site):
    mine = make(site)
    before = of(site, mine.agent_id)
    wrong = {
        "Model": ("nobody:such", "nobody"),
        "Temperature": ("9", "It must be at most 2."),
        "Messages shown at most": ("0", "at least 1"),
        "Tokens": ("many", "It must be a whole number."),
        "Times it may ask back": ("2.5", "It must be a whole number."),
    }
    with site.context() as context, watched(context.new_page(), site.url, ("422",)) as page:
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        form = page.locator("#profile")
        for label, (value, sentence) in wrong.items():
            for group in ("Requests", "Budget of a turn", "Planning"):
                opened(page, group)
            page.get_by_label("Role", exact=True).fill("kept")
            field = form.get_by_label(label, exact=True)
            good = field.input_value()
            field.fill(value)
            save(page)
            complains(field, sentence)
            expect(field).to_have_value(value)
            expect(form.get_by_label("Role", exact=True)).to_have_value("kept")
            field.fill(good)
        assert findings(page) == []
    assert of(site, mine.agent_id) == before


def test_what_someone_else_changed_is_shown_and_what_was_typed_stays(site: Site):
    mine = make(site)
    path = f"/api/agents/{mine.agent_id}"
    with site.context() as context, watched(context.new_page(), site.url, ("412",)) as page:
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        site.api("PATCH", path, json={"name": "Theirs", "budget": {"seconds": 20}, "language": "ru"})
        form = page.locator("#profile")
        form.get_by_label("Name", exact=True).fill("Mine")
        save(page)
        expect(form.get_by_role("alert")).to_contain_text("It has changed since you read it")
        expect(form.get_by_role("alert")).to_be_in_viewport()
        expect(form.get_by_label("Name", exact=True)).to_have_value("Mine")
        expect(form.get_by_label("Name", exact=True)).to_have_accessible_description(re.compile("it is now: Theirs"))
        expect(form.get_by_label("Language", exact=True)).to_have_value("ru")
        expect(form.get_by_label("Seconds")).to_have_value("20")
        expect(form.get_by_label("Seconds")).to_be_visible()
        assert of(site, mine.agent_id)["name"] == "Theirs"
        assert findings(page) == []
        save(page)
        expect(page.get_by_role("alert")).to_have_count(0)
    after = of(site, mine.agent_id)
    assert (after["name"], after["language"], after["budget"]["seconds"]) == ("Mine", "ru", 20)


def test_those_who_may_not_change_an_agent_read_its_settings(site: Site):
    mine = make(site)
    settings = {"language": "vi", "parameters": {"temperature": 0.3}, "budget": {"tokens": 5000}}
    site.api("PATCH", f"/api/agents/{mine.agent_id}", json=settings)
    site.api("POST", "/api/users", json={"userId": "reader", "name": "Reader", "role": "viewer"})
    with site.context(cookies=site.cookies_of("reader")) as context:
        page = context.new_page()
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        for fact in ("Temperature0.3", "Tokens5,000", "Languagevi"):
            expect(page.locator(".facts")).to_contain_text(fact)
        expect(page.locator("#profile")).to_have_count(0)
        answer = page.request.post(f"{site.url}/agents/{mine.agent_id}/profile", form={"name": "Mine"})
        assert answer.status == 403


@pytest.mark.parametrize(
    ("language", "heading", "field"), [("ru", "Настройки", "Самый длинный ответ"), ("vi", "Cài đặt", "Câu trả lời dài")]
)
def test_the_settings_speak_the_language_that_was_chosen(site: Site, language: str, heading: str, field: str):
    mine = make(site)
    cookies = [*site.cookies, {"name": "preceptor_language", "value": language, "url": site.url}]
    with site.tab(cookies=cookies) as page:
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        expect(page.locator("#profile").get_by_role("heading")).to_have_text(heading)
        page.locator("#profile summary").first.click()
        expect(page.get_by_label(field)).to_be_visible()


AGENT = Agent(
    agent_id=AgentId("ada"),
    name="Ada",
    role="assistant",
    capabilities=(),
    permissions=(),
    guard=GuardPolicy(answers=True),
    sgr=SgrPolicy(max_clarifications=7),
    owner=Owner(org_id=OrgId("default"), user_id=UserId("admin")),
    created_at=datetime(2030, 1, 1, tzinfo=UTC),
    updated_at=datetime(2030, 1, 1, tzinfo=UTC),
    revision=1,
)


def test_an_agent_goes_on_following_the_installation_in_what_it_does_not_say():
    everyones = Everyones(GuardPolicy(mode=Mode.REPORT), SgrPolicy())
    shown = profile_of(AGENT, everyones).fields
    assert (shown["guard.mode"], shown["guard.answers"]) == ("report", "on")
    wish = {**shown, "guard.toolResults": "on"}
    assert change_in(wish, AGENT, everyones) == {"guard": {"answers": True, "toolResults": True}}
    assert change_in({**shown, "guard.answers": ""}, AGENT, everyones) == {"guard": None}
    assert change_in({**shown, "sgr.maxClarifications": "2"}, AGENT, everyones) == {"sgr": None}
    assert change_in(shown, AGENT, everyones) == {}


def test_the_wording_of_plans_leaves_the_rest_of_the_policy_to_the_installation():
    change = change_of(answers_in([("sgr.templateInstructions.clarify", "Polite")]), AGENT, SgrPolicy())
    assert change.sgr is not None
    assert change.sgr.model_fields_set == {"max_clarifications", "template_instructions"}
