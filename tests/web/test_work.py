"""Pages of what is tried and carried out: experiments, executions, replays."""

import os
import re
from collections.abc import Generator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Page, expect

from preceptor.domain.executions.binding import MOST_STEPS
from preceptor.surfaces.web.rendering import LANGUAGE
from tests.web.browsing import Site, findings, watched
from tests.web.work import FAILING, PATH, ask, executed, experiment, load, rated, replayed, step

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
Json = dict[str, Any]


@pytest.fixture(scope="module")
def compared(site: Site) -> Generator[tuple[Json, str]]:
    """An experiment that has run for a few conversations, and its agent."""
    made, told = experiment(site, guardrails=["failureRate"])
    scores = iter([3, 4, 5, 4, 2, 5] * 20)
    while min(arm["units"] for arm in site.api("GET", f"{PATH}/{made['experimentId']}/results")["arms"]) < 3:
        rated(site, told.agent_id, next(scores))
    yield made, told.agent_id
    site.api("POST", f"{PATH}/{made['experimentId']}/stop")


def number(text: str | None) -> float:
    found = re.match(r"[+-]?[0-9.]+", (text or "").strip().replace("\u2212", "-").replace(",", ""))
    assert found, text
    return float(found[0])


def close(shown: str | None, told: float) -> bool:
    """Three digits are shown."""
    return abs(number(shown) - told) <= max(abs(told) * 0.006, 1e-9)


def test_an_experiments_page_says_what_the_api_says(site: Site, tab: Page, compared: tuple[Json, str]):
    experiment_id = compared[0]["experimentId"]
    told = site.api("GET", f"{PATH}/{experiment_id}/results")
    tab.goto(f"{site.url}/experiments/{experiment_id}")
    expect(tab.locator(".verdict")).to_have_text(told["verdict"]["sentence"])
    expect(tab.locator("tr[data-metric=failureRate] th")).to_contain_text("share of turns that fail")
    for effect in told["effects"]:
        row = tab.locator(f"tr[data-metric='{effect['metric']}']")
        if effect["difference"] is None:
            continue
        cells = row.locator("td")
        assert close(cells.nth(1).text_content(), effect["difference"])
        low, high = (cells.nth(2).text_content() or "").split("…")
        assert close(low, effect["alwaysValid"]["low"])
        assert close(high, effect["alwaysValid"]["high"])
        for place, arm in enumerate(told["arms"]):
            assert close(cells.nth(3 + place).locator("a").text_content(), arm["metrics"][effect["metric"]]["mean"])
    series = site.api("GET", f"{PATH}/{experiment_id}/series")["metrics"][0]
    expect(tab.locator(".course .mark")).to_have_count(sum(one["difference"] is not None for one in series["points"]))
    shown = tab.locator("#reached").text_content()
    assert number(shown) == sum(arm["units"] for arm in told["arms"])


def test_a_verdict_is_told_in_the_language_of_the_page(site: Site, compared: tuple[Json, str]):
    chosen = {"name": LANGUAGE, "value": "ru", "url": site.url}
    with site.tab(cookies=[*site.cookies, chosen]) as page:
        page.goto(f"{site.url}/experiments/{compared[0]['experimentId']}")
        expect(page.locator(".verdict")).to_have_text("Говорить рано: в каждой группе нужно не меньше 50 единиц.")


def test_every_number_of_an_experiment_leads_to_its_conversations(site: Site, tab: Page, compared: tuple[Json, str]):
    experiment_id = compared[0]["experimentId"]
    told = site.api("GET", f"{PATH}/{experiment_id}/conversations?arm=variant")["items"]
    tab.goto(f"{site.url}/experiments/{experiment_id}")
    tab.locator("tr[data-metric=rating] td").nth(4).get_by_role("link").click()
    expect(tab.locator("tbody tr")).to_have_count(len(told))
    values = tab.locator("tbody tr td:nth-child(3)").all_text_contents()
    assert sorted(map(number, values)) == sorted(one["metrics"]["rating"] for one in told)
    expect(tab.locator("tbody a")).to_have_text(["¿Is it open?"] * len(told))
    tab.locator("tbody a").first.click()
    expect(tab.locator(".turn")).to_have_count(1)


