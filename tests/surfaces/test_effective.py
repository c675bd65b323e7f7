import asyncio
import hashlib
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.domain.ids import AgentId
from preceptor.engine.repositories.work import Work
from preceptor.engine.telling import compiled as compiling
from preceptor.engine.telling.compiled import Compiled
from preceptor.engine.telling.effective import effective_now
from tests.conftest import client_of
from tests.requirements import covers
from tests.surfaces.helpers import new_org, problem
from tests.surfaces.test_assignments import PATH, assigned, instruction, revised, told

Json = dict[str, Any]
ASSISTANT = AgentId("assistant")


def pointed_at(document: Json, pointer: str) -> Any:
    _, name, *place = pointer.split("/")
    return document[name][int(place[0])] if place else document[name]


@covers("R111", "R118")
async def test_the_whole_answer_has_the_documented_shape(client: httpx2.AsyncClient):
    await assigned(client, (await instruction(client))["familyId"])
    effective = await told(client)
    assert set(effective) == {
        *("agentId", "systemPrompt", "guidelines", "constraints", "suggestions", "tone", "language", "formality"),
        *("doList", "dontList", "examples", "steps", "validationRules", "sources", "overridden", "conflicts"),
        *("warnings", "prompt", "hash"),
    } | (set(effective) & {"documents"})
    assert effective["hash"] == hashlib.sha256(effective["prompt"].encode()).hexdigest()
    assert effective["constraints"] == ["Stay polite", "Never share passwords"]


@covers("R111")
async def test_every_source_points_at_what_its_version_says(client: httpx2.AsyncClient):
    content = {
        "systemPrompt": "You are kind.",
        "guidelines": ["One", "Two"],
        "constraints": ["Stay polite"],
        "tone": "calm",
        "doList": ["Smile"],
        "dontList": ["Frown"],
        "suggestions": ["Perhaps"],
    }
    made = await instruction(client, content)
    one = await assigned(client, made["familyId"], customizations={"additionalGuidelines": ["Three"]})
    effective = await told(client)
    assert effective["sources"]
    for source in effective["sources"]:
        origin = one["customizations"] if source["field"] == "additionalGuidelines" else made["content"]
        said = origin[source["field"]]
        assert pointed_at(effective, source["path"]) == (said if source["index"] is None else said[source["index"]])
        assert (source["instructionId"], source["version"]) == (made["instructionId"], "1.0.0")
        assert source["assignment"] == one["assignmentId"]
    assert {source["path"] for source in effective["sources"]} >= {"/systemPrompt", "/guidelines/2", "/tone"}


async def test_the_prompt_alone_is_plain_text(client: httpx2.AsyncClient):
    await assigned(client, (await instruction(client, {"systemPrompt": "Xin chào ✅"}))["familyId"])
    plain = await client.get(f"{PATH}/effective?format=prompt")
    assert plain.headers["content-type"] == "text/plain; charset=utf-8"
    assert plain.text == "Xin chào ✅" == (await told(client))["prompt"]
    assert (await client.get(f"{PATH}/effective?format=json")).json() == await told(client)
    problem(await client.get(f"{PATH}/effective?format=xml"), 422, "invalid")


async def test_an_agent_without_instructions_is_told_nothing_and_one_that_is_not_there_is_not_found(
    client: httpx2.AsyncClient,
):
    effective = await told(client)
    assert (effective["systemPrompt"], effective["prompt"], effective["sources"]) == (None, "", [])
    problem(await client.get("/api/agents/nobody/instructions/effective"), 404, "not_found")
    problem(await client.get("/api/agents/nobody/instructions/effective?at=2020-01-01T00:00:00Z"), 404, "not_found")


@covers("R119")
async def test_only_active_assignments_speak_in_the_order_of_their_priority(client: httpx2.AsyncClient):
    made = [await instruction(client, {"guidelines": [name]}) for name in ("late", "early", "off")]
    for one, priority in zip(made, (20, 10, 1), strict=True):
        await assigned(client, one["familyId"], priority=priority, isActive=priority > 1)
    assert (await told(client))["guidelines"] == ["early", "late"]
    await client.put(f"{PATH}/{made[2]['familyId']}", json={"isActive": True})
    await client.put(f"{PATH}/{made[1]['familyId']}", json={"priority": 30})
    assert (await told(client))["guidelines"] == ["off", "late", "early"]


async def test_the_linter_speaks_among_the_warnings(client: httpx2.AsyncClient):
    first = {"doList": ["Use emoji"], "guidelines": ["Be brief."]}
    await assigned(client, (await instruction(client, first))["familyId"])
    second = {"dontList": ["use emoji"], "guidelines": ["be brief", "Be brief."]}
    await assigned(client, (await instruction(client, second, type="task"))["familyId"])
    effective = await told(client)
    assert [conflict["code"] for conflict in effective["conflicts"]] == ["contradiction"]
    codes = {(warning["code"], warning["path"]) for warning in effective["warnings"]}
    assert codes == {("duplicate", "/guidelines/0"), ("duplicate", "/guidelines/1"), ("contradiction", "/doList/0")}


