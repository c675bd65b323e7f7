import asyncio
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from preceptor import Preceptor
from preceptor.domain.ownership import Role
from preceptor.testing import Called, Say
from tests.requirements import covers
from tests.surfaces.helpers import bearer, insert_key, problem, query, rows
from tests.surfaces.talking import talking
from tests.talking import settings_in

Json = dict[str, Any]
PATH = "/api/instructions"
SYSTEM: Json = {"name": "Support", "type": "system", "content": {"systemPrompt": "You help customers."}}
UNWRITTEN = {"guidelines", "constraints", "suggestions", "doList", "dontList", "examples", "steps"}


async def create(client: httpx2.AsyncClient, **fields: Any) -> Json:
    made = await client.post(PATH, json=SYSTEM | fields)
    assert made.status_code == 201, made.text
    return made.json()


async def revise(client: httpx2.AsyncClient, any_id: str, **fields: Any) -> Json:
    made = await client.put(f"{PATH}/{any_id}", json=fields)
    assert made.status_code == 200, made.text
    return made.json()


async def read(client: httpx2.AsyncClient, any_id: str) -> Json:
    answer = await client.get(f"{PATH}/{any_id}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def listed(client: httpx2.AsyncClient, path: str = PATH, **params: Any) -> list[Json]:
    answer = await client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def give(client: httpx2.AsyncClient, agent_id: str, instruction_id: str, **fields: Any) -> Json:
    body = {"instructionId": instruction_id} | fields
    made = await client.post(f"/api/agents/{agent_id}/instructions", json=body)
    assert made.status_code == 201, made.text
    return made.json()


@covers("R79", "R82", "R93", "R99")
async def test_a_new_instruction_is_the_first_active_version_of_a_new_family(client: httpx2.AsyncClient):
    made = await client.post(PATH, json=SYSTEM)
    told = made.json()
    assert (made.status_code, made.headers["etag"]) == (201, '"1"')
    assert told["familyId"] != told["instructionId"]
    expected: Json = {
        "name": "Support",
        "description": "",
        "version": "1.0.0",
        "type": "system",
        "category": "general",
        "targetRole": "assistant",
        "status": "active",
        "tags": [],
        "isPublic": False,
        "isLatestVersion": True,
        "parentInstructionId": None,
        "changelog": None,
        "bumpReason": None,
        "usageCount": 0,
        "averageRating": None,
        "warnings": [],
        "owner": {"orgId": "default", "userId": "admin", "groupId": None},
        "createdBy": "admin",
        "updatedBy": "admin",
    }
    assert {name: told[name] for name in expected} == expected
    assert told["createdAt"] == told["updatedAt"]
    assert (await read(client, told["familyId"])) == (await read(client, told["instructionId"])) == told


@covers("R80")
async def test_a_type_is_one_of_four(client: httpx2.AsyncClient):
    for kind in ("system", "task", "behavior", "template"):
        assert (await create(client, type=kind))["type"] == kind
    for kind in ("", "SYSTEM", "persona", None, 1):
        problem(await client.post(PATH, json=SYSTEM | {"type": kind}), 422, "invalid")


@covers("R81", "R84")
async def test_unusual_words_are_kept_with_a_warning_and_badly_formed_ones_are_refused(client: httpx2.AsyncClient):
    usual = {"tone": "friendly", "language": "vi", "formality": "informal"}
    assert (await create(client, category="coding", targetRole="reviewer", content=usual))["warnings"] == []
    odd = {"tone": "thân thiện", "language": "fr", "formality": "ceremonial"}
    made = await create(client, category="logistics", targetRole="driver", content=odd)
    assert (made["category"], made["targetRole"], made["content"]["tone"]) == ("logistics", "driver", "thân thiện")
    paths = {"/category", "/targetRole", "/content/tone", "/content/language", "/content/formality"}
    assert {warning["path"] for warning in made["warnings"]} == paths
    assert {warning["code"] for warning in made["warnings"]} == {"unusual_word"}
    assert (await read(client, made["familyId"]))["warnings"] == made["warnings"]
    for word in ("", " ", "x" * 65, "two\nlines", " edge"):
        problem(await client.post(PATH, json=SYSTEM | {"category": word}), 422, "invalid")
        problem(await client.post(PATH, json=SYSTEM | {"content": {"tone": word}}), 422, "invalid")


@covers("R83", "R85", "R86", "R87")
async def test_content_reads_back_as_it_was_written(client: httpx2.AsyncClient):
    content = {
        "systemPrompt": "Bạn là trợ lý. ✅",
        "guidelines": ["Greet", "Listen", "greet"],
        "constraints": ["Never share passwords", {"id": "c1", "text": "Escalate", "locked": True}, {"text": "Plain"}],
        "suggestions": ["Offer a follow-up"],
        "tone": "professional",
        "language": "vi",
        "formality": "formal",
        "doList": ["b", "a"],
        "dontList": ["d", "c"],
        "examples": [
            {"input": "Hi", "expectedOutput": "Hello!", "explanation": "Warm"},
            {"input": "Xin chào", "expectedOutput": "Dạ!"},
        ],
        "steps": [
            {"order": 2, "name": "Check", "description": "", "optional": True},
            {"order": 1, "name": "Read", "description": "All of it", "optional": False},
        ],
    }
    made = await create(client, content=content)
    assert made["content"] == content
    assert (await read(client, made["instructionId"]))["content"] == content
    empty = (await create(client, content={}))["content"]
    assert {name for name, value in empty.items() if value == []} == UNWRITTEN
    assert set(map(str, empty.values())) == {"[]", "None"}


@covers("R91")
async def test_rules_inside_content_move_to_where_rules_are_kept(client: httpx2.AsyncClient):
    rules = {"requiredKeywords": ["✅", "⚠️"], "prohibitedKeywords": ["LGTM"], "maxResponseLength": 500}
    kept = rules | {"mode": "report"}
    made = await create(client, content={"guidelines": ["x"], "validationRules": rules})
    assert (made["validationRules"], "validationRules" in made["content"]) == (kept, False)
    assert (await create(client, validationRules=rules, content={"validationRules": rules}))["validationRules"] == kept
    other = {"maxResponseLength": 1}
    problem(
        await client.post(PATH, json=SYSTEM | {"validationRules": rules, "content": {"validationRules": other}}),
        422,
        "invalid",
    )
    after = await revise(client, made["familyId"], content={"validationRules": other})
    assert after["validationRules"] == {
        "maxResponseLength": 1,
        "requiredKeywords": [],
        "prohibitedKeywords": [],
        "mode": "report",
    }
    assert (after["version"], after["content"]["guidelines"]) == ("1.1.0", ["x"])
    both = {"validationRules": rules, "content": {"validationRules": other}}
    problem(await client.put(f"{PATH}/{made['familyId']}", json=both), 422, "invalid")
    for wrong in ("x", {"no": 1}, {"maxResponseLength": 0}):
        answer = await client.put(f"{PATH}/{made['familyId']}", json={"content": {"validationRules": wrong}})
        problem(answer, 422, "invalid")
    assert (await revise(client, made["familyId"], content={"validationRules": None}))["validationRules"] is None


@covers("R100")
async def test_a_list_is_filtered_by_what_its_heads_say(client: httpx2.AsyncClient):
    a = await create(client, name="Anna", category="support", tags=["vip", "Việt Nam"])
    b = await create(client, name="Bình", type="task", category="coding", targetRole="reviewer", tags=["vip", "b"])
    c = await create(client, name="Cleo", description="50% off_", type="behavior", status="draft")
    names = {"a": a, "b": b, "c": c}
    wanted: list[tuple[Json, str]] = [
        ({}, "cba"),
        ({"type": "task"}, "b"),
        ({"category": "support"}, "a"),
        ({"status": "draft"}, "c"),
        ({"status": "active", "type": "system"}, "a"),
        ({"role": "reviewer"}, "b"),
        ({"q": "BÌNH"}, "b"),
        ({"q": "bi\u0300nh"}, "b"),
        ({"q": "50%"}, "c"),
        ({"q": "off_"}, "c"),
        ({"q": "5_%"}, ""),
        ({"tags": "VIP"}, "ba"),
        ({"tags": "vip, việt nam"}, "a"),
        ({"tags": "việt nam,vip"}, "a"),
        ({"tags": "vip,c"}, ""),
        ({"tags": "vi"}, ""),
    ]
    for params, found in wanted:
        told = [instruction["familyId"] for instruction in await listed(client, **params)]
        assert told == [names[letter]["familyId"] for letter in found], params
    await revise(client, a["familyId"], category="analysis", tags=["new"])
    assert [one["name"] for one in await listed(client, category="analysis", tags="new")] == ["Anna"]
    assert await listed(client, category="support") == []
    problem(await client.get(PATH, params={"type": "persona"}), 422, "invalid")


async def test_pages_show_every_family_once_newest_first(client: httpx2.AsyncClient):
    made = [(await create(client, name=str(number)))["familyId"] for number in range(5)]
    seen: list[str] = []
    cursor: str | None = None
    while cursor is not None or not seen:
        answer = await client.get(PATH, params={"limit": 2} | ({"cursor": cursor} if cursor else {}))
        seen += [one["familyId"] for one in answer.json()["items"]]
        cursor = answer.json()["nextCursor"]
    assert seen == made[::-1]


@covers("R89", "R101", "R102", "R104")
async def test_a_revision_appends_a_version_and_leaves_the_others_as_they_were(client: httpx2.AsyncClient):
    first = await create(client, content={"systemPrompt": "One", "guidelines": ["a", "b"], "tone": "casual"})
    patch = {"guidelines": ["c"], "tone": None, "doList": ["smile"]}
    second = await revise(client, first["instructionId"], content=patch, changelog="Smile more.")
    assert second["content"] == first["content"] | {"guidelines": ["c"], "tone": None, "doList": ["smile"]}
    assert (second["version"], second["parentInstructionId"]) == ("1.1.0", first["instructionId"])
    assert (second["familyId"], second["changelog"]) == (first["familyId"], "Smile more.")
    assert (second["isLatestVersion"], second["bumpReason"]) == (True, "content changed: guidelines, tone, doList")
    old = await read(client, first["instructionId"])
    computed = {"isLatestVersion": False, "revision": 2}
    assert old == first | computed
    assert await read(client, first["familyId"]) == second
    for known in (first["familyId"], first["instructionId"], second["instructionId"]):
        versions = await listed(client, f"{PATH}/{known}/versions")
        assert versions == [second, old]


BUMPS: dict[str, tuple[Json, str, str]] = {
    "the prompt rewritten": ({"content": {"systemPrompt": "Two"}}, "2.0.0", "the system prompt was rewritten"),
    "the prompt removed": ({"content": {"systemPrompt": None}}, "2.0.0", "the system prompt was removed"),
    "a constraint removed": ({"content": {"constraints": []}}, "2.0.0", "a constraint was removed or rewritten"),
    "another type": ({"type": "task"}, "2.0.0", "the type changed from system to task"),
    "a constraint added": ({"content": {"constraints": ["No", "Never"]}}, "1.1.0", "content changed: constraints"),
    "a guideline": ({"content": {"guidelines": ["Be kind"]}}, "1.1.0", "content changed: guidelines"),
    "rules": ({"validationRules": {"maxResponseLength": 9}}, "1.1.0", "content changed: validationRules"),
    "a name": ({"name": "New"}, "1.0.1", "only the wording around it changed: name"),
    "asked for": (
        {"name": "New", "bump": "major"},
        "2.0.0",
        "major was asked for; by what changed it would be patch: only the wording around it changed: name",
    ),
    "asked for less": (
        {"content": {"systemPrompt": "Two"}, "bump": "patch"},
        "1.0.1",
        "patch was asked for; by what changed it would be major: the system prompt was rewritten",
    ),
}


@covers("R102")
@pytest.mark.parametrize(("change", "version", "reason"), BUMPS.values(), ids=BUMPS)
async def test_the_step_is_computed_or_asked_for_and_says_why(
    client: httpx2.AsyncClient, change: Json, version: str, reason: str
):
    made = await create(client, content={"systemPrompt": "One", "constraints": ["No"]})
    after = await revise(client, made["familyId"], **change)
    assert (after["version"], after["bumpReason"]) == (version, reason)


@covers("R102")
async def test_what_changes_nothing_creates_nothing(client: httpx2.AsyncClient, preceptor: Preceptor):
    made = await create(client, tags=["a"], description="Same")
    before = rows(preceptor)
    same = {"name": "Support", "tags": ["a"], "content": {"systemPrompt": "You help customers.", "tone": None}}
    said_and_not_done: list[Json] = [{}, same, {"changelog": "Really."}, {"bump": "major"}, {"content": {}}]
    for change in said_and_not_done:
        answer = await client.put(f"{PATH}/{made['familyId']}", json=change)
        assert (answer.status_code, answer.json(), answer.headers["etag"]) == (200, made, '"1"')
    assert rows(preceptor) == before


@covers("R102")
async def test_a_revision_of_something_else_than_was_read_is_refused(client: httpx2.AsyncClient):
    made = await create(client)
    path = f"{PATH}/{made['familyId']}"
    fresh = await client.put(path, json={"name": "b"}, headers={"If-Match": '"1"'})
    assert (fresh.status_code, fresh.headers["etag"]) == (200, '"2"')
    stale = await client.put(path, json={"name": "c"}, headers={"If-Match": '"1"'})
    problem(stale, 412, "precondition_failed")
    assert stale.headers["etag"] == '"2"'
    assert (await client.get(f"{PATH}/{made['instructionId']}")).headers["etag"] == '"2"'
    assert (await read(client, made["familyId"]))["name"] == "b"


WRONG: dict[str, Json] = {
    "an unknown field": {"content": {"mood": "x"}},
    "a list that is none": {"content": {"guidelines": "x"}},
    "a null name": {"name": None},
    "a null list": {"tags": None},
    "a wrong type": {"type": "persona"},
    "a wrong step": {"bump": "huge"},
    "a status that only a version moves to": {"status": "archived"},
    "variables without a template": {"variables": [{"name": "x"}]},
    "a prompt of nothing": {"content": {"systemPrompt": " "}},
    "a prompt too long": {"content": {"systemPrompt": "x" * 50_001}},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
async def test_a_revision_that_cannot_be_is_refused_and_changes_nothing(
    client: httpx2.AsyncClient, preceptor: Preceptor, change: Json
):
    made = await create(client)
    before = rows(preceptor)
    problem(await client.put(f"{PATH}/{made['familyId']}", json=change), 422, "invalid")
    assert rows(preceptor) == before


@covers("R89", "R90")
async def test_a_draft_is_not_the_head_until_it_is_active(client: httpx2.AsyncClient):
    first = await create(client)
    draft = await revise(client, first["familyId"], name="Draft", status="draft")
    assert (draft["status"], draft["isLatestVersion"]) == ("draft", False)
    assert (await read(client, first["familyId"]))["instructionId"] == first["instructionId"]
    again = await revise(client, first["familyId"], name="Draft two")
    assert (again["version"], again["status"], again["parentInstructionId"]) == (
        "1.0.2",
        "draft",
        draft["instructionId"],
    )
    moved = await client.post(f"{PATH}/{again['instructionId']}/status", json={"status": "active"})
    assert (moved.status_code, moved.json()["isLatestVersion"]) == (200, True)
    assert (await read(client, first["familyId"]))["instructionId"] == again["instructionId"]
    only = await create(client, status="draft")
    assert (only["isLatestVersion"], (await read(client, only["familyId"]))["status"]) == (False, "draft")
    problem(await client.put(f"{PATH}/{only['familyId']}", json={"status": "active"}), 409, "conflict")


@covers("R90")
async def test_a_version_moves_through_its_life_one_step_at_a_time(client: httpx2.AsyncClient):
    moves = ("draft active", "active deprecated", "deprecated archived", "archived draft")
    statuses = ("draft", "active", "deprecated", "archived")
    made = await create(client, status="draft")
    path = f"{PATH}/{made['familyId']}/status"
    for before in statuses:
        for after in statuses:
            if before != after and f"{before} {after}" not in moves:
                detail = problem(await client.post(path, json={"status": after}), 409, "conflict")["detail"]
                assert before in detail
        stayed = await client.post(path, json={"status": before})
        assert (stayed.status_code, stayed.json()["status"]) == (200, before)
        following = next(move.split()[1] for move in moves if move.split()[0] == before)
        assert (await client.post(path, json={"status": following})).json()["status"] == following
    problem(await client.post(path, json={"status": "gone"}), 422, "invalid")
    stale = await client.post(path, json={"status": "active"}, headers={"If-Match": '"1"'})
    problem(stale, 412, "precondition_failed")


@covers("R93")
async def test_every_version_tells_who_made_it_when_and_why(client: httpx2.AsyncClient, preceptor: Preceptor):
    first = await create(client, changelog="Begun.")
    emma = bearer(await insert_key(preceptor, user="emma", role=Role.EDITOR))
    change = {"name": "By Emma", "changelog": "A better name."}
    second = (await client.put(f"{PATH}/{first['familyId']}", json=change, headers=emma)).json()
    await client.post(f"{PATH}/{first['instructionId']}/status", json={"status": "deprecated"}, headers=emma)
    told = [
        (one["version"], one["createdBy"], one["updatedBy"], one["changelog"])
        for one in await listed(client, f"{PATH}/{first['familyId']}/versions")
    ]
    assert told == [("1.0.1", "emma", "emma", "A better name."), ("1.0.0", "admin", "emma", "Begun.")]
    assert second["createdAt"] > first["createdAt"]
    events = query(preceptor, "SELECT kind, payload FROM events WHERE kind LIKE 'instruction.%' ORDER BY seq")
    noted = [(kind, fact["by"], fact["instructionId"]) for kind, fact in ((k, orjson.loads(p)) for k, p in events)]
    assert noted == [
        ("instruction.created", "admin", first["instructionId"]),
        ("instruction.revised", "emma", second["instructionId"]),
        ("instruction.status_moved", "emma", first["instructionId"]),
    ]


@covers("R105")
async def test_to_restore_is_to_append_what_was_said_before(client: httpx2.AsyncClient):
    first = await create(client, content={"systemPrompt": "One"})
    second = await revise(client, first["familyId"], content={"systemPrompt": "Two"})
    answer = await client.post(f"{PATH}/{first['familyId']}/restore/{first['instructionId']}")
    third = answer.json()
    assert (answer.status_code, third["version"], third["content"]) == (201, "2.0.1", first["content"])
    assert third["restoredFrom"] == first["instructionId"]
    assert third["parentInstructionId"] == second["instructionId"]
    assert (third["status"], third["bumpReason"]) == ("active", "1.0.0 was restored")
    assert (await read(client, first["familyId"])) == third
    stranger = await create(client)
    for wrong in ("nothing", stranger["instructionId"], first["familyId"]):
        problem(await client.post(f"{PATH}/{first['familyId']}/restore/{wrong}"), 404, "not_found")


@covers("R90", "R105")
async def test_what_was_archived_comes_back_as_a_draft(client: httpx2.AsyncClient):
    first = await create(client)
    await revise(client, first["familyId"], content={"guidelines": ["x"]})
    assert (await client.delete(f"{PATH}/{first['instructionId']}")).status_code == 204
    restored = (await client.post(f"{PATH}/{first['familyId']}/restore/{first['instructionId']}")).json()
    assert (restored["status"], restored["isLatestVersion"]) == ("draft", False)


@covers("R103")
async def test_a_deleted_family_is_hidden_and_its_versions_can_still_be_read(client: httpx2.AsyncClient):
    first = await create(client)
    second = await revise(client, first["familyId"], name="Two")
    assert (await client.delete(f"{PATH}/{first['familyId']}")).status_code == 204
    assert await listed(client) == []
    family = f"{PATH}/{first['familyId']}"
    problem(await client.get(family), 404, "not_found")
    for known in (first, second):
        kept = await read(client, known["instructionId"])
        assert (kept["content"], kept["isDeleted"]) == (known["content"], True)
    for path in (family, f"{PATH}/{first['instructionId']}"):
        problem(await client.put(path, json={"name": "x"}), 404, "not_found")
        problem(await client.delete(path), 404, "not_found")
        problem(await client.get(f"{path}/versions"), 404, "not_found")
        problem(await client.post(f"{path}/status", json={"status": "deprecated"}), 404, "not_found")
        problem(await client.post(f"{path}/restore/{first['instructionId']}"), 404, "not_found")


@covers("R103")
async def test_to_delete_a_version_archives_it_alone(client: httpx2.AsyncClient):
    first = await create(client)
    second = await revise(client, first["familyId"], name="Two")
    for _ in range(2):
        assert (await client.delete(f"{PATH}/{second['instructionId']}")).status_code == 204
    statuses = [one["status"] for one in await listed(client, f"{PATH}/{first['familyId']}/versions")]
    assert statuses == ["archived", "active"]


@covers("R103")
async def test_what_agents_use_is_not_deleted_unless_by_force(client: httpx2.AsyncClient):
    first = await create(client)
    for agent in ("anna", "bert", "carl"):
        assert (await client.post("/api/agents", json={"agentId": agent, "name": agent})).status_code == 201
    await give(client, "bert", first["familyId"])
    await give(client, "anna", first["familyId"], pin="exact")
    await give(client, "carl", first["familyId"], isActive=False)
    for known in (first["familyId"], first["instructionId"]):
        refused = problem(await client.delete(f"{PATH}/{known}"), 409, "instruction_in_use")
        assert "anna, bert." in refused["detail"]
    second = await revise(client, first["familyId"], content={"guidelines": ["x"]})
    refused = problem(await client.delete(f"{PATH}/{first['instructionId']}"), 409, "instruction_in_use")
    assert "Agents use it: anna." in refused["detail"]
    assert (await client.delete(f"{PATH}/{first['instructionId']}?force=true")).status_code == 204
    assert (await read(client, second["familyId"]))["usageCount"] == 1
    assert (await client.delete(f"{PATH}/{first['familyId']}?force=true")).status_code == 204
    for agent in ("anna", "bert", "carl"):
        [given] = await listed(client, f"/api/agents/{agent}/instructions")
        assert given["isActive"] is False


@covers("R88")
async def test_usage_and_ratings_are_computed(client: httpx2.AsyncClient, preceptor: Preceptor):
    made = await create(client, tags=["b", "a", "B"])
    assert made["tags"] == ["b", "a", "B"]
    path = f"{PATH}/{made['instructionId']}"
    await give(client, "assistant", made["familyId"])
    await client.post("/api/agents", json={"agentId": "second", "name": "Second"})
    await give(client, "second", made["familyId"], isActive=False)
    scores = {"admin": (2, 5), "emma": (4,), "egon": (4,)}
    for user, given in scores.items():
        key = bearer(await insert_key(preceptor, user=user, role=Role.EDITOR))
        for score in given:
            rated = await client.post(f"{path}/ratings", json={"score": score}, headers=key)
            assert (rated.status_code, rated.json()["score"]) == (201, score)
    for shown in (
        await read(client, made["familyId"]),
        *(await listed(client)),
        *(await listed(client, path + "/versions")),
    ):
        assert (shown["usageCount"], shown["averageRating"]) == (1, 4.33)
    for score in (0, 6, 4.5, "5", None):
        problem(await client.post(f"{path}/ratings", json={"score": score}), 422, "invalid")


async def test_a_copy_is_a_family_of_its_own(client: httpx2.AsyncClient):
    made = await create(client, content={"guidelines": ["x"]}, tags=["t"], isPublic=True)
    answer = await client.post(f"{PATH}/{made['familyId']}/copy")
    copy = answer.json()
    assert (answer.status_code, copy["version"], copy["content"], copy["tags"]) == (
        201,
        "1.0.0",
        made["content"],
        ["t"],
    )
    assert (copy["copiedFrom"], copy["isPublic"]) == (f"{made['instructionId']}@1.0.0", False)
    await revise(client, made["familyId"], name="Changed")
    assert (await read(client, copy["familyId"]))["name"] == "Support"


@covers("S28")
async def test_a_prompt_with_a_secret_is_saved_with_a_warning_that_does_not_repeat_it(client: httpx2.AsyncClient):
    secrets = [
        "Use sk-proj-abcdefghijklmnopqrstuvwx1234 for calls",
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
        "postgresql://admin:hunter22@db.internal/prod",
        "The password is: correct7horse",
        "Mật khẩu: matkhau123",
        "ghp_" + "a1B2" * 9,
    ]
    for secret in secrets:
        made = await create(client, content={"guidelines": ["Be kind", secret]})
        [warning] = made["warnings"]
        assert (warning["code"], warning["path"]) == ("secret", "/content/guidelines/1")
        assert secret not in warning["sentence"]
    harmless = ["Never share passwords", "Ask for the password: {{password1}}", "https://user@example.com", "sk-learn"]
    assert (await create(client, content={"guidelines": harmless}))["warnings"] == []


@covers("S28")
async def test_no_answer_shows_system_text_without_leave_to_read_it(client: httpx2.AsyncClient, preceptor: Preceptor):
    made = await create(client, content={"systemPrompt": "canary-of-a-prompt"})
    viewer = bearer(await insert_key(preceptor, user="vera", role=Role.VIEWER))
    path = f"{PATH}/{made['familyId']}"
    for answer in (
        await client.get(path, headers=viewer),
        await client.get(f"{path}/versions", headers=viewer),
        await client.get(PATH, headers=viewer),
        await client.get(f"{PATH}?public=true", headers=viewer),
        await client.get(f"{PATH}/templates", headers=viewer),
        await client.post(f"{path}/test", json={"input": "x"}, headers=viewer),
        await client.put(path, json={"content": {"systemPrompt": " "}}, headers=viewer),
    ):
        problem(answer, 403, "forbidden")
        assert "canary" not in answer.text


@covers("S28")
async def test_who_talks_to_a_specialist_of_the_library_is_not_shown_what_it_was_told(tmp_path: Path):
    async with talking(settings_in(tmp_path)) as talk:
        await create(talk.client, name="Critic", content={"systemPrompt": "canary-of-a-prompt"})
        viewer = bearer(await insert_key(talk.preceptor, user="vera", role=Role.VIEWER))
        hand_over = Say("", (Called("delegate_internal_reasoning", {"specialist": "critic"}),))
        made = await talk.client.post("/api/conversations", json={"agentId": "assistant"}, headers=viewer)
        path = f"/api/conversations/{made.json()['conversationId']}/messages"
        for wanted in ("application/json", "text/event-stream"):
            talk.script.lines = [hand_over, Say("I object.", (Called("return_control"),)), "All is well."]
            said = await talk.client.post(path, json={"content": "Hi"}, headers=viewer | {"Accept": wanted})
            assert ("All is well." in said.text, "canary" in said.text) == (True, False)
        read = await talk.client.get(path, headers=viewer)
        assert (read.text.count('"delegate_reasoning"'), "canary" in read.text) == (2, False)
        assert (await talk.client.get(path, params={"audience": "system"})).text.count("canary-of-a-prompt") == 2


@covers("R124", "R125")
async def test_the_tables_have_the_indexes_that_the_library_is_searched_by(preceptor: Preceptor):
    sqlite = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    postgres = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    is_sqlite = preceptor.settings.database.startswith("sqlite")
    found = {name: sql.replace('"', "") for name, sql in query(preceptor, sqlite if is_sqlite else postgres)}
    expected = {
        "instruction_versions_once": "UNIQUE (org, family, version)",
        "instruction_versions_by_parent": "(org, parent)",
        "instructions_by_kind": "(org, type, category, status)",
        "instructions_by_status": "(org, status)",
        "assignments_now": "UNIQUE (org, agent, family)",
        "assignments_by_agent": "(org, agent, priority)",
        "assignments_by_family": "(org, family)",
    }
    for name, shape in expected.items():
        unique, columns = shape.startswith("UNIQUE"), shape.removeprefix("UNIQUE ")
        assert (("UNIQUE" in found[name]), columns in found[name]) == (unique, True), found[name]


async def test_ids_of_versions_are_unique_and_a_family_has_one_head(client: httpx2.AsyncClient, preceptor: Preceptor):
    made = await create(client)
    await asyncio.gather(*(revise(client, made["familyId"], name=f"n{number}") for number in range(5)))
    [(versions, ids, numbers)] = query(
        preceptor, "SELECT count(*), count(DISTINCT id), count(DISTINCT version) FROM instruction_versions"
    )
    assert versions == ids == numbers == 6
    told = await listed(client, f"{PATH}/{made['familyId']}/versions")
    assert [one["isLatestVersion"] for one in told] == [True] + [False] * 5