def test_sample_conversations_go_by_their_titles_or_first_words(site: Site, tab: Page, compared: tuple[Json, str]):
    experiment_id = compared[0]["experimentId"]
    [some, *_] = site.api("GET", f"{PATH}/{experiment_id}/conversations?arm=control")["items"]
    site.api("PATCH", f"/api/conversations/{some['conversationId']}", json={"title": "Opening hours, again"})
    tab.goto(f"{site.url}/experiments/{experiment_id}")
    expect(tab.get_by_role("link", name="Opening hours, again")).to_have_attribute(
        "href", f"/conversations/{some['conversationId']}"
    )
    names = tab.locator(".sides .plain a").all_text_contents()
    assert set(names) == {"Opening hours, again", "¿Is it open?"}


def test_whoever_may_not_read_a_conversation_is_not_told_what_it_began_with(site: Site, compared: tuple[Json, str]):
    wish = {"name": "Counting", "permissions": ["experiment:run", "conversation:read"]}
    key = site.api("POST", "/api/keys", json=wish)["key"]
    with site.served.client(key) as client:
        page = client.get(f"/experiments/{compared[0]['experimentId']}")
    assert page.status_code == 200
    assert 'href="/conversations/' in page.text
    assert "¿Is it open?" not in page.text


def test_a_verdict_stays_while_the_counts_go_on(site: Site, tab: Page, compared: tuple[Json, str]):
    experiment_id, agent_id = compared[0]["experimentId"], compared[1]
    tab.goto(f"{site.url}/experiments/{experiment_id}")
    before, count = tab.locator(".verdict").text_content(), number(tab.locator("#reached").text_content())
    rated(site, agent_id, 5)
    tab.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(tab.locator("#reached")).to_have_text(re.compile(f"^{count + 1:.0f} "))
    assert tab.locator(".verdict").text_content() == before


def test_an_experiment_is_designed_started_and_its_variant_promoted(site: Site, tab: Page):
    _, made = experiment(site, status="draft")
    control, variant = made.versions
    tab.goto(f"{site.url}/experiments/new?control={control}&variant={variant}&agent={made.agent_id}")
    tab.get_by_label("Name", exact=True).fill("By hand <b>bold</b>")
    needed = tab.locator("#needed").inner_text()
    tab.get_by_label("Smallest difference that matters").fill("0.1")
    expect(tab.locator("#needed")).not_to_have_text(needed)
    tab.get_by_label("Share of the variant").fill("0,4")
    tab.get_by_role("button", name="Keep as a draft").click()
    expect(tab.locator("h1")).to_have_text("By hand <b>bold</b>")
    expect(tab.locator(".facts")).to_contain_text("0.4")
    expect(tab.locator(".verdict")).to_have_attribute("data-code", "not_started")
    tab.get_by_role("button", name="Start it").click()
    expect(tab.locator(".bar .chip")).to_have_text("running")
    tab.get_by_role("button", name="Promote the variant…").click()
    expect(tab.locator("#promote ins").first).to_have_text("friendly")
    expect(tab.locator(".bar .chip")).to_have_text("running")
    tab.get_by_role("button", name="Promote it").click()
    expect(tab.locator(".bar .chip")).to_have_text("promoted")
    told = site.api("GET", f"/api/agents/{made.agent_id}/instructions/effective")
    assert "friendly" in told["systemPrompt"]