async def test_what_was_told_at_a_moment_in_the_past_is_known(client: httpx2.AsyncClient):
    made = await instruction(client, {"guidelines": ["one"]})
    label = f"/api/instructions/{made['familyId']}/labels/production"
    moments: list[tuple[str, list[str]]] = []

    async def remember() -> None:
        effective = await told(client)
        moments.append((await mark(client), effective["guidelines"]))

    await remember()
    one = await assigned(client, made["familyId"])
    await remember()
    second = await revised(client, made["familyId"], content={"guidelines": ["two"]})
    await remember()
    await client.put(label, json={"instructionId": made["instructionId"]})
    await client.put(f"{PATH}/{made['familyId']}", json={"pin": "label:production"})
    await remember()
    await client.put(label, json={"instructionId": second["instructionId"]})
    await remember()
    await client.post(f"/api/instructions/{second['instructionId']}/status", json={"status": "deprecated"})
    await client.put(f"{PATH}/{made['familyId']}", json={"isActive": False})
    await remember()
    await client.put(f"{PATH}/{made['familyId']}", json={"isActive": True, "pin": "latest"})
    await remember()
    await client.delete(f"{PATH}/{made['familyId']}")
    await remember()
    assert [guidelines for _, guidelines in moments] == [[], ["one"], ["two"], ["one"], ["two"], [], ["one"], []]
    for moment, guidelines in moments:
        past = (await client.get(f"{PATH}/effective?at={moment}")).json()
        assert past["guidelines"] == guidelines, moment
    assert one["appliedAt"] > moments[0][0]


async def mark(client: httpx2.AsyncClient) -> str:
    """A moment on the database's clock: that of a change which has nothing to do with instructions."""
    made = await client.post("/api/agents", json={"name": "clock"})
    return made.json()["createdAt"]


