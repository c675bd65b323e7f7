import json
import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest
import schemathesis
from pydantic import TypeAdapter
from schemathesis.engine import Status, events, from_schema
from schemathesis.engine.recorder import ScenarioRecorder

from preceptor.domain.agents import Fallbacks
from preceptor.domain.errors import PreceptorError
from preceptor.domain.instructions.content import ValidationRules
from preceptor.domain.instructions.effective import Customizations
from preceptor.domain.instructions.instruction import Variables
from preceptor.domain.instructions.shipped import SHIPPED
from preceptor.domain.instructions.version import WrittenPin
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.providers import Url
from preceptor.domain.reasoning.tables import shown, tables
from preceptor.domain.reasoning.wording import TemplateNames
from preceptor.domain.value import Json, Text
from tests.conftest import NOBODY
from tests.requirements import covers
from tests.serving import serving

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
EXAMPLES = 1000 if NIGHTLY else 4
SEED = 20_260
"""Where nobody answers."""
GENEROUS = {"PRECEPTOR_RATE_LIMIT_PER_KEY": "1000000", "PRECEPTOR_RATE_LIMIT_PER_ORG": "1000000"}
IMPORT = "POST /api/instructions/import"
ATTACH = "POST /api/attachments"
OFF = {"enabled": False}
NAMING = (
    "POST /api/conversations/{conversation_id}/edit",
    "POST /api/conversations/{conversation_id}/regenerate",
    "POST /api/conversations/{conversation_id}/compact",
    "POST /api/agents/{agent_id}/instructions",
    "POST /api/agents/{agent_id}/instructions/impact",
    "PUT /api/instructions/{instruction_id}/labels/{label}",
    "POST /api/instructions/{instruction_id}/labels/{label}/gate/run",
)
"""Their bodies name something else by its id: a 404 may speak of that, and not of what was just made."""
PARAMETERISED = (
    "PATCH /api/agents/{agent_id}",
    "POST /api/conversations",
    "PATCH /api/conversations/{conversation_id}",
    "POST /api/replays",
    "PUT /api/instructions/{instruction_id}/labels/{label}/gate",
    "POST /api/instructions/experiments",
)
"""They take request parameters as `POST /api/agents` does: by day every boundary of those is tried there alone."""
VERSIONS = ("controlInstructionId", "variantInstructionId")
REFUSED = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]
"""As usual, and 413: a list with too many items may be too large before it is too long."""
VARIABLES = TypeAdapter[Any](Variables)
JSON_OBJECT = TypeAdapter[Any](dict[Text, Json])
CUSTOMIZATIONS = TypeAdapter[Any](Customizations)
PIN = TypeAdapter[Any](WrittenPin)
PARAMETERS = TypeAdapter[Any](RequestParameters)
URL = TypeAdapter[Any](Url)
FALLBACKS = TypeAdapter[Any](Fallbacks)
NAMES = TypeAdapter[Any](TemplateNames)
RULES = TypeAdapter[Any](ValidationRules | None)

the: Any = schemathesis
numbers = count(1)


def configuration(url: str, key: str) -> Any:
    """Every check of Schemathesis is on, but where an operation says why not."""
    return the.Config.from_dict(
        {
            "seed": SEED,
            "base-url": url,
            "auth": {"openapi": {"key": {"bearer": key}}},
            "continue-on-failure": True,
            "request-timeout": 60,
            "max-stream-events": 1,
            "checks": {"negative_data_rejection": {"expected-statuses": REFUSED}},
            # Whatever a form says in the place of a file, `false` or `0`, is a file of that text.
            "operations": [
                {"include-name": ATTACH, "checks": {"negative_data_rejection": {"enabled": False}}},
                *({"include-name": name, "checks": {"ensure_resource_availability": OFF}} for name in NAMING),
                *({"include-name": name, "phases": {"coverage": {"enabled": NIGHTLY}}} for name in PARAMETERISED),
            ],
            "generation": {"max-examples": EXAMPLES, "database": "none"},
            **({} if NIGHTLY else {"phases": {"coverage": {"unexpected-methods": ["TRACE"]}}}),
        }
    )


