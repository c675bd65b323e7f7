from urllib.parse import quote

import httpx2
import pytest

from preceptor import Preceptor
from preceptor.domain.paging import cursor_at
from tests.requirements import covers
from tests.surfaces.helpers import app_of, operations, problem, rows

LEGAL = {
    "bidi": "a\u202eb\u2066c\u2069\u200f",
    "tags": "a\U000e0041\U000e007f",
    "emoji joined": "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "no character": "a\ufffe\uffff\U0010ffff",
    "combining": "e" + "\u0301" * 60,
    "not composed": "Xin cha\u0300o e\u0302\u0301 \u00e9 \ufb01 \u212b",
    "controls": "a\x01\x1b[31m\x7f\x85\u2028b",
    "quotes": "'\"`;--\\/* %s {0} ${x} <script>&amp;",
    "right to left": "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd",
    "private": "a\ue000\uf8ff\U000f0000",
    "zero width": "a\u200b\u2060\ufeffb",
}
BLANK = {
    "spaces": "  \t\n",
    "no break": "\u00a0\u3000\u2003",
    "nothing": "",
    "a mark": "\ufeff",
    "controls": "\x01\x1f",
}


@covers("B6", "R199")
@pytest.mark.parametrize("text", LEGAL.values(), ids=LEGAL)
async def test_legal_text_reads_back_byte_for_byte(client: httpx2.AsyncClient, text: str):
    agent = await client.post("/api/agents", json={"name": text, "role": text, "capabilities": [text]})
    read = (await client.get(f"/api/agents/{agent.json()['agentId']}")).json()
    assert (read["name"], read["role"], read["capabilities"]) == (text, text, [text])
    started = await client.post(
        "/api/conversations", json={"agentId": "assistant", "title": text, "metadata": {text: [{text: text}]}}
    )
    conversation = (await client.get(f"/api/conversations/{started.json()['conversationId']}")).json()
    assert (conversation["title"], conversation["metadata"]) == (text, {text: [{text: text}]})
    named = [
        ("/api/orgs", {"orgId": "o", "name": text}),
        ("/api/users", {"userId": "u", "name": text}),
        ("/api/keys", {"name": text, "role": "viewer"}),
    ]
    for path, body in named:
        assert (await client.post(path, json=body)).status_code == 201
        assert text in [item["name"] for item in (await client.get(path)).json()["items"]]
    found = await client.get("/api/conversations", params={"q": text.upper()})
    assert [item["title"] for item in found.json()["items"]] == [text]


@covers("B6")
@pytest.mark.parametrize("text", BLANK.values(), ids=BLANK)
async def test_a_name_that_cannot_be_seen_is_refused(client: httpx2.AsyncClient, text: str):
    for body in ({"name": text}, {"name": "x", "role": text}, {"name": "x", "permissions": [text]}):
        problem(await client.post("/api/agents", json=body), 422, "invalid")


HOSTILE = [
    "' OR 1=1; --",
    "'; DROP TABLE agents; --",
    "\x00",
    "a\x00b",
    "..;",
    "../../etc/passwd",
    "a/../b",
    "%2e%2e%2f",
    "{}",
    "*",
    "@org",
    "\u202e",
    "\U0010ffff",
    "x" * 10_000,
]


@covers("S25")
async def test_hostile_ids_in_a_path_name_nothing(client: httpx2.AsyncClient, preceptor: Preceptor):
    before = rows(preceptor)
    for operation in operations(app_of(client)):
        for text in HOSTILE if operation.on_one else ():
            ids: dict[str, str] = dict.fromkeys(operation.ids, quote(text, safe=""))
            answer = await client.request(operation.method, operation.at(ids), json=operation.body)
            assert answer.status_code in {400, 404, 422}, (operation, text, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"
    for path in (
        "http://127.0.0.1//api/agents",
        "/api//agents",
        "/api/agents/",
        "/api/agents/..",
        "/api/agents/%2e%2e/keys",
        "/API/agents",
    ):
        assert (await client.get(path)).status_code == 404
    assert rows(preceptor) == before


@covers("S25")
async def test_hostile_filters_find_nothing_and_break_nothing(client: httpx2.AsyncClient):
    await client.post("/api/conversations", json={"agentId": "assistant", "title": "100%_\\ sure"})
    for name in ("agentId", "status", "q"):
        for text in (*HOSTILE, "%", "_", "\\") if name != "q" else HOSTILE:
            answer = await client.get("/api/conversations", params={name: text})
            assert answer.status_code in {200, 422}, answer.text
            assert answer.status_code == 422 or answer.json()["items"] == []
    for words, found in {"100%": 1, "%_": 1, "\\": 1, "100_": 0, "%sure": 0, "SURE": 1}.items():
        assert len((await client.get("/api/conversations", params={"q": words})).json()["items"]) == found
    for limit in ("0", "-1", "201", "1e2", "\u0661", "99999999999999999999", "1;", "x"):
        problem(await client.get("/api/conversations", params={"limit": limit}), 422, "invalid")


LISTS = (
    "/api/orgs",
    "/api/users",
    "/api/keys",
    "/api/instructions",
    "/api/instructions?public=true",
    "/api/instructions/templates",
    "/api/agents",
    "/api/conversations",
)


@covers("S25")
async def test_a_cursor_that_is_not_ours_is_refused_on_every_list(client: httpx2.AsyncClient):
    ours = cursor_at("assistant")
    strange = [
        *HOSTILE,
        "",
        "0",
        "1",
        ours[:-1],
        ours + "0",
        "2" + ours[1:],
        ours.upper(),
        f" {ours}",
        f"{ours}\n",
        "1c3a9",
        "100",
    ]
    for path in LISTS:
        assert (await client.get(path, params={"cursor": ours})).status_code == 200
        for cursor in strange:
            problem(await client.get(path, params={"cursor": cursor}), 400, "bad_cursor")


async def test_pages_show_everything_once_and_in_order(client: httpx2.AsyncClient):
    for name in ("b", "a", "Z", "c.d", "1"):
        assert (await client.post("/api/agents", json={"agentId": name, "name": name})).status_code == 201
    seen: list[str] = []
    cursor: str | None = None
    while cursor is not None or not seen:
        page = (await client.get("/api/agents", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
        seen += [item["agentId"] for item in page["items"]]
        cursor = page["nextCursor"]
    assert seen == ["1", "Z", "a", "assistant", "b", "c.d"]
