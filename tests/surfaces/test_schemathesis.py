import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest
import schemathesis
from pydantic import TypeAdapter
from schemathesis.engine import Status, events, from_schema
from schemathesis.engine.recorder import ScenarioRecorder

from preceptor.domain.errors import PreceptorError
from preceptor.domain.instructions.content import ValidationRules
from preceptor.domain.instructions.effective import Customizations
from preceptor.domain.instructions.instruction import Variables
from preceptor.domain.instructions.shipped import SHIPPED
from preceptor.domain.instructions.version import WrittenPin
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.value import Json, Text
from tests.requirements import covers
from tests.serving import serving

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
EXAMPLES = 1000 if NIGHTLY else 6
SEED = 20_260
GENEROUS = {"PRECEPTOR_RATE_LIMIT_PER_KEY": "1000000", "PRECEPTOR_RATE_LIMIT_PER_ORG": "1000000"}
IMPORT = "POST /api/instructions/import"
ATTACH = "POST /api/attachments"
FOLLOW = "GET /api/conversations/{conversation_id}/events"
METRICS = "GET /api/reasoning/metrics"
LOOSER = (
    "PATCH /api/agents/{agent_id}",
    "POST /api/agents",
    "GET /api/conversations/{conversation_id}/messages",
    "POST /api/conversations/{conversation_id}/messages",
    "GET /api/conversations/{conversation_id}/views",
    "GET /api/conversations/{conversation_id}/context/plan",
    "POST /api/decision-tables/{table_id}/test",
    "POST /api/reasoning/back-test",
)
"""Known gap: their document accepts cursors, facts and limits that only their meaning rules out."""
OFF = {"enabled": False}
NEITHER = {"positive_data_acceptance": OFF, "negative_data_rejection": OFF}
REFUSED = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]
"""As usual, and 413: a list with too many items may be too large before it is too long."""
VARIABLES = TypeAdapter[Any](Variables)
JSON_OBJECT = TypeAdapter[Any](dict[Text, Json])
CUSTOMIZATIONS = TypeAdapter[Any](Customizations)
PIN = TypeAdapter[Any](WrittenPin)
PARAMETERS = TypeAdapter[Any](RequestParameters)
RULES = TypeAdapter[Any](ValidationRules | None)

the: Any = schemathesis
numbers = count(1)


def configuration(url: str, key: str) -> Any:
    """Every check of Schemathesis is on, because none is named here."""
    return the.Config.from_dict(
        {
            "seed": SEED,
            "base-url": url,
            "auth": {"openapi": {"key": {"bearer": key}}},
            "continue-on-failure": True,
            "request-timeout": 20,
            "max-stream-events": 1,
            "checks": {"negative_data_rejection": {"expected-statuses": REFUSED}},
            # Whatever a form says in the place of a file, `false` or `0`, is a file of that text.
            "operations": [
                {"include-name": ATTACH, "checks": {"negative_data_rejection": {"enabled": False}}},
                {"include-name": METRICS, "checks": NEITHER},
                *({"include-name": name, "checks": {"positive_data_acceptance": OFF}} for name in LOOSER),
            ],
            "generation": {"max-examples": EXAMPLES, "database": "none"},
        }
    )


@the.hook("before_call")
def say_what_a_schema_cannot(_: object, case: Any, __: object) -> None:
    """Some valid values are right only at the right moment, or together with others."""
    body = timely(case)
    if case.operation.label == IMPORT:
        case.body = importable(body) if case.meta and case.meta.generation.mode.is_positive else case.body
    elif "{agent_id}/instructions" in case.operation.label and isinstance(body, dict):
        case.body = assignable(cast("dict[str, Any]", body))
    elif "/api/instructions" in case.operation.label and isinstance(body, dict):
        case.body = sayable(cast("dict[str, Any]", body))
        shipped = SHIPPED.get(str(case.path_parameters.get("template_id")))
        if shipped is not None and case.body.get("customizations", {}) == {}:
            needed = [gap.name for gap in shipped.variables if gap.required and gap.default is None]
            case.body["customizations"] = dict.fromkeys(needed, "x")
    if case.operation.label == ATTACH and case.meta and case.meta.generation.mode.is_positive:
        case.body = {"file": b"Not every file is one that can be read."}
    if case.operation.label == FOLLOW:  # which never ends: its first event is there at once, the next one may never be
        case.query = {name: 0 if is_position(value) else value for name, value in case.query.items()}
        case.headers.update({name: "0" for name in ("last-event-id",) if is_position(case.headers.get(name))})