@the.hook("before_call")
def say_what_a_schema_cannot(_: object, case: Any, __: object) -> None:
    """Some valid values are right only at the right moment, or together with others."""
    body, label = timely(case), case.operation.label
    if label in SAID:
        SAID[label](case, body)
    elif label == IMPORT:
        case.body = importable(body) if is_positive(case) else case.body
    elif "{agent_id}/instructions" in label and isinstance(body, dict):
        case.body = assignable(cast("dict[str, Any]", body))
    elif "/api/instructions" in label and isinstance(body, dict):
        case.body = sayable(cast("dict[str, Any]", body))
        shipped = SHIPPED.get(str(case.path_parameters.get("template_id")))
        if shipped is not None and case.body.get("customizations", {}) == {}:
            needed = [gap.name for gap in shipped.variables if gap.required and gap.default is None]
            case.body["customizations"] = dict.fromkeys(needed, "x")


def attach(case: Any, _: Any) -> None:
    if is_positive(case):
        case.body = {"file": b"Not every file is one that can be read."}


def follow(case: Any, _: Any) -> None:
    """From the beginning: a stream never ends, its first event is there at once, the next one may never be."""
    case.query = {name: 0 if is_position(value) else value for name, value in case.query.items()}
    case.headers.update({name: "0" for name in ("last-event-id",) if is_position(case.headers.get(name))})


def decide(case: Any, body: Any) -> None:
    if fits(JSON_OBJECT, body.get("facts")):
        case.body = body | {"facts": facts_of(str(case.path_parameters.get("table_id")))}


def foresee(case: Any, _: Any) -> None:
    """With limits that leave room for the prompt."""
    case.query = {name: 2**30 if is_position(value) else value for name, value in case.query.items()}


def look_back(case: Any, _: Any) -> None:
    """At a moment that has passed."""
    if is_moment(case.query.get("at")):
        case.query["at"] = "2001-01-01T00:00:00Z"


def be_a_period(said: Any) -> None:
    """Which ends after it begins."""
    if is_moment(said.get("from")) and is_moment(said.get("to")):
        del said["to"]


def speak_with_a_model_there_is(case: Any, body: Any) -> None:
    """And with the words that there are."""
    said: Any = body.get("sgr")
    if isinstance(said, dict) and fits(NAMES, cast("dict[str, Any]", said).get("templateInstructions")):
        case.body = body = body | {"sgr": said | {"templateInstructions": {}}}
    if isinstance(body.get("model"), str):
        case.body = body = body | {"model": None}
    if fits(FALLBACKS, body.get("fallbackModels")):
        case.body = body | {"fallbackModels": []}


def call_someone_allowed(case: Any, body: Any) -> None:
    """At an address that the operator has named."""
    kind = body.get("kind")
    if fits(URL, body.get("url")) or (kind == "openai-compatible" and body.get("url", None) is None):
        case.body = body | {"url": f"{NOBODY}/v1"}


def be_told_at_an_allowed_address(case: Any, body: Any) -> None:
    """Of what seldom happens: nobody is there."""
    if fits(URL, body.get("url")):
        case.body = body | {"url": NOBODY} | ({"events": ["turn.blocked"]} if is_positive(case) else {})


def compare_settings(case: Any, body: Any) -> None:
    """Either two versions that there are, or two ways to take turns."""
    if is_positive(case):
        said = {name: value for name, value in body.items() if name not in VERSIONS}
        case.body = said | {"settings": {"variant": {"parameters": {"temperature": 0.5}}}}


def replay_some(case: Any, body: Any) -> None:
    """Turns by their ids or by a filter, with a model there is."""
    if is_positive(case):
        said = {name: value for name, value in body.items() if name != "filter" or "turnIds" not in body}
        case.body = said | ({"overrides": {}} if "overrides" in said else {})


def carry_out_one_step(case: Any, body: Any) -> None:
    """Which waits for none, and needs nothing of any."""
    if is_positive(case):
        command = {"type": "agent.loadInstructions", "resource": {"type": "agent", "id": "assistant"}}
        case.body = body | {"steps": [body["steps"][0] | {"dependsOn": [], "command": command}]}


