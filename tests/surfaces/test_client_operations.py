"""The operations of the Python client are those of the OpenAPI document: which there are, what they take and answer."""

import inspect
import json
import re
from collections import defaultdict
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel
from pydantic.alias_generators import to_camel, to_snake

from preceptor.client import ApiError, AsyncPreceptor, SyncPreceptor
from preceptor.client.operating import HEADERS, Described, Group, Operation, Streaming, Upload
from preceptor.surfaces.inward import Inward
from tests.conftest import ADMIN_KEY
from tests.surfaces.helpers import BODIES, FILES, app_of, filled, one_of_everything
from tests.surfaces.talking import Talk, talking
from tests.talking import settings_in
from tools import fields
from tools.site import SITE

Json = dict[str, Any]
OPERATIONS: dict[str, Described[Any]] = {
    f"{noun}.{name}": described
    for noun, group in vars(SyncPreceptor("http://127.0.0.1")).items()
    if isinstance(group, Group)
    for name, described in vars(type(group)).items()  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(described, Described)
}
LEFT_OUT = {
    "/healthz": "probes ask it",
    "/readyz": "probes ask it",
    "/metrics": "Prometheus asks it",
    "/v1/models": "OpenAI's client asks it",
    "/v1/models/{}": "OpenAI's client asks it",
    "/v1/chat/completions": "OpenAI's client asks it",
    "/v1/responses": "OpenAI's client asks it",
    "/mcp": "a client of MCP speaks to it",
}
"""What the client has no name for, and why. Whoever adds an operation gives it a name, or says here why not."""
ELSEWHERE = {
    "format": "the answer has the prompt beside everything else",
    "Last-Event-ID": "a stream is taken up again",
}
"""Parameters that the client does not take, and why."""


def nameless(path: str) -> str:
    return re.sub(r"{\w+}", "{}", path)


DOCUMENT: Json = json.loads((SITE.parent / "docs/reference/openapi.json").read_text(encoding="utf-8"))
DOCUMENTED: dict[tuple[str, str], Json] = {
    (method.upper(), nameless(path)): told | {"path": path}
    for path, methods in DOCUMENT["paths"].items()
    for method, told in methods.items()
}
"""Every operation by its method and its path without the names in it."""


def test_every_operation_of_the_document_has_a_name_in_the_client():
    named = {(one.method, nameless(one.path)) for one in OPERATIONS.values()}
    assert {line for line in DOCUMENTED if line[1] not in LEFT_OUT} == named
    assert {path for _, path in DOCUMENTED} >= set(LEFT_OUT)


def test_what_can_be_streamed_is():
    streams = {(one.method, nameless(one.path)) for one in OPERATIONS.values() if isinstance(one, Streaming)}
    told = {
        line
        for line, one in DOCUMENTED.items()
        if line[1] not in LEFT_OUT and "text/event-stream" in one["responses"].get("200", {}).get("content", {})
    }
    assert streams == told


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_takes_what_the_document_says(name: str):
    described = OPERATIONS[name]
    told = DOCUMENTED[described.method, nameless(described.path)]
    by_name = {
        one.name: one for one in described.signature.parameters.values() if one.kind is inspect.Parameter.KEYWORD_ONLY
    }
    sent = {HEADERS[one].lower() if one in HEADERS else to_camel(one.rstrip("_")) for one in by_name}
    documented_ones = {one["name"]: one for one in told.get("parameters", ()) if one["in"] != "path"}
    assert sent == set(documented_ones) - set(ELSEWHERE)
    for one in by_name.values():
        if words := words_of(one.annotation):
            assert words == set(enum_of(documented_ones[to_camel(one.name.rstrip("_"))])), one.name
    assert ("requestBody" in told) == (described.body is not None or isinstance(described, Upload))
    if isinstance(described, Operation):
        done = next(answer for status, answer in told["responses"].items() if status.startswith("2"))
        assert ("content" in done) == (described.answer is not None)


def words_of(annotation: Any) -> set[str]:
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    return set[str]().union(*(words_of(part) for part in get_args(annotation)))