def timely(case: Any) -> Any:
    """A new request has a new key, a fresh tag, a later end; and it asks of history what the prompt leaves room for."""
    if re.fullmatch(r"[\x21-\x7e]{1,200}", case.headers.get("idempotency-key", "")):
        case.headers["idempotency-key"] += f"-{next(numbers)}"
    if '"' in case.headers.get("if-match", ""):
        case.headers["if-match"] = "*"
    body: Any = case.body if hasattr(case.body, "get") else {}
    if is_past(body.get("expiresAt")):
        case.body = body = body | {"expiresAt": "2999-12-31T23:59:59Z"}
    positive = case.meta and case.meta.generation.mode.is_positive
    said: Any = body.get("parameters")
    if said is not None and (positive or fits(PARAMETERS, said)):
        case.body = body = body | {"parameters": None}
    return body


def sayable(body: dict[str, Any]) -> dict[str, Any]:
    """Variables have names of their own, in templates only; values fit them; rules are given once."""
    news: dict[str, Any] = {}
    if fits(VARIABLES, body.get("variables")):
        news["variables"] = []
    for name in ("customizations", "context"):
        if fits(JSON_OBJECT, body.get(name)):
            news[name] = {}
    content: Any = body.get("content")
    if "validationRules" in body and isinstance(content, dict):
        said = cast("dict[str, Any]", content)
        if fits(RULES, said.get("validationRules")):
            news["content"] = {name: value for name, value in said.items() if name != "validationRules"}
    return body | news | ({"mode": "render"} if body.get("mode") == "run" else {})


def assignable(body: dict[str, Any]) -> dict[str, Any]:
    """What is disabled is there, and what a pin names is there."""
    news: dict[str, Any] = {}
    if fits(CUSTOMIZATIONS, body.get("customizations")):
        news["customizations"] = body["customizations"] | {"disabledConstraints": []}
    if fits(PIN, body.get("pin")):
        news["pin"] = "latest"
    return body | news


def importable(body: dict[str, Any]) -> dict[str, Any]:
    """Of each instruction one version, under ids of their own, and no one to give them to."""
    news: list[dict[str, Any]] = [
        {"familyId": f"family-{number}", "versions": [plain(version) for version in one["versions"][:1]]}
        for number, one in enumerate(body.get("instructions", ()))
    ]
    return body | {"instructions": news, "assignments": []}


def plain(version: dict[str, Any]) -> dict[str, Any]:
    """Without rules, of which there may be two sets, and without variables, which only a template has."""
    said = {name: value for name, value in version.items() if name not in {"validationRules", "variables"}}
    content = {name: value for name, value in said.get("content", {}).items() if name != "validationRules"}
    return said | {"content": content}


def fits(kind: TypeAdapter[Any], told: Any) -> bool:
    try:
        kind.validate_json(json.dumps(told), strict=True, by_alias=True, by_name=False)
    except (TypeError, ValueError, PreceptorError):
        return False
    return True


def is_past(text: Any) -> bool:
    try:
        return datetime.fromisoformat(text) <= datetime.now(UTC)
    except (TypeError, ValueError):
        return False


def is_position(value: Any) -> bool:
    return re.fullmatch(r"\d{1,16}(\.0)?", str(value)) is not None


def complaints(recorder: ScenarioRecorder) -> Iterator[str]:
    for checks in recorder.checks.values():
        for check in checks:
            if check.failure_info is not None:
                failure = check.failure_info.failure
                yield f"{check.name}: {failure.operation}\n{failure.message}\n{check.failure_info.code_sample}"


@pytest.fixture
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The document is the same on both databases, and so is the code that answers: one is enough by day."""
    if NIGHTLY:
        return request.getfixturevalue("postgres").new_database(template=request.getfixturevalue("postgres_template"))
    return f"sqlite:///{tmp_path / 'preceptor.db'}"


@covers("B1")
def test_no_generated_request_breaks_a_promise_of_the_document(database_url: str, tmp_path: Path):
    phases: dict[str, Status] = {}
    tried: set[str] = set()
    found: list[str] = []
    script = tmp_path / "script.json"
    script.write_text('[{"text": "Understood.", "repeat": true}]')
    model = {"PRECEPTOR_MODEL": f"scripted:{script}"}
    with serving(tmp_path, PRECEPTOR_DATABASE_URL=database_url, **GENEROUS, **model) as served:
        config = configuration(served.url, served.admin_key)
        schema = the.openapi.from_url(f"{served.url}/openapi.json", config=config)
        for event in from_schema(schema).execute():
            match event:
                case events.PhaseFinished():
                    phases[event.phase.name.value] = event.status
                case events.ScenarioFinished():
                    nodes: Any = event.recorder.cases.values()
                    tried |= {node.value.operation.label for node in nodes}
                    found += complaints(event.recorder)
                case events.NonFatalError() | events.FatalError():
                    found.append(str(event))
                case _:
                    pass
    assert not found, "\n\n".join(dict.fromkeys(found))
    assert {phases[name] for name in ("coverage", "fuzzing", "stateful")} == {Status.SUCCESS}
    assert tried == {operation.ok().label for operation in schema.get_all_operations()}