SAID: dict[str, Callable[[Any, Any], None]] = {
    "POST /api/attachments": attach,
    "GET /api/conversations/{conversation_id}/events": follow,
    "POST /api/decision-tables/{table_id}/test": decide,
    "GET /api/conversations/{conversation_id}/context/plan": foresee,
    "GET /api/agents/{agent_id}/instructions/effective": look_back,
    "GET /api/reasoning/metrics": lambda case, _: be_a_period(case.query),
    "POST /api/reasoning/back-test": lambda _, body: be_a_period(body),
    "POST /api/providers": call_someone_allowed,
    "PATCH /api/providers/{provider_id}": call_someone_allowed,
    "POST /api/webhooks": be_told_at_an_allowed_address,
    "POST /api/mcp-servers": call_someone_allowed,
    "PATCH /api/mcp-servers/{server_id}": call_someone_allowed,
    "POST /api/instructions/experiments": compare_settings,
    "POST /api/replays": replay_some,
    "POST /api/executions": carry_out_one_step,
    "POST /api/agents": speak_with_a_model_there_is,
    "PATCH /api/agents/{agent_id}": speak_with_a_model_there_is,
}


def timely(case: Any) -> Any:
    """A new request has a new key, a fresh tag, a later end; and it asks of history what the prompt leaves room for."""
    if re.fullmatch(r"[\x21-\x7e]{1,200}", case.headers.get("idempotency-key", "")):
        case.headers["idempotency-key"] += f"-{next(numbers)}"
    if '"' in case.headers.get("if-match", ""):
        case.headers["if-match"] = "*"
    body: Any = case.body if hasattr(case.body, "get") else {}
    if is_past(body.get("expiresAt")):
        case.body = body = body | {"expiresAt": "2999-12-31T23:59:59Z"}
    said: Any = body.get("parameters")
    if isinstance(said, dict) and (is_positive(case) or fits(PARAMETERS, said)):
        case.body = body = body | {"parameters": roomy(cast("dict[str, Any]", said))}
    return body


def roomy(parameters: dict[str, Any]) -> dict[str, Any]:
    """Limits that leave room for the prompt, and headers that are not our own."""
    limits = ("maxTokens", "maxPromptTokens", "maxHistorySize", "compressionStrategy", "customHeaders")
    return {name: value for name, value in parameters.items() if name not in limits}


def facts_of(table: str) -> dict[str, Any]:
    """A value that each input of a table can have. Numbers may be unknown."""
    inputs = shown(tables()[table]).inputs if table in tables() else ()
    return {one.name: one.values[0] for one in inputs if one.values}


def is_positive(case: Any) -> bool:
    return bool(case.meta and case.meta.generation.mode.is_positive)


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
    return is_moment(text) and datetime.fromisoformat(text) <= datetime.now(UTC)


def is_moment(text: Any) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except (TypeError, ValueError):
        return False


def is_position(value: Any) -> bool:
    return re.fullmatch(r"\d{1,16}(\.0)?", str(value)) is not None


def complaints(recorder: ScenarioRecorder) -> Iterator[str]:
    for case, checks in recorder.checks.items():
        answer = recorder.interactions[case].response if case in recorder.interactions else None
        told = "" if answer is None else answer.content.decode(errors="replace")[:1000]
        for check in checks:
            if check.failure_info is not None:
                failure = check.failure_info.failure
                yield f"{check.name}: {failure.operation}\n{failure.message}\n{check.failure_info.code_sample}\n{told}"


@covers("B1")
@pytest.mark.parametrize("database_url", ["sqlite", "postgres"] if NIGHTLY else ["sqlite"], indirect=True)
def test_no_generated_request_breaks_a_promise_of_the_document(database_url: str, tmp_path: Path):
    """On one database by day: what reads a request is the same for both."""
    phases: dict[str, Status] = {}
    tried: set[str] = set()
    found: list[str] = []
    script = tmp_path / "script.json"
    script.write_text('[{"text": "Understood.", "repeat": true}]')
    model = {"PRECEPTOR_MODEL": f"scripted:{script}", "PRECEPTOR_EGRESS_ALLOW": NOBODY}
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