def enum_of(parameter: Json) -> list[str]:
    """The words that a parameter may be, wherever the document has them."""
    schema = parameter["schema"]
    for one in schema.get("anyOf", [schema]):
        if "$ref" in one:
            return DOCUMENT["components"]["schemas"][one["$ref"].rsplit("/", 1)[1]]["enum"]
        if "enum" in one:
            return one["enum"]
    return []


@pytest.mark.parametrize("name", [name for name, one in OPERATIONS.items() if one.body is not None])
def test_a_body_can_be_given_by_its_fields(name: str):
    """A field that is added to a value is one that the client takes; `make docs` writes most of them."""
    described = OPERATIONS[name]
    places = described.signature.parameters
    taken = set(described.takes)
    if "fields" in places:
        (typed,) = get_args(places["fields"].annotation)
        taken |= set(typed.__annotations__)
    bodies: tuple[type[BaseModel], ...] = get_args(described.body) or (described.body,)
    wanted = set[str]().union(*(one.model_fields for one in bodies))
    assert taken in (wanted, {"given"})


def test_the_fields_are_written_from_the_values():
    for path, text in fields.modules().items():
        assert path.read_text(encoding="utf-8") == text, "run `make docs`"


def test_every_method_says_what_it_does_in_both_clients():
    for client in (SyncPreceptor("http://127.0.0.1"), AsyncPreceptor("http://127.0.0.1")):
        for name in OPERATIONS:
            noun, _, verb = name.partition(".")
            method = getattr(getattr(client, noun), verb)
            assert (method.__name__, bool(method.__doc__)) == (verb, True)
            assert "self" not in inspect.signature(method).parameters


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncGenerator[Talk]:
    async with talking(settings_in(tmp_path)) as made:
        yield made


async def test_every_operation_answers_the_client_with_its_type(talk: Talk):
    """What each operation is shown to accept elsewhere is sent by the client, and what comes is of the type it says."""
    ids = defaultdict[str, str](lambda: "x", await one_of_everything(talk.client, "everything"))
    declined: dict[str, str] = {}
    async with AsyncPreceptor(
        "http://127.0.0.1", key=ADMIN_KEY, retries=0, transport=Inward(app_of(talk.client))
    ) as asking:
        for name in sorted(OPERATIONS, key=destruction):
            described = OPERATIONS[name]
            told = DOCUMENTED[described.method, nameless(described.path)]
            named = [ids[one] for one in re.findall(r"{(\w+)}", told["path"])]
            noun, _, verb = name.partition(".")
            method = getattr(getattr(asking, noun), verb)
            try:
                if isinstance(described, Streaming):
                    await begins(method(*named, **sendable(told["operationId"], ids)))
                else:
                    result = await method(*named, **sendable(told["operationId"], ids))
                    assert (result is None) == (described.signature.return_annotation is None), name
            except ApiError as error:
                declined[name] = error.code
    # The first was erased before, the next has a gate that nothing has passed, and the last was edited before.
    assert declined == {
        "conversations.archive": "not_found",
        "instructions.move_label": "gate_closed",
        "messages.edit": "not_found",
    }


async def begins(events: AsyncGenerator[Any]) -> None:
    """Hear the beginning, and all of it where it ends."""
    async for event in events:
        assert event.seq
        if event.kind == "conversation.started":
            break
    await events.aclose()


def destruction(name: str) -> int:
    """What takes something away comes after what looks at it."""
    order = (
        "views.compact",
        "messages.stream_regenerated",
        "messages.regenerate",
        "messages.stream_edited",
        "messages.edit",
        "experiments.promote",
        "conversations.erase",
    )
    last = 10 if name == "instructions.delete" else 9 * (OPERATIONS[name].method == "DELETE")
    return order.index(name) + 1 if name in order else last


def sendable(operation: str, ids: dict[str, str]) -> Json:
    if operation in FILES:
        name, data = FILES[operation]["file"]
        return {"data": data, "name": name, "media_type": "text/plain"}
    body = filled(BODIES.get(operation, {}), ids)
    if operation == "bundles_bring_in":
        return {"given": body}
    if operation == "views_compact":
        body = body | {"messageIds": [ids["message_id"]]}
    return {to_snake(name): value for name, value in body.items()}