def test_where_nothing_is_there_to_compare_or_to_count_the_page_says_what_comes_first(site: Site):
    site.api("POST", "/api/orgs", json={"orgId": "bare", "name": "Bare"})
    [admin] = site.cookies_of("admin", "bare")
    draft, made = experiment(site, status="draft")
    [ours] = site.cookies
    with httpx2.Client(base_url=site.url, trust_env=False, timeout=30) as client:
        cookie = f"{admin['name']}={admin['value']}; {LANGUAGE}=ru"
        design = client.get("/experiments/new", headers={"cookie": cookie}).text
        assert 'href="/instructions/new"' in design
        assert 'name="split" value="0,5"' in design
        cookie = f"{ours['name']}={ours['value']}"
        counted = client.get(f"/experiments/{draft['experimentId']}/conversations", headers={"cookie": cookie}).text
        assert f'href="/conversations/new?agent={made.agent_id}"' in counted


def test_an_agent_is_compared_with_what_it_is_told_in_an_arm(site: Site, tab: Page, compared: tuple[Json, str]):
    tab.goto(f"{site.url}/agents/{compared[1]}/effective")
    tab.locator("select[name=arm]").select_option(f"{compared[0]['experimentId']}:variant")
    tab.get_by_role("button", name="Show", exact=True).click()
    expect(tab.locator(".diff del").first).to_have_text("professional")
    expect(tab.locator(".diff ins").first).to_have_text("friendly")


def test_what_cannot_be_done_with_an_experiment_is_told_on_its_page_with_its_own_status(site: Site):
    draft, made = experiment(site, status="draft")
    over, _ = experiment(site)
    site.api("POST", f"{PATH}/{over['experimentId']}/stop")
    site.api("POST", f"/api/instructions/{made.versions[1]}/status", json={"status": "deprecated"})
    site.api("POST", f"/api/instructions/{made.versions[1]}/status", json={"status": "archived"})
    cookie = f"{site.cookies[0]['name']}={site.cookies[0]['value']}"
    with httpx2.Client(base_url=site.url, headers={"cookie": cookie}, trust_env=False, timeout=30) as client:
        for one, verb, status in ((draft, "start", 409), (draft, "stop", 409), (over, "promote", 422)):
            answer = client.post(f"/experiments/{one['experimentId']}/{verb}", data={"arm": "neither"})
            assert (answer.status_code, answer.text.count('role="alert"')) == (status, 1), verb
            assert "Friendlier</h1>" in answer.text


def test_a_design_that_cannot_be_comes_back_with_the_reason(site: Site):
    with site.context() as context, watched(context.new_page(), site.url, ("422",)) as page:
        page.goto(f"{site.url}/experiments/new")
        page.get_by_label("Name", exact=True).fill("Nothing to compare")
        page.get_by_role("button", name="Start it").click()
        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.get_by_label("Name", exact=True)).to_have_value("Nothing to compare")
        assert findings(page) == []


STEPS = (
    step(0, "Load", load()),
    step(1, "Ask", ask("¿Hello"), 0),
    step(2, "Tidy <b>up</b>", FAILING, 0),
    step(3, "Ask again", ask("¿And then"), 1, 2),
)


def test_a_long_name_stays_in_its_box_on_the_graph(site: Site, tab: Page):
    made = executed(
        site, step(0, "Подготовить материалы для всех", load()), step(1, "Tidy up what is not there", load())
    )
    tab.goto(f"{site.url}/executions/{made['executionId']}")
    for name in ("Подготовить", "Tidy up"):
        node = tab.locator(".node", has_text=name)
        box, text = node.locator("rect").bounding_box(), node.locator(".name").bounding_box()
        assert box
        assert text
        assert text["x"] + text["width"] <= box["x"] + box["width"] - 10
        assert node.locator(".name").evaluate("it => getComputedStyle(it).textOverflow") == "ellipsis"


