"""What pages say when something did not work, in the language of whoever looks."""

# ruff: noqa: RUF001 - these letters are meant

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pydantic import TypeAdapter, ValidationError

from preceptor.domain.errors import Conflict, NotFound, PreceptorError, Refused, phrased
from preceptor.domain.executions.graph import CyclicSteps
from preceptor.domain.instructions.assignment import NewAssignment
from preceptor.domain.instructions.content import Misfit, checked
from preceptor.domain.instructions.instruction import Variable
from preceptor.domain.instructions.template import BadVariable
from preceptor.domain.value import Value
from preceptor.surfaces.web.failing_words import ADVICE, BY_CODE, BY_KIND, COMPLAINTS, NOT_HERE, TYPES
from preceptor.surfaces.web.languages import SPEAKERS, catalogue
from preceptor.surfaces.web.sentences import coded, facts_of, failure, faults_in, words_of
from tests.web.browsing import Site, complains, watched
from tests.web.library import make

MET_ON_PAGES = {
    "budget_exceeded",
    "compression_failed",
    "cyclic_reference",
    "cyclic_steps",
    "disk_full",
    "experiment_running",
    "forbidden",
    "gate_closed",
    "guard_unavailable",
    "instruction_in_use",
    "insufficient_history",
    "invalid_history_size",
    "invalid_token_limit",
    "payload_too_large",
    "precondition_failed",
    "rate_limited",
    "shutting_down",
    "storage_unavailable",
    "token_budget_exceeded",
    "turn_in_progress",
    "unauthenticated",
    "undeclared_variable",
    "unknown_document",
    "upstream_failed",
    "upstream_timeout",
}
"""With words of their own. `not_found` has them by the kind of thing, `invalid` and `conflict` by the sentence."""
KINDS = ("agent", "conversation", "experiment", "execution", "instruction", "message", "replay", "template", "version")
BLANKS = re.compile(r"%\((\w+)\)s")


def spoken(site: Site, language: str) -> dict[str, Any]:
    return {"cookies": [*site.cookies, {"name": "preceptor_language", "value": language, "url": site.url}]}


@pytest.mark.parametrize("language", ["ru", "vi"])
def test_every_code_that_people_meet_has_words_in_every_language(language: str):
    known = catalogue(language)
    assert {kind.code for kind in BY_KIND} >= MET_ON_PAGES
    assert set(KINDS) <= set(NOT_HERE)
    for words in (*BY_KIND.values(), *NOT_HERE.values(), *BY_CODE.values(), *ADVICE.values(), *COMPLAINTS.values()):
        assert words in known


def test_the_words_of_a_failure_name_facts_that_it_has():
    for kind, words in BY_KIND.items():
        error = kind(**{name: (1, 2) if name in {"steps", "agents", "names", "declared"} else 1 for name in kind.facts})
        if kind.__name__ != "CannotMove":
            assert set(BLANKS.findall(words)) <= set(facts_of(error)), kind
            assert words_of(error) == words, kind


def test_complaints_that_say_the_same_have_one_sentence():
    assert set(TYPES.values()) <= set(COMPLAINTS)


@pytest.mark.parametrize("language", SPEAKERS)
def test_a_turn_that_failed_says_what_to_do(site: Site, language: str):
    site.api("POST", "/api/agents", json={"agentId": f"poor-{language}", "name": "Poor", "budget": {"tokens": 5}})
    path = f"/conversations/{site.talk(agent=f'poor-{language}')}"
    with site.served.client() as client:
        refused = client.post(f"/api{path}/messages", json={"content": "¿Is it open?"})
    assert refused.json()["detail"].endswith("or ask for less.")
    with site.tab(**spoken(site, language)) as page:
        page.goto(f"{site.url}{path}")
        expect(page.locator(".foot .notice.bad")).to_contain_text(SPEAKERS[language].say(ADVICE["budget_exceeded"]))


@pytest.mark.parametrize(
    ("error", "russian"),
    [
        (NotFound("agent", "ada"), "Здесь нет агента «ada». Проверьте адрес или посмотрите в списке."),
        (Refused("agent:write"), "Вам этого нельзя: нужно право agent:write. Попросите его у администратора."),
        (CyclicSteps(steps=(1, 2)), "Эти шаги ждут друг друга: 1 → 2 → 1. Уберите один из них из dependsOn другого."),
        (CyclicSteps(steps=(3,)), "Шаг 3 зависит от самого себя. Уберите его из собственного dependsOn."),
        (NotFound("webhook", "w"), "There is no webhook 'w' here. Check the id, or list what there is."),
        (Conflict("Only in English."), "Only in English."),
    ],
)
def test_a_failure_is_said_with_its_facts_and_in_english_where_it_has_no_words(error: PreceptorError, russian: str):
    assert failure(SPEAKERS["ru"], error) == russian


@pytest.mark.parametrize(
    ("kind", "given", "russian"),
    [
        (Variable, {"name": "day", "type": "enum"}, "Варианты перечисляет enum и только он."),
        (Variable, {"name": "day", "maxLength": 0}, "maxLength: Должно быть не меньше 1."),
        (NewAssignment, {"instructionId": "i", "pin": "^x"}, "Следует за: За «^x» нельзя следовать."),
    ],
)
def test_what_our_own_checks_say_of_a_field_is_said_in_russian(kind: type[Value], given: Any, russian: str):
    with pytest.raises(Misfit) as caught:
        checked(kind, given)
    assert russian.lower() in failure(SPEAKERS["ru"], caught.value).lower()