async def test_the_future_is_not_known_and_a_moment_is_written_in_one_way(client: httpx2.AsyncClient):
    problem(await client.get(f"{PATH}/effective?at=2999-01-01T00:00:00Z"), 422, "invalid")
    for written in ("yesterday", "2020-01-01", "1577836800", "2020-01-01T00:00:00", ""):
        problem(await client.get(f"{PATH}/effective", params={"at": written}), 422, "invalid")
    for written in ("2020-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "2020-01-01T07:00:00+07:00"):
        past = await client.get(f"{PATH}/effective", params={"at": written})
        assert (past.status_code, past.json()["prompt"]) == (200, "")


async def compiled(preceptor: Preceptor, agent_id: AgentId = ASSISTANT) -> Compiled:
    async def program(work: Work) -> Compiled:
        return await effective_now(work, preceptor.session.compilations, agent_id)

    return await preceptor.session.read(program)


@covers("L5")
async def test_what_did_not_change_is_not_worked_out_again(client: httpx2.AsyncClient, preceptor: Preceptor):
    made = await instruction(client)
    one = await assigned(client, made["familyId"])
    first = await compiled(preceptor)
    assert await compiled(preceptor) is first
    [spoken] = first.told.vector
    assert spoken == (made["familyId"], made["instructionId"], "1.0.0", one["assignmentId"])
    await client.post("/api/agents", json={"name": "someone else"})
    second = await compiled(preceptor)
    assert second.counter > first.counter
    assert second.told.effective is first.told.effective
    await client.put(f"{PATH}/{made['familyId']}", json={"priority": 5})
    assert (await compiled(preceptor)).told.effective is not first.told.effective


async def test_what_is_kept_is_kept_for_a_number_of_agents_only(
    client: httpx2.AsyncClient, preceptor: Preceptor, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(compiling, "MOST_AGENTS", 10)
    monkeypatch.setattr(compiling, "MOST_VERSIONS", 10)
    kept = preceptor.session.compilations
    for number in range(25):
        made = await instruction(client, {"tone": str(number)})
        body = {"agentId": f"a{number}", "name": "x", "instructions": {"systemInstructionId": made["familyId"]}}
        assert (await client.post("/api/agents", json=body)).status_code == 201
        assert (await compiled(preceptor, AgentId(f"a{number}"))).told.effective.tone == str(number)
    assert (len(kept.results) <= 10, len(kept.versions) <= 10) == (True, True)
    assert [(await compiled(preceptor, AgentId(f"a{number}"))).told.effective.tone for number in range(25)] == [
        str(number) for number in range(25)
    ]


async def test_two_organisations_with_agents_of_the_same_name_never_share_a_word(client: httpx2.AsyncClient):
    rival = await new_org(client, "rivals")
    await client.post("/api/agents", json={"agentId": "assistant", "name": "Theirs"}, headers=rival)
    body = {"name": "Secret", "type": "system", "content": {"guidelines": ["Their secret"]}}
    theirs = (await client.post("/api/instructions", json=body, headers=rival)).json()
    await client.post(PATH, json={"instructionId": theirs["familyId"]}, headers=rival)
    await assigned(client, (await instruction(client))["familyId"])
    for _ in range(2):
        assert (await told(client))["guidelines"] == ["Be brief"]
        assert (await client.get(f"{PATH}/effective", headers=rival)).json()["guidelines"] == ["Their secret"]


PUBLISHES = 50


@covers("F17")
async def test_a_moved_label_is_what_the_next_call_sees_here_and_in_another_process(
    client: httpx2.AsyncClient, settings: Settings
):
    """On SQLite one process holds the file, so there the second one is of PostgreSQL only."""
    made = await instruction(client, {"guidelines": ["0"]})
    family = made["familyId"]
    others = [await revised(client, family, content={"guidelines": [line]}) for line in ("1", "2")]
    ids = [one["instructionId"] for one in (made, *others)]
    label = f"/api/instructions/{family}/labels/production"
    await client.put(label, json={"instructionId": ids[0]})
    await assigned(client, family, pin="label:production")
    if settings.database.startswith("sqlite"):
        await follow(client, client, label, ids)
        return
    async with open_preceptor(settings) as other, client_of(other) as elsewhere:
        await follow(client, elsewhere, label, ids)


async def follow(here: httpx2.AsyncClient, elsewhere: httpx2.AsyncClient, label: str, ids: list[str]) -> None:
    for number in range(PUBLISHES):
        moved = await here.put(label, json={"instructionId": ids[number % 3]})
        assert moved.status_code == 200
        assert (await told(here))["guidelines"] == (await told(elsewhere))["guidelines"] == [str(number % 3)]
    assert (await here.delete(label)).status_code == 204
    for client in (here, elsewhere):
        effective = await told(client)
        assert (effective["guidelines"], [one["code"] for one in effective["warnings"]]) == ([], ["unresolved"])


async def test_every_kind_of_change_is_seen_by_the_next_call(client: httpx2.AsyncClient, preceptor: Preceptor):
    made = await instruction(client, {"guidelines": ["one"]})
    family, path = made["familyId"], f"{PATH}/{made['familyId']}"
    seen = [(await told(client))["guidelines"]]
    steps: tuple[tuple[str, str, Json | None], ...] = (
        ("POST", PATH, {"instructionId": family}),
        ("PUT", f"/api/instructions/{family}", {"content": {"guidelines": ["two"]}}),
        ("PUT", path, {"customizations": {"additionalGuidelines": ["three"]}}),
        ("POST", f"/api/instructions/{family}/restore/{made['instructionId']}", None),
        ("PUT", path, {"isActive": False}),
        ("PUT", path, {"isActive": True, "customizations": {}}),
        ("DELETE", path, None),
    )
    for method, where, body in steps:
        answer = await client.request(method, where, json=body)
        assert answer.status_code < 300, answer.text
        seen.append((await told(client))["guidelines"])
    assert seen == [[], ["one"], ["two"], ["two", "three"], ["one", "three"], [], ["one"], []]


async def test_readers_see_whole_states_while_sixteen_write(client: httpx2.AsyncClient):
    """Two lists of one instruction are changed together, so no reader may see one of them changed alone."""
    made = await instruction(client, {"guidelines": ["0"], "doList": ["0"]})
    await assigned(client, made["familyId"])
    path = f"/api/instructions/{made['familyId']}"

    async def write(number: int) -> int:
        content = {"guidelines": [str(number)], "doList": [str(number)]}
        return (await client.put(path, json={"content": content})).status_code

    async def read(_: int) -> tuple[list[str], list[str]]:
        effective = await told(client)
        return effective["guidelines"], effective["doList"]

    statuses, states = await asyncio.gather(
        asyncio.gather(*map(write, range(1, 17))), asyncio.gather(*map(read, range(32)))
    )
    assert set(statuses) == {200}
    assert all(guidelines == do for guidelines, do in states)
    versions = (await client.get(f"{path}/versions")).json()["items"]
    assert (await told(client))["guidelines"] == versions[0]["content"]["guidelines"]


async def test_a_moment_before_the_first_change_of_a_micro_second_counts(client: httpx2.AsyncClient):
    one = await assigned(client, (await instruction(client))["familyId"])
    applied = datetime.fromisoformat(one["appliedAt"])
    for moment, said in ((applied, ["Be brief"]), (applied - timedelta(microseconds=1), [])):
        past = await client.get(f"{PATH}/effective", params={"at": moment.isoformat()})
        assert past.json()["guidelines"] == said


async def test_a_document_that_was_missing_is_told_as_soon_as_it_is_there_again(client: httpx2.AsyncClient):
    facts = {"systemPrompt": "The shop opens at nine."}
    document = await instruction(client, facts, name="facts")
    made = await instruction(client, {"guidelines": ["See @document:facts"]})
    await assigned(client, made["familyId"])
    seen = ["opens at nine" in (await told(client))["prompt"]]
    assert (await client.delete(f"/api/instructions/{document['familyId']}?force=true")).status_code == 204
    seen.append("opens at nine" in (await told(client))["prompt"])
    again = await instruction(client, facts, name="facts")
    seen.append("opens at nine" in (await told(client))["prompt"])
    await revised(client, again["familyId"], content={"systemPrompt": "The shop opens at ten."})
    seen.append("opens at ten" in (await told(client))["prompt"])
    assert seen == [True, False, True, True]
