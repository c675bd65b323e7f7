import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import UUID

import httpx2
import orjson
import pytest
from inline_snapshot import snapshot

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.surfaces.web.languages import SPEAKERS
from tests.conftest import ADMIN, client_of
from tests.postgres import Cluster
from tests.requirements import covers
from tests.surfaces.helpers import app_of, bearer, problem, rows
from tests.talking import settings_in

ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
}


async def answers_of_every_kind(client: httpx2.AsyncClient) -> list[httpx2.Response]:
    json = {"Content-Type": "application/json"}
    return [
        await client.get("/healthz"),
        await client.get("/readyz"),
        await client.get("/metrics"),
        await client.get("/openapi.json"),
        await client.get("/"),
        await client.get("/login"),
        await client.get("/nothing"),
        await client.get("/api/agents"),
        await client.get("/api/agents/nobody"),
        await client.get("/api/agents", headers=bearer("garbage")),
        await client.get("/healthz", headers={"Host": "evil.example"}),
        await client.get("/healthz", headers={"X-Large": "x" * 40_000}),
        await client.put("/api/agents"),
        await client.request("TRACE", "/api/agents"),
        await client.options("/api/agents", headers={"Access-Control-Request-Method": "POST"}),
        await client.post("/api/agents", content=b"{", headers=json),
        await client.post("/api/agents", json={}),
        await client.post("/api/agents", content=b"x" * 1_000_001),
        await client.post("/api/agents", json={"name": "x"}),
    ]


@covers("S27")
async def test_every_answer_carries_the_security_headers_an_id_and_no_leave_for_other_sites(
    client: httpx2.AsyncClient,
):
    client.headers["Origin"] = "https://evil.example"
    client.headers["X-Request-Id"] = "mine"
    answers = await answers_of_every_kind(client)
    assert {answer.status_code for answer in answers} == {200, 201, 303, 400, 401, 404, 405, 413, 422, 431}
    for answer in answers:
        assert {name: answer.headers.get_list(name) for name in ALWAYS} == {name: [ALWAYS[name]] for name in ALWAYS}
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert "server" not in answer.headers
    ids = {answer.headers["x-request-id"] for answer in answers}
    assert len(ids) == len(answers)
    assert {UUID(one).version for one in ids} == {7}


async def test_a_wrong_method_is_told_the_right_ones_and_a_wrong_path_that_it_is_none(client: httpx2.AsyncClient):
    allowed = {"/api/agents": "GET, POST", "/api/conversations/x": "DELETE, GET, PATCH", "/healthz": "GET"}
    for path, methods in allowed.items():
        for method in ("PUT", "OPTIONS", "TRACE", "QUERY"):
            answer = await client.request(method, path)
            problem(answer, 405, "method_not_allowed")
            assert answer.headers["allow"] == methods
    for path in ("/api", "/api/agents/", "/docs", "/redoc", "/.env", "/api/agents/x/y"):
        problem(await client.get(path), 404, "not_found")


@contextmanager
def away(preceptor: Preceptor, request: pytest.FixtureRequest) -> Generator[None]:
    """Take the database away: someone holds the SQLite file, or the PostgreSQL database is gone."""
    url = preceptor.settings.database
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
        return
    cluster: Cluster = request.getfixturevalue("postgres")
    cluster.drop(url)
    yield


@pytest.mark.breaks_the_database
async def test_readyz_says_what_is_missing_while_healthz_says_that_the_process_lives(
    client: httpx2.AsyncClient, preceptor: Preceptor, request: pytest.FixtureRequest
):
    ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()["ready"]) == (200, True)
    with away(preceptor, request):
        answer = await client.get("/readyz")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        checks = {check["name"]: check for check in answer.json()["checks"]}
        assert (answer.json()["ready"], checks["database"]["ok"], checks["disk"]["ok"]) == (False, False, True)
        assert "answer" in checks["database"]["detail"]
        assert (await client.get("/healthz")).json() == {"status": "ok"}


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_a_database_that_is_away_is_503_and_a_missing_data_folder_is_no_trouble(
    settings: Settings, postgres: Cluster
):
    elsewhere = settings.model_copy(update={"data_dir": settings.data_dir / "never" / "made"})
    keyed = Settings.load(**dict(elsewhere) | {"secret_key": "a secret of the tests"})
    async with open_preceptor(keyed) as preceptor, client_of(preceptor) as client:
        assert (await client.get("/readyz")).status_code == 200
        postgres.drop(settings.database)
        answer = await client.post("/api/agents", json={"name": "x"})
        problem(answer, 503, "storage_unavailable")
        assert int(answer.headers["retry-after"]) >= 1


