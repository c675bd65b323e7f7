"""The OpenAPI document: what FastAPI derives, with our security scheme, our one error body, headers and links."""

import re
import warnings
from typing import Any, cast, get_args

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.alias_generators import to_camel
from pydantic.warnings import UnsupportedFieldAttributeWarning

from preceptor.surfaces.problems import MEDIA_TYPE, Problem
from preceptor.surfaces.rest.routing import Operation

_PROBLEM = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
_ERRORS = {
    "401": "No valid credential.",
    "403": "The credential lacks a permission.",
    "422": "The request is not as documented here.",
    "429": "Too many requests; see Retry-After.",
    "503": "The database is away or the server stops; see Retry-After.",
    "4XX": "Another refusal; `code` says which.",
    "5XX": "Another failure; `code` says which.",
}
_HEADERS: dict[str, dict[str, Any]] = {
    "ETag": {"description": "Send it back as If-Match.", "schema": {"type": "string"}},
    "Idempotent-Replayed": {
        "description": "`true`: this key was sent before, and nothing was done again.",
        "required": False,
        "schema": {"const": "true"},
    },
    "Location": {"description": "Where it can be read.", "schema": {"type": "string", "format": "uri-reference"}},
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}},
    "X-Request-Id": {"description": "Names this request in our log.", "schema": {"type": "string"}},
}

_LINKED_BY = {"instruction_id": "familyId"}
"""What is done to an instruction is done to its family, unless a version is named."""


def describe(app: FastAPI) -> dict[str, Any]:
    """Build the document once, on first use."""
    if app.openapi_schema:
        return app.openapi_schema
    with warnings.catch_warnings():
        # FastAPI names each body, and knows that this means nothing to pydantic. Our values are built only now.
        warnings.simplefilter("ignore", UnsupportedFieldAttributeWarning)
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
    schemas |= problem.pop("$defs", {}) | {"Problem": problem}
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    _close(schemas)
    components["headers"] = {name: {"required": True, **header} for name, header in _HEADERS.items()}
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    for route in app.routes:
        if isinstance(route, Operation) and route.include_in_schema:
            for method in route.methods or ():
                _complete(document["paths"][route.path_format][method.lower()], route)
    _link(document["paths"])
    app.openapi_schema = document
    return document


def _complete(operation: dict[str, Any], route: Operation) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    for status, meaning in _ERRORS.items():
        if status not in responses and (route.needs is not None or status in {"4XX", "5XX"}):
            responses[status] = {"description": meaning, "content": _PROBLEM}
    for status, response in responses.items():
        names = ["X-Request-Id"]
        names += ["Retry-After"] if status in {"429", "503"} else []
        names += ["Location"] if status == "202" and "content" in response else []
        names += ["Idempotent-Replayed"] if status < "300" and _once(operation) else []
        response["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
        response["headers"] |= _tag(route.response_model) if status < "300" else {}
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _never_null(parameter["schema"])
    if route.needs is not None:
        operation["security"] = [{"key": []}]


def _tag(answer: Any) -> dict[str, Any]:
    """The ETag of an answer. Where it may be one of several things, perhaps not all of them have one."""
    having = [hasattr(kind, "etag") for kind in get_args(answer) or (answer,)]
    if all(having):
        return {"ETag": {"$ref": "#/components/headers/ETag"}}
    return {"ETag": {**_HEADERS["ETag"], "required": False}} if any(having) else {}


def _once(operation: dict[str, Any]) -> bool:
    return any(parameter["name"] == "idempotency-key" for parameter in operation.get("parameters", ()))


def _never_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is there or it is not: the null of an optional one exists in Python only."""
    choices = [choice for choice in schema.pop("anyOf", [{}]) if choice != {"type": "null"}]
    return {**(choices[0] if len(choices) == 1 else {"anyOf": choices}), **schema}


def _close(schema: Any) -> None:
    """Where keys follow a pattern there are no others: Pydantic enforces that, but does not say so."""
    if isinstance(schema, dict):
        known = cast("dict[str, Any]", schema)
        if "patternProperties" in known:
            known["additionalProperties"] = False
        schema = list(known.values())
    if isinstance(schema, list):
        for inner in cast("list[Any]", schema):
            _close(inner)


def _link(paths: dict[str, Any]) -> None:
    """From each answer that creates something to the operations on it."""
    for path, operations in paths.items():
        made = operations.get("post", {}).get("responses", {}).get("201")
        for deeper, others in paths.items():
            below = re.match(re.escape(path) + r"/{(\w+)}", deeper)
            if made is None or below is None:
                continue
            where = {below[1]: f"$response.body#/{_LINKED_BY.get(below[1], to_camel(below[1]))}"}
            for name in (other["operationId"] for other in others.values()):
                made.setdefault("links", {})[name] = {"operationId": name, "parameters": where}
