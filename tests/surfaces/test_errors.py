import importlib
import inspect
import pkgutil
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from msgspec.structs import replace

import preceptor
from preceptor import ModelRegistry, Preceptor, Settings, open_preceptor
from preceptor.domain.errors import Busy, PreceptorError
from preceptor.domain.ownership import Owner
from preceptor.engine.repositories.work import Program
from preceptor.surfaces.web.rendering import LANGUAGE
from tests.conftest import client_of
from tests.requirements import covers
from tests.surfaces.helpers import app_of, operations, problem

CODES: dict[int, str] = {
    400: "malformed_json bad_cursor",
    401: "unauthenticated",
    403: "forbidden cross_site",
    404: "not_found model_not_found",
    408: "body_timeout",
    409: "conflict experiment_running gate_closed idempotency_in_progress instruction_in_use turn_in_progress",
    412: "precondition_failed",
    413: "payload_too_large",
    415: "unsupported_media_type",
    422: "invalid idempotency_mismatch no_secret_key seal_broken undeclared_variable "
    "unknown_document cyclic_reference token_budget_exceeded invalid_token_limit invalid_history_size "
    "insufficient_history cyclic_steps",
    428: "precondition_required",
    429: "rate_limited budget_exceeded",
    500: "internal cannot_start oidc_misconfigured unproven_request",
    502: "upstream_failed compression_failed outcome_unknown",
    503: "storage_unavailable shutting_down issuer_unavailable guard_unavailable mcp_not_installed",
    504: "upstream_timeout",
    507: "disk_full",
}
"""The table of the contract, and the codes that came since."""


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """What fails here is not the database: one kind is enough."""
    return f"sqlite:///{tmp_path / 'preceptor.db'}"


@dataclass
class BrokenStore:
    """A store in which everything fails."""

    error: Exception

    async def read(self, owner: Owner, program: Program[Any]) -> Any:
        raise self.error

    write = read


def broken(opened: Preceptor, error: Exception) -> httpx2.AsyncClient:
    store: Any = BrokenStore(error)
    return client_of(replace(opened, session=replace(opened.session, store=store)))


def every_kind() -> Iterator[type[PreceptorError]]:
    for module in pkgutil.walk_packages(preceptor.__path__, "preceptor."):
        if ".migrations" not in module.name:
            importlib.import_module(module.name)
    kinds: list[type[PreceptorError]] = [PreceptorError]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if kind.__module__.startswith("preceptor."):
            yield kind


def example(kind: type[PreceptorError]) -> PreceptorError:
    assert not is_dataclass(kind), "facts need no decorator: a dataclass would not know those of its base"
    assert "code" not in kind.facts
    typed = {name: type_ for base in reversed(kind.__mro__) for name, type_ in inspect.get_annotations(base).items()}
    needed = [name for name in kind.facts if not hasattr(kind, name)]
    return kind(**{name: 1 if typed[name] in {int, "int"} else "x" for name in needed})


@covers("R200")
async def test_every_kind_of_failure_has_one_status_and_a_documented_code(preceptor: Preceptor):
    found: dict[int, set[str]] = {}
    for kind in every_kind():
        error = example(kind)
        async with broken(preceptor, error) as client:
            answer = await client.get("/api/agents")
        assert problem(answer, answer.status_code, kind.code)["detail"] == str(error)
        found.setdefault(answer.status_code, set()).add(kind.code)
    assert found == {status: set(codes.split()) for status, codes in CODES.items()}


async def test_whatever_is_invalid_is_told_as_a_list_of_complaints_also_where_no_place_can_be_named(
    preceptor: Preceptor,
):
    async with client_of(preceptor) as client:
        past = {"name": "x", "role": "viewer", "expiresAt": "2020-01-01T00:00:00Z"}
        for path in ("/api/keys", "/v1/chat/completions"):
            last = {"model": "assistant", "messages": [{"role": "assistant", "content": "Hi"}]}
            refused = problem(await client.post(path, json=past if path == "/api/keys" else last), 422, "invalid")
            assert refused["errors"] == [{"path": "/", "message": refused["detail"].removesuffix(".")}]
        assert refused["error"]["param"] is None
        placed = problem(await client.post("/api/keys", json={"name": 1, "role": "viewer"}), 422, "invalid")
        assert [complaint["path"] for complaint in placed["errors"]] == ["/name"]


@covers("R200")
async def test_a_failure_nobody_expected_tells_nothing_but_where_to_look(preceptor: Preceptor):
    async with broken(preceptor, RuntimeError("the password is hunter2")) as client:
        for operation in operations(app_of(client)):
            if operation.id not in {"health_healthz", "health_metrics"}:
                ids = defaultdict[str, str](lambda: "x")
                answer = await client.request(operation.method, operation.at(ids), **operation.sent(ids))
                told = problem(answer, 500, "internal")
                assert set(told) == {"type", "title", "status", "code", "detail", "requestId"}
                assert "hunter2" not in answer.text + str(answer.headers)
        assert (await client.get("/healthz")).status_code == 200


@covers("R200")
async def test_a_client_is_told_when_to_come_again(preceptor: Preceptor):
    for kind in every_kind():
        error = example(kind)
        async with broken(preceptor, error) as client:
            answer = await client.get("/api/agents")
        waits = answer.headers.get("retry-after")
        assert (answer.status_code in {429, 503}) == (waits is not None)
        assert waits is None or int(waits) >= 1
        assert not isinstance(error, Busy) or waits == str(error.retry_after)


class Odd:
    """A model of a program's own that is none."""


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "Something went wrong in the server."), ("vi", "Máy chủ gặp trục trặc.")],
)
async def test_a_page_that_no_one_foresaw_to_fail_is_told_as_a_page(settings: Settings, language: str, words: str):
    registry = ModelRegistry(settings)
    registry.add("odd", cast("Any", Odd()))
    async with open_preceptor(settings, models=registry) as opened, client_of(opened) as client:
        await client.patch("/api/agents/assistant", json={"model": "odd"})
        cookies = {"cookie": f"{LANGUAGE}={language}"}
        answer = await client.get("/agents/assistant/effective", headers=cookies)
        assert answer.status_code == 500
        assert words in answer.text
        assert answer.headers["x-request-id"] in answer.text
        told = (await client.get("/agents/assistant/effective", headers=cookies | {"x-part": "told"})).json()
        assert (told["code"], words in told["detail"]) == ("internal", True)
