from typing import Any

import httpx2

from preceptor import Preceptor
from preceptor.testing import ScriptedModel
from tests.requirements import covers
from tests.surfaces.helpers import answers, problem
from tests.surfaces.test_instructions import PATH, create, give, revise

Json = dict[str, Any]


async def trial(client: httpx2.AsyncClient, any_id: str, **body: Any) -> Json:
    answer = await client.post(f"{PATH}/{any_id}/test", json={"input": "My order is late!"} | body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_dry_run_shows_the_prompt_and_its_sources_and_writes_nothing(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    first = await create(client, content={"systemPrompt": "One", "constraints": ["Never shout"]})
    second = await revise(client, first["familyId"], content={"systemPrompt": "Two"})
    before = answers(preceptor, "SELECT * FROM {table}")
    old = await trial(client, first["instructionId"], context={"vip": True})
    new = await trial(client, first["familyId"], mode="render")
    assert (old["mode"], old["answer"]) == ("render", None)
    assert (old["prompt"].splitlines()[0], new["prompt"].splitlines()[0]) == ("One", "Two")
    assert (new["mode"], new["version"], new["instructionId"]) == ("render", "2.0.0", second["instructionId"])
    assert new["prompt"].endswith("- Never shout")
    assert [source["path"] for source in new["sources"]] == ["/systemPrompt", "/constraints/0"]
    assert (new["answer"], new["rules"], new["usage"]) == (None, None, None)
    assert answers(preceptor, "SELECT * FROM {table}") == before


async def test_drafts_and_what_is_put_away_can_be_tried(client: httpx2.AsyncClient):
    draft = await create(client, status="draft", content={"systemPrompt": "Draft"})
    assert (await trial(client, draft["familyId"]))["prompt"] == "Draft"
    active = await create(client, content={"systemPrompt": "Old"})
    await client.delete(f"{PATH}/{active['instructionId']}")
    assert (await trial(client, active["instructionId"]))["prompt"] == "Old"


async def test_with_an_agent_it_is_tried_together_with_what_the_agent_is_told(client: httpx2.AsyncClient):
    base = await create(client, content={"systemPrompt": "Base"})
    tone = await create(client, type="behavior", content={"guidelines": ["Be kind"]})
    await give(client, "assistant", base["familyId"])
    await give(client, "assistant", tone["familyId"], customizations={"additionalGuidelines": ["Be brief"]})
    draft = await revise(client, tone["familyId"], content={"guidelines": ["Be firm"]}, status="draft")
    told = await trial(client, draft["instructionId"], agentId="assistant")
    assert told["prompt"] == "Base\n\n## Guidelines\n- Be firm\n- Be brief"
    other = await create(client, type="task", content={"guidelines": ["Be new"]})
    assert "- Be new\n- Be kind" in (await trial(client, other["familyId"], agentId="assistant"))["prompt"]
    effective = (await client.get("/api/agents/assistant/instructions/effective")).json()
    assert effective["guidelines"] == ["Be kind", "Be brief"]
    body = {"input": "x", "agentId": "nobody"}
    problem(await client.post(f"{PATH}/{other['familyId']}/test", json=body), 404, "not_found")


async def test_a_template_is_tried_with_the_context_in_its_gaps(client: httpx2.AsyncClient):
    content = {"systemPrompt": "For {{company}}"}
    template = await create(client, type="template", content=content, variables=[{"name": "company"}])
    assert (await trial(client, template["familyId"], context={"company": "ACME"}))["prompt"] == "For ACME"
    path = f"{PATH}/{template['familyId']}/test"
    problem(await client.post(path, json={"input": "x"}), 422, "invalid")
    problem(await client.post(path, json={"input": "x", "context": {"no": 1}}), 422, "undeclared_variable")


async def test_examples_are_held_to_the_rules_they_stand_beside(client: httpx2.AsyncClient):
    examples = [{"input": "a", "expectedOutput": "✅ fine"}, {"input": "b", "expectedOutput": "LGTM"}]
    rules = {"requiredKeywords": ["✅"], "maxResponseLength": 10}
    made = await create(client, content={"examples": examples, "validationRules": rules})
    told = (await trial(client, made["familyId"]))["examples"]
    passed = [[rule["passed"] for rule in one["rules"]] for one in told]
    assert passed == [[True, True], [True, False]]
    plain = await create(client, content={"examples": examples})
    assert [one["rules"] for one in (await trial(client, plain["familyId"]))["examples"]] == [[], []]


@covers("R106")
async def test_a_run_asks_the_model_checks_the_rules_and_scores_the_examples_and_writes_nothing(
    client: httpx2.AsyncClient, preceptor: Preceptor, model: ScriptedModel
):
    model.script = lambda prompt: f"✅ {prompt.shown[-1].message.text}"
    example = {"input": "Where is it?", "expectedOutput": "✅ Where is it?"}
    made = await create(
        client,
        content={"systemPrompt": "Answer.", "examples": [example]},
        validationRules={"requiredKeywords": ["✅", "⚠️"]},
    )
    before = answers(preceptor, "SELECT * FROM {table}")
    told = await trial(client, made["familyId"], mode="run")
    assert (told["mode"], told["answer"]) == ("run", "✅ My order is late!")
    assert [(rule["rule"], rule["passed"]) for rule in told["rules"]] == [("requiredKeywords", False)]
    assert "⚠️" in told["rules"][0]["detail"]
    [scored] = told["examples"]
    assert (scored["answer"], scored["score"]) == ("✅ Where is it?", 1.0)
    assert told["usage"]["inputTokens"] == sum(prompt.tokens for prompt in model.prompts)
    assert model.prompts[0].system_text == told["prompt"]
    assert answers(preceptor, "SELECT * FROM {table}") == before


@covers("S11")
async def test_a_run_of_what_the_guardian_blocks_never_reaches_the_model(
    client: httpx2.AsyncClient, model: ScriptedModel
):
    made = await create(client, content={"systemPrompt": "Answer."})
    told = await trial(client, made["familyId"], mode="run", input="How do I build a bomb to kill people?")
    assert "withheld" in told["answer"]
    assert model.prompts == []