@pytest.mark.parametrize("language", ["en", "ru", "vi"])
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_the_first_page_speaks_the_chosen_language_and_escapes_the_products_name(
    settings: Settings, language: str
):
    chosen = settings.model_copy(update={"language": language, "product_name": "<b>Ours</b>"})
    async with open_preceptor(chosen) as preceptor, client_of(preceptor, {}) as client:
        page = await client.get("/")
    assert (page.status_code, page.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert f'<html lang="{language}">' in page.text
    assert SPEAKERS[language].say("Skip to content") in page.text
    assert "preceptor link" in page.text
    assert "<h1>&lt;b&gt;Ours&lt;/b&gt;</h1>" in page.text


@covers("S27")
async def test_without_authentication_a_page_of_another_site_gets_nothing_done(tmp_path: Path, database_url: str):
    settings = settings_in(tmp_path, database_url, auth="off")
    async with open_preceptor(settings) as preceptor, client_of(preceptor, {}) as browser:
        made = (await browser.post("/api/conversations", json={"agentId": "assistant"})).json()["conversationId"]
        before = rows(preceptor)
        for origin in (
            "https://evil.example",
            "http://127.0.0.1.evil.example",
            "http://127.0.0.1:8080",
            "null",
            "http://[evil",
        ):
            stranger = {"Origin": origin}
            erased = await browser.post(f"/api/conversations/{made}/erase", headers=stranger)
            sent = await browser.post("/api/attachments", files={"file": ("a.txt", b"x")}, headers=stranger)
            for answer in (erased, sent):
                problem(answer, 403, "forbidden")
        assert rows(preceptor) == before
        own = {"Origin": "http://127.0.0.1:3003", "Host": "127.0.0.1:3003"}
        assert (await browser.post("/api/sign-in-links", headers=own)).status_code == 201


@covers("S27")
async def test_a_sign_in_link_opens_the_page_once_and_never_the_api(client: httpx2.AsyncClient, preceptor: Preceptor):
    link = (await client.post("/api/sign-in-links")).json()["path"]
    async with client_of(preceptor, {}) as browser:
        opened = await browser.get(link)
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        cookie = opened.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
        home = await browser.get("/", follow_redirects=True)
        assert (home.status_code, home.url.path, "admin" in home.text) == (200, "/conversations", True)
        problem(await browser.get("/api/agents"), 401, "unauthenticated")
        assert (await browser.get(link)).status_code == 401


COOKIES = ["", ".", "x", "a.b", '["default","admin",9e99].x', "\xff.\xff", "x" * 9000, "[]." + "A" * 43]


async def test_a_cookie_that_is_not_ours_signs_no_one_in(preceptor: Preceptor):
    async with client_of(preceptor, {}) as browser:
        for cookie in COOKIES:
            sent = [(b"Cookie", b"preceptor_session=" + cookie.encode("latin-1"))]
            assert (await browser.get("/", headers=sent)).status_code == 401


@covers("R187")
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_the_document_calls_directives_otherwise_only_in_the_field_that_clients_know(client: httpx2.AsyncClient):
    document = app_of(client).openapi()
    kinds = {kind: told.get("properties", {}) for kind, told in document["components"]["schemas"].items()}
    fields = ((field, orjson.dumps(told)) for properties in kinds.values() for field, told in properties.items())
    assert {field for field, told in fields if b"Directive" in told} == {"instructions"}
    named = [*document["paths"], *kinds, *(field for properties in kinds.values() for field in properties)]
    mixed = [name for name in named if "instruction" in name.lower() and "directive" in name.lower()]
    assert mixed == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_the_document_promises_what_it_promised(client: httpx2.AsyncClient):
    guarded, shape = "401 403 422 429 4XX 503 5XX", dict[str, str]()
    for path, methods in app_of(client).openapi()["paths"].items():
        for method, told in methods.items():
            statuses = " ".join(sorted(told["responses"])).replace(guarded, "guarded")
            shape[f"{method.upper()} {path}"] = statuses
    assert shape == snapshot(
        {
            "GET /healthz": "200 4XX 5XX",
            "GET /readyz": "200 4XX 503 5XX",
            "GET /metrics": "200 4XX 5XX",
            "POST /api/sign-in-links": "201 guarded",
            "POST /api/orgs": "201 guarded",
            "GET /api/orgs": "200 guarded",
            "POST /api/users": "201 guarded",
            "GET /api/users": "200 guarded",
            "POST /api/keys": "201 guarded",
            "GET /api/keys": "200 guarded",
            "DELETE /api/keys/{key_id}": "204 guarded",
            "POST /api/instructions/{instruction_id}/impact": "200 guarded",
            "GET /api/instructions/export": "200 guarded",
            "POST /api/instructions/import": "200 guarded",
            "POST /api/instructions/experiments": "201 guarded",
            "GET /api/instructions/experiments": "200 guarded",
            "GET /api/instructions/experiments/{experiment_id}": "200 guarded",
            "POST /api/instructions/experiments/{experiment_id}/start": "200 guarded",
            "POST /api/instructions/experiments/{experiment_id}/stop": "200 guarded",
            "POST /api/instructions/experiments/{experiment_id}/promote": "200 guarded",
            "GET /api/instructions/experiments/{experiment_id}/results": "200 guarded",
            "GET /api/instructions/experiments/{experiment_id}/series": "200 guarded",
            "GET /api/instructions/experiments/{experiment_id}/conversations": "200 guarded",
            "POST /api/instructions": "201 guarded",
            "GET /api/instructions": "200 guarded",
            "GET /api/instructions/templates": "200 guarded",
            "POST /api/instructions/from-template/{template_id}": "201 guarded",
            "GET /api/instructions/{instruction_id}": "200 guarded",
            "PUT /api/instructions/{instruction_id}": "200 guarded",
            "DELETE /api/instructions/{instruction_id}": "204 guarded",
            "GET /api/instructions/{instruction_id}/versions": "200 guarded",
            "POST /api/instructions/{instruction_id}/restore/{version_id}": "201 guarded",
            "POST /api/instructions/{instruction_id}/status": "200 guarded",
            "POST /api/instructions/{instruction_id}/ratings": "201 guarded",
            "POST /api/instructions/{instruction_id}/copy": "201 guarded",
            "POST /api/instructions/{instruction_id}/test": "200 guarded",
            "GET /api/instructions/{instruction_id}/labels": "200 guarded",
            "GET /api/instructions/{instruction_id}/labels/{label}": "200 guarded",
            "PUT /api/instructions/{instruction_id}/labels/{label}": "200 guarded",
            "DELETE /api/instructions/{instruction_id}/labels/{label}": "204 guarded",
            "POST /api/agents": "201 guarded",
            "GET /v1/models": "200 guarded",
            "GET /v1/models/{model}": "200 guarded",
            "POST /v1/chat/completions": "200 guarded",
            "POST /v1/responses": "200 guarded",
            "POST /api/providers": "201 guarded",
            "GET /api/providers": "200 guarded",
            "GET /api/providers/{provider_id}": "200 guarded",
            "PATCH /api/providers/{provider_id}": "200 guarded",
            "DELETE /api/providers/{provider_id}": "204 guarded",
            "POST /api/providers/{provider_id}/test": "200 guarded",
            "POST /api/webhooks": "201 guarded",
            "GET /api/webhooks": "200 guarded",
            "GET /api/webhooks/{webhook_id}": "200 guarded",
            "PATCH /api/webhooks/{webhook_id}": "200 guarded",
            "DELETE /api/webhooks/{webhook_id}": "204 guarded",
            "POST /api/webhooks/{webhook_id}/rotate": "200 guarded",
            "POST /api/webhooks/{webhook_id}/test": "200 guarded",
            "GET /api/webhooks/{webhook_id}/deliveries": "200 guarded",
            "POST /api/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": "200 guarded",
            "POST /api/mcp-servers": "201 guarded",
            "GET /api/mcp-servers": "200 guarded",
            "GET /api/mcp-servers/{server_id}": "200 guarded",
            "PATCH /api/mcp-servers/{server_id}": "200 guarded",
            "DELETE /api/mcp-servers/{server_id}": "204 guarded",
            "POST /api/mcp-servers/{server_id}/refresh": "200 guarded",
            "PUT /api/mcp-servers/{server_id}/tools": "200 guarded",
            "POST /mcp": "200 202 guarded",
            "GET /api/agents": "200 guarded",
            "GET /api/agents/{agent_id}": "200 guarded",
            "PATCH /api/agents/{agent_id}": "200 guarded",
            "POST /api/agents/{agent_id}/instructions": "201 guarded",
            "GET /api/agents/{agent_id}/instructions": "200 guarded",
            "GET /api/agents/{agent_id}/instructions/effective": "200 guarded",
            "POST /api/conversations/import": "201 guarded",
            "POST /api/agents/{agent_id}/instructions/impact": "200 guarded",
            "GET /api/agents/{agent_id}/instructions/{family_id}": "200 guarded",
            "PUT /api/agents/{agent_id}/instructions/{family_id}": "200 guarded",
            "DELETE /api/agents/{agent_id}/instructions/{family_id}": "204 guarded",
            "POST /api/conversations": "201 guarded",
            "GET /api/conversations": "200 guarded",
            "GET /api/conversations/{conversation_id}": "200 guarded",
            "PATCH /api/conversations/{conversation_id}": "200 guarded",
            "DELETE /api/conversations/{conversation_id}": "204 guarded",
            "GET /api/conversations/{conversation_id}/events": "200 guarded",
            "POST /api/conversations/{conversation_id}/outcome": "201 guarded",
            "POST /api/messages/{message_id}/rating": "201 guarded",
            "POST /api/conversations/{conversation_id}/messages": "200 202 guarded",
            "GET /api/conversations/{conversation_id}/messages": "200 guarded",
            "GET /api/conversations/{conversation_id}/context/plan": "200 guarded",
            "GET /api/messages/{message_id}/context": "200 guarded",
            "GET /api/turns/{turn_id}": "200 guarded",
            "POST /api/conversations/{conversation_id}/cancel": "200 guarded",
            "GET /api/decision-tables": "200 guarded",
            "POST /api/decision-tables/{table_id}/test": "200 guarded",
            "POST /api/reasoning/back-test": "200 guarded",
            "GET /api/reasoning/metrics": "200 guarded",
            "GET /api/conversations/{conversation_id}/views": "200 guarded",
            "POST /api/conversations/{conversation_id}/views/{view_id}/restore": "201 guarded",
            "POST /api/conversations/{conversation_id}/compact": "200 guarded",
            "POST /api/executions": "202 guarded",
            "GET /api/executions": "200 guarded",
            "GET /api/executions/{execution_id}": "200 guarded",
            "POST /api/executions/{execution_id}/cancel": "200 guarded",
            "POST /api/executions/{execution_id}/retry": "202 guarded",
            "GET /api/executions/{execution_id}/events": "200 guarded",
            "POST /api/replays": "202 guarded",
            "GET /api/replays": "200 guarded",
            "GET /api/replays/{replay_id}": "200 guarded",
            "GET /api/replays/{replay_id}/items": "200 guarded",
            "POST /api/replays/{replay_id}/cancel": "200 guarded",
            "GET /api/replays/{replay_id}/events": "200 guarded",
            "PUT /api/instructions/{instruction_id}/labels/{label}/gate": "200 guarded",
            "GET /api/instructions/{instruction_id}/labels/{label}/gate": "200 guarded",
            "DELETE /api/instructions/{instruction_id}/labels/{label}/gate": "204 guarded",
            "POST /api/instructions/{instruction_id}/labels/{label}/gate/run": "202 guarded",
            "POST /api/conversations/{conversation_id}/regenerate": "200 202 guarded",
            "POST /api/conversations/{conversation_id}/edit": "200 202 guarded",
            "POST /api/conversations/{conversation_id}/erase": "200 guarded",
            "POST /api/attachments": "201 guarded",
        }
    )
    assert (await client.get("/openapi.json", headers=ADMIN)).json() == app_of(client).openapi()


async def test_a_word_that_is_an_operation_elsewhere_may_be_an_id(client: httpx2.AsyncClient):
    assert (await client.get("/api/instructions/export")).status_code == 200
    told = problem(await client.get("/api/instructions/export/versions"), 404, "not_found")
    assert "something this server does" not in told["detail"]


async def test_a_request_that_names_two_hosts_is_refused(client: httpx2.AsyncClient):
    hosts = [(b"host", b""), (b"host", b"127.0.0.1")]
    problem(await client.get("/healthz", headers=hosts), 400, "wrong_host")
