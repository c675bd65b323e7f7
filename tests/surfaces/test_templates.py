from typing import Any

import httpx2
import pytest

from preceptor import Preceptor
from preceptor.domain.instructions.shipped import SHIPPED
from tests.requirements import covers
from tests.surfaces.helpers import problem, rows
from tests.surfaces.test_instructions import PATH, create, listed, read, revise

Json = dict[str, Any]
TEMPLATES = f"{PATH}/templates"
GREETING: Json = {
    "name": "Greeting",
    "type": "template",
    "category": "support",
    "content": {"systemPrompt": "Greet for {{company}} in {{mood}} mood.", "language": "en"},
    "variables": [
        {"name": "company"},
        {"name": "mood", "type": "enum", "options": ["good", "best"], "default": "good", "required": False},
    ],
    "validationRules": {"maxResponseLength": 100},
    "tags": ["hello"],
}


async def fill(client: httpx2.AsyncClient, template_id: str, **body: Any) -> httpx2.Response:
    return await client.post(f"{PATH}/from-template/{template_id}", json=body)


@covers("R112")
async def test_templates_are_listed_by_role_and_category_ours_before_yours(client: httpx2.AsyncClient):
    own = await create(client, **GREETING, targetRole="analyst")
    await create(client, **GREETING | {"status": "draft"})
    await create(client, category="support", targetRole="analyst")
    everything = await listed(client, TEMPLATES, limit=200)
    assert [one["templateId"] for one in everything] == [*sorted(SHIPPED), own["instructionId"]]
    assert [one["isBuiltIn"] for one in everything] == [True] * len(SHIPPED) + [False]
    named = [(one["familyId"], one["instructionId"]) for one in everything[-2:]]
    assert named == [(None, None), (own["familyId"], own["instructionId"])]
    mine = await listed(client, TEMPLATES, role="analyst", category="support")
    assert [one["templateId"] for one in mine] == [own["instructionId"]]
    coding = await listed(client, TEMPLATES, category="coding", role="reviewer")
    assert {(one["category"], one["targetRole"]) for one in coding} == {("coding", "reviewer")}
    assert await listed(client, TEMPLATES, category="no-such") == []


async def test_pages_of_templates_show_each_once(client: httpx2.AsyncClient):
    own = [(await create(client, **GREETING))["instructionId"] for _ in range(3)]
    for size in (1, 5, len(SHIPPED), len(SHIPPED) + 1):
        seen: list[str] = []
        cursor: str | None = None
        while cursor is not None or not seen:
            answer = await client.get(TEMPLATES, params={"limit": size} | ({"cursor": cursor} if cursor else {}))
            seen += [one["templateId"] for one in answer.json()["items"]]
            cursor = answer.json()["nextCursor"]
        assert seen == [*sorted(SHIPPED), *own[::-1]]


@covers("R113")
async def test_an_instruction_from_a_template_is_filled_in_and_remembers_it(client: httpx2.AsyncClient):
    template = await create(client, **GREETING)
    hostile = "ACME {{mood}} {% if %} \\1 $0"
    answer = await fill(
        client, template["familyId"], name="Mine", customizations={"company": hostile, "language": "vi"}
    )
    made = answer.json()
    assert answer.status_code == 201, answer.text
    assert made["content"]["systemPrompt"] == f"Greet for {hostile} in good mood."
    assert (made["content"]["language"], made["type"], made["name"]) == ("vi", "system", "Mine")
    assert (made["category"], made["tags"], made["variables"]) == ("support", ["hello"], [])
    assert made["validationRules"]["maxResponseLength"] == 100
    assert made["createdFromTemplate"] == f"{template['instructionId']}@1.0.0"
    newer = await revise(client, template["familyId"], content={"guidelines": ["Smile"]})
    again = (await fill(client, template["familyId"], type="behavior", customizations={"company": "B"})).json()
    assert (again["name"], again["type"]) == ("Greeting", "behavior")
    assert again["createdFromTemplate"] == f"{newer['instructionId']}@1.1.0"
    assert (await read(client, made["familyId"])) == made


BAD: dict[str, tuple[Json, str]] = {
    "a variable that is missing": ({}, "invalid"),
    "a variable that no one declared": ({"company": "A", "owner": "B"}, "undeclared_variable"),
    "a field of content that cannot be set": ({"company": "A", "systemPrompt": "B"}, "undeclared_variable"),
    "a value of another type": ({"company": 1}, "invalid"),
    "a value that is no option": ({"company": "A", "mood": "bad"}, "invalid"),
    "a value that is too long": ({"company": "A" * 1001}, "invalid"),
    "a language that is none": ({"company": "A", "language": "x\ny"}, "invalid"),
}


@covers("R113")
@pytest.mark.parametrize(("values", "code"), BAD.values(), ids=BAD)
async def test_what_does_not_fit_a_template_is_refused(
    client: httpx2.AsyncClient, preceptor: Preceptor, values: Json, code: str
):
    template = await create(client, **GREETING)
    before = rows(preceptor)
    problem(await fill(client, template["familyId"], customizations=values), 422, code)
    assert rows(preceptor) == before


UNSOUND: dict[str, Json] = {
    "an undeclared placeholder": {"content": {"systemPrompt": "{{who}}"}},
    "a placeholder with spaces": {"content": {"systemPrompt": "{{ company }}"}},
    "logic": {"content": {"guidelines": ["{% if company %}"]}},
    "a placeholder in the rules": {"validationRules": {"requiredKeywords": ["{{company}}"]}},
}


@covers("R113")
@pytest.mark.parametrize("change", UNSOUND.values(), ids=UNSOUND)
async def test_a_template_with_a_placeholder_that_is_none_is_not_saved(client: httpx2.AsyncClient, change: Json):
    problem(await client.post(PATH, json=GREETING | change), 422, "undeclared_variable")
    made = await create(client, **GREETING)
    problem(await client.put(f"{PATH}/{made['familyId']}", json=change), 422, "undeclared_variable")


@covers("R113")
async def test_only_templates_are_filled_in(client: httpx2.AsyncClient):
    plain = await create(client)
    problem(await fill(client, "no-such-template"), 404, "not_found")
    problem(await fill(client, plain["familyId"]), 404, "not_found")
    problem(await fill(client, plain["familyId"], type="template"), 422, "invalid")


@covers("R112", "R126")
async def test_the_templates_that_come_with_the_software_can_be_filled_in_and_not_changed(client: httpx2.AsyncClient):
    for template in await listed(client, TEMPLATES, limit=200):
        gaps = [one for one in template["variables"] if one["required"] and one["default"] is None]
        needed = {one["name"]: f"<{one['name']}>" for one in gaps}
        made = await fill(client, template["templateId"], customizations=needed)
        assert made.status_code == 201, made.text
        assert made.json()["createdFromTemplate"] == f"{template['templateId']}@{template['version']}"
        assert "{{" not in str(made.json()["content"])
    known = next(iter(SHIPPED))
    problem(await client.put(f"{PATH}/{known}", json={"name": "x"}), 404, "not_found")
    problem(await client.delete(f"{PATH}/{known}"), 404, "not_found")