def test_every_step_can_be_looked_at_whatever_it_put_out(site: Site, tab: Page):
    made = executed(site, *STEPS)
    for one in made["steps"]:
        answer = tab.goto(f"{site.url}/executions/{made['executionId']}?step={one['index']}")
        assert answer
        assert answer.status == 200
        expect(tab.locator("#chosen h2")).to_have_text(f"{one['index']} · {one['name']}")
        conversations = tab.locator("#chosen").get_by_role("link", name="Open the conversation")
        expect(conversations).to_have_count(1 if "conversationId" in (one["output"] or ()) else 0)


def test_a_step_is_reached_from_the_graph_and_what_failed_stands_first(site: Site, tab: Page):
    made = executed(site, *STEPS)
    tab.goto(f"{site.url}/executions/{made['executionId']}")
    expect(tab.locator("#steps th a").first).to_have_text("Tidy <b>up</b>")
    expect(tab.locator(".graph .node")).to_have_count(4)
    expect(tab.locator(".graph .way")).to_have_count(4)
    tab.locator("#n-2").click()
    expect(tab.locator("#step-2")).to_have_attribute("aria-current", "true")
    expect(tab.locator("#chosen")).to_contain_text("no-such-thing")
    statuses = {one["index"]: one["status"] for one in made["steps"]}
    for index, status in statuses.items():
        expect(tab.locator(f"#n-{index}")).to_have_class(f"node st-{status}")
    tab.get_by_role("link", name="Only what did not come off").click()
    expect(tab.locator("#steps tr")).to_have_count(sum(one != "completed" for one in statuses.values()))
    assert findings(tab) == []


def test_a_step_that_another_comes_after_is_shown_also_where_the_list_leaves_it_out(site: Site, tab: Page):
    made = executed(site, *STEPS)
    tab.goto(f"{site.url}/executions/{made['executionId']}?only=failed")
    row = next(one for one in made["steps"] if one["status"] != "completed" and one["dependsOn"])
    [before, *_] = row["dependsOn"]
    expect(tab.locator(f"#step-{before}")).to_have_count(0)
    tab.locator(f"#step-{row['index']} td:last-child").get_by_role("link", name=str(before), exact=True).click()
    expect(tab.locator("#chosen h2")).to_have_text(f"{before} · {made['steps'][before]['name']}")
    expect(tab.locator("#chosen")).to_be_in_viewport()
    tab.locator("#chosen").get_by_role("link", name="Close").click()
    expect(tab.locator(f"#step-{row['index']}")).to_be_visible()
    expect(tab.locator(f"#step-{before}")).to_have_count(0)


def test_an_execution_tells_its_page_how_far_it_is_and_is_stopped_and_tried_again(site: Site, tab: Page):
    with site.provider.holding() as gate:
        made = site.api("POST", "/api/executions", json={"steps": [step(0, "Ask", ask("¿Tell me, wait"))]})
        tab.goto(f"{site.url}/executions/{made['executionId']}")
        expect(tab.locator("#n-0")).to_have_class("node st-running")
        tab.locator("#head button").click()
        expect(tab.locator("#head .chip")).to_have_text("stopped")
        tab.get_by_role("button", name="Try again what did not come off").click()
        expect(tab.locator("#step-0 .chip")).to_have_text("running")
        gate.set()
        expect(tab.locator("#step-0 .chip")).to_have_text("done")
        expect(tab.locator("#n-0 .sub")).to_have_text("done")
        expect(tab.locator("body[data-turn=done]")).to_be_attached()
        expect(tab.locator("#head .chip")).to_have_text("done")


def test_steps_that_wait_for_each_other_come_back_with_the_reason_and_are_carried_out_when_mended(site: Site):
    with site.context() as context, watched(context.new_page(), site.url, ("422",)) as page:
        page.goto(f"{site.url}/executions/new")
        area = page.get_by_label("The steps, as JSON")
        written = area.input_value().replace('"name": "Load instructions",', '"name": "Load", "dependsOn": [1],')
        area.fill(written)
        page.get_by_role("button", name="Carry it out").click()
        expect(page.get_by_role("alert")).to_contain_text("wait for each other")
        expect(area).to_have_value(written)
        area.fill(written.replace(', "dependsOn": [1],', ","))
        page.get_by_role("button", name="Carry it out").click()
        expect(page.locator("#steps tr")).to_have_count(2)
        expect(page.locator("body[data-turn=done]")).to_be_attached()


