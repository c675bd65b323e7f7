import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis.engine import Status, events, from_schema
from schemathesis.engine.recorder import ScenarioRecorder

from tests.requirements import covers
from tests.serving import serving

EXAMPLES = 1000 if os.environ.get("PRECEPTOR_NIGHTLY") else 30
SEED = 20_260
GENEROUS = {"PRECEPTOR_RATE_LIMIT_PER_KEY": "1000000", "PRECEPTOR_RATE_LIMIT_PER_ORG": "1000000"}
FOLLOW = "GET /api/conversations/{conversation_id}/events"

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
            "generation": {"max-examples": EXAMPLES, "database": "none"},
        }
    )


@the.hook("before_call")
def say_what_a_schema_cannot(_: object, case: Any, __: object) -> None:
    """Some valid values are right only at the right moment: a new request has a new key, a fresh tag, a later end."""
    if re.fullmatch(r"[\x21-\x7e]{1,200}", case.headers.get("idempotency-key", "")):
        case.headers["idempotency-key"] += f"-{next(numbers)}"
    if '"' in case.headers.get("if-match", ""):
        case.headers["if-match"] = "*"
    body: Any = case.body if hasattr(case.body, "get") else {}
    if is_past(body.get("expiresAt")):
        case.body = body | {"expiresAt": "2999-12-31T23:59:59Z"}
    if case.operation.label == FOLLOW:  # which never ends: its first event is there at once, the next one may never be
        case.query = {name: 0 if is_position(value) else value for name, value in case.query.items()}
        case.headers.update({name: "0" for name in ("last-event-id",) if is_position(case.headers.get(name))})


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


@covers("B1")
def test_no_generated_request_breaks_a_promise_of_the_document(database_url: str, tmp_path: Path):
    phases: dict[str, Status] = {}
    tried: set[str] = set()
    found: list[str] = []
    with serving(tmp_path, PRECEPTOR_DATABASE_URL=database_url, **GENEROUS) as served:
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