def test_a_variable_of_another_type_is_told_what_it_must_be():
    error = BadVariable(name="day", wanted=phrased("at most %(most)s characters of text", most=1000))
    assert failure(SPEAKERS["vi"], error) == "Biến “day” phải là văn bản không quá 1.000 ký tự."
    assert failure(SPEAKERS["ru"], Conflict()).startswith("Что-то с таким именем уже есть.")


def test_someone_who_is_signed_in_is_told_nothing_of_keys():
    assert "key" not in failure(SPEAKERS["en"], Refused("agent:write"))


def test_a_sentence_with_facts_reads_the_same_to_the_api():
    told = phrased("There are %(count)s of '%(name)s'.", count=3, name="it")
    assert str(Conflict(told)) == "There are 3 of 'it'."


def test_a_code_on_the_record_is_explained_beside_its_english_sentence():
    assert coded(SPEAKERS["ru"], "upstream_timeout") == "Модель не ответила вовремя."
    assert coded(SPEAKERS["en"], "upstream_timeout") == ""
    assert coded(SPEAKERS["ru"], "unheard_of") == ""


def test_a_complaint_of_a_validator_is_said_in_words_and_with_its_limit():
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(int).validate_python("many")
    wrong = faults_in(caught.value)[""]
    assert failure(SPEAKERS["vi"], wrong) == "Phải là số nguyên."


@pytest.mark.parametrize(
    ("path", "russian"),
    [
        ("/agents/nobody", "Здесь нет агента «nobody»."),
        ("/conversations/nothing", "Здесь нет разговора «nothing»."),
        ("/instructions/nothing", "Здесь нет инструкции «nothing»."),
        ("/experiments/nothing", "Здесь нет эксперимента «nothing»."),
        ("/executions/nothing", "Здесь нет выполнения «nothing»."),
        ("/replays/nothing", "Здесь нет повтора «nothing»."),
        ("/templates/nothing/use", "Здесь нет шаблона «nothing»."),
    ],
)
def test_a_russian_page_says_in_russian_what_is_not_there(site: Site, path: str, russian: str):
    with site.context(**spoken(site, "ru")) as context, watched(context.new_page(), site.url, ("404",)) as page:
        page.goto(site.url + path)
        expect(page.locator("main")).to_contain_text(russian)


def test_who_may_not_is_told_so_in_their_language_and_the_api_stays_english(site: Site):
    mine = make(site)
    site.api("POST", "/api/users", json={"userId": "olga", "name": "Olga", "role": "viewer"})
    cookies = [*site.cookies_of("olga"), {"name": "preceptor_language", "value": "ru", "url": site.url}]
    with site.context(cookies=cookies) as context, watched(context.new_page(), site.url, ("403",)) as page:
        page.goto(f"{site.url}/instructions/{mine.family_id}")
        expect(page.locator("main")).to_contain_text("нужно право instruction:read")
    with site.served.client() as client:
        answer = client.get("/api/agents/nobody", headers={"Cookie": "preceptor_language=ru"})
        assert answer.json()["detail"] == "There is no agent 'nobody' here. Check the id, or list what there is."


def fields_of(page: Page, **values: str) -> None:
    for name, value in values.items():
        page.locator(f"#profile [name='{name.replace('_', '.')}']").fill(value)


def test_complaints_at_fields_and_a_change_of_someone_else_are_said_in_russian(site: Site):
    mine = make(site)
    with site.context(**spoken(site, "ru")) as context, watched(context.new_page(), site.url, ("412", "422")) as page:
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        page.locator("#profile summary").nth(0).click()
        page.locator("#profile summary").nth(1).click()
        fields_of(page, parameters_temperature="9", parameters_maxHistorySize="", budget_tokens="много")
        page.locator("#profile button").click()
        expect(page.locator(".fault")).to_have_text(["Должно быть не больше 2.", "Нужно целое число."])
        fields_of(page, parameters_temperature="", budget_tokens="", name="Моё")
        site.api("PATCH", f"/api/agents/{mine.agent_id}", json={"role": "other"})
        page.locator("#profile button").click()
        expect(page.get_by_role("alert")).to_contain_text("С тех пор, как вы это прочитали, оно изменилось.")


def test_what_is_wrong_with_an_execution_is_said_in_vietnamese(site: Site):
    with site.context(**spoken(site, "vi")) as context, watched(context.new_page(), site.url, ("400", "422")) as page:
        page.goto(f"{site.url}/executions/new")
        page.locator("textarea[name='asked']").fill('{"type": ')
        page.locator("main form button").last.click()
        expect(page.get_by_role("alert")).to_contain_text("Không đọc được JSON tại dòng 1")


def test_a_sentence_that_only_one_place_says_is_said_with_its_facts_in_russian(site: Site):
    mine = make(site)
    with site.context(**spoken(site, "ru")) as context, watched(context.new_page(), site.url, ("409", "422")) as page:
        page.goto(f"{site.url}/agents")
        page.locator("[name='name']").fill("Вторая")
        page.locator("[name='agentId']").fill(mine.agent_id)
        page.locator("main form button").last.click()
        complains(page.locator("[name='agentId']"), f"Агент '{mine.agent_id}' уже есть.")
        page.goto(f"{site.url}/agents/{mine.agent_id}")
        page.get_by_label("Запасная модель 1").fill("nobody:such")
        page.get_by_label("Он переспрашивает").fill("Unheard of")
        page.locator("#answering button").click()
        expect(page.locator(".fault").first).to_contain_text("'nobody:such' — не имя модели.")
        expect(page.locator(".fault").last).to_contain_text("Нет инструкции 'Unheard of'")