def test_many_steps_are_drawn_only_when_asked_for(site: Site, tab: Page):
    many = MOST_STEPS
    steps = [step(0, "first", load()), *(step(at, f"step {at}", FAILING, at - 1) for at in range(1, many))]
    made = executed(site, *steps)
    tab.goto(f"{site.url}/executions/{made['executionId']}")
    expect(tab.locator("#steps tr")).to_have_count(many)
    expect(tab.locator(".graph")).to_have_count(0)
    assert tab.evaluate("document.querySelectorAll('*').length") < 20 * many
    if NIGHTLY:
        assert tab.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") < 1000
    tab.get_by_role("link", name="Draw all 200 steps").click()
    expect(tab.locator(".graph .node")).to_have_count(many)


def test_a_replay_is_asked_for_from_a_turn_and_shows_what_came_out_otherwise(site: Site, tab: Page):
    _, made = experiment(site, status="draft")
    conversation = site.talk("¿Is it open?", agent=made.agent_id)
    tab.goto(f"{site.url}/conversations/{conversation}")
    tab.get_by_role("link", name="Replay with…").click()
    for group in ("Who answers", "What is replayed"):
        expect(tab.get_by_role("group", name=group).get_by_role("radio", checked=True)).to_have_count(1)
    tab.locator("select[name=instruction]").select_option(made.family_id)
    tab.get_by_label("in the version").fill("1.0.0")
    tab.get_by_role("button", name="Replay them").click()
    expect(tab.locator("body[data-turn=done]")).to_be_attached()
    replay_id = tab.url.rsplit("/", 1)[1]
    told = site.api("GET", f"/api/replays/{replay_id}")
    sums = [told["summary"][name] for name in ("same", "changed", "ruleBreaks", "diverged", "failed")]
    assert list(map(number, tab.locator("[data-sum]").all_text_contents())) == sums
    for one in told["comparison"]:
        cells = tab.locator(f"tr[data-metric='{one['metric']}'] td").all_text_contents()
        assert all(map(close, cells[:3], (one["before"], one["after"], one["difference"])))
    tab.locator("[data-item]").first.click()
    calls = told["items"][0]["calls"]
    expect(tab.locator(".call")).to_have_count(len(calls))
    for place, call in enumerate(calls):
        shown = tab.locator(".call").nth(place).locator(".seg .text").all_text_contents()
        assert shown == [part["text"] for part in call["contextDiff"]]
    assert any("friendly" in part["text"] for call in calls for part in call["contextDiff"])
    assert findings(tab) == []


def test_a_replayed_answer_is_shown_beside_the_one_of_then(site: Site, tab: Page):
    _, made = experiment(site, status="draft")
    site.talk("¿Is it open?", agent=made.agent_id)
    site.provider.instead = "Understood, and not done.\nCome back later."
    try:
        told = replayed(site, filter={"agentId": made.agent_id}, replies="live")
    finally:
        site.provider.instead = None
    [item] = told["items"]
    tab.goto(f"{site.url}/replays/{told['replayId']}/items/0")
    [answer] = [place for place, call in enumerate(item["calls"]) if call["purpose"] == "answer"]
    shown = tab.locator(".call").nth(answer)
    left = [text for text in shown.locator("td.l").all_text_contents() if text]
    right = [text for text in shown.locator("td.r").all_text_contents() if text]
    assert (left, right) == (item["answerDiff"]["removed"], item["answerDiff"]["added"])
    expect(shown.locator("ins").first).to_have_text("not ")
    expect(tab.get_by_text("changed", exact=True)).to_be_visible()
