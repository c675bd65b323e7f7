"""The HTTP API: an operation after the other, and the values they take and give."""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

from preceptor.surfaces.rest.routing import Operation
from tools.reference.markdown import page, table

Json = dict[str, Any]
INTRODUCTION = """# REST

Every operation of the HTTP API, from the same document that a running server gives at `/openapi.json`
([as a file](openapi.json)). What operations take and give is described under [Values](values.md).

JSON is camelCase, times are RFC 3339 in UTC. A list is `{"items": […], "nextCursor": …}`: send the cursor back to
read on. An error is a [problem document](errors.md) with a stable `code`. Send `Authorization: Bearer KEY`. A `POST`
may carry an `Idempotency-Key`: within 24 hours the same request is carried out once, however often it arrives. What
can change has an `ETag`: send it back as `If-Match` and no change overwrites another unseen."""
VALUES = """# Values

What the operations of the [REST API](rest.md) take and give. A field in bold must be sent. Fields that are not named
here are refused, not ignored."""
TITLES = {
    "sign_in": "Sign-in links",
    "mcp_servers": "MCP servers",
    "openai": "OpenAI-compatible",
    "mcp": "Model Context Protocol",
    "impact": "Impact of a change",
    "bundles": "The library as a file",
    "erasing": "Erasing",
    "orgs": "Organisations",
}
METHODS = ("get", "post", "put", "patch", "delete")
QUIET = {"401", "403", "408", "422", "429", "503", "500", "4XX", "5XX"}
"""Statuses that every operation can answer with: they are told once, on the page of errors."""


def rest_page(app: FastAPI) -> str:
    document = app.openapi()
    needs = _permissions(app)
    sections: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method in METHODS:
            if operation := methods.get(method):
                tag = operation["tags"][0]
                sections.setdefault(tag, []).append(_operation(method, path, operation, needs))
    parts = [f"## {_title(tag)}\n\n" + "\n\n".join(told) for tag, told in sections.items()]
    return page(INTRODUCTION, *parts)


def values_page(app: FastAPI) -> str:
    schemas: Json = app.openapi()["components"]["schemas"]
    shown = sorted((name_of(name), schema) for name, schema in schemas.items())
    return page(VALUES, *(_value(name, schema) for name, schema in shown))


def name_of(schema: str) -> str:
    """What a value is called on the page: without the place in the code that tells two of one name apart."""
    if not schema.startswith("preceptor__"):
        return schema.removesuffix("_").replace("Page_", "Page of ").replace("__", "_")
    *_, place, name = [part for part in schema.split("__") if part]
    return f"{name} ({place})"


def anchor_of(schema: str) -> str:
    plain = "".join(sign for sign in name_of(schema).lower() if sign.isalnum() or sign in " -_")
    return plain.strip().replace(" ", "-")


def _title(tag: str) -> str:
    return TITLES.get(tag) or tag.replace("_", " ").capitalize()


def _permissions(app: FastAPI) -> dict[str, str]:
    found: dict[str, str] = {}
    for route in _operations(app.routes):
        found[str(route.operation_id)] = "anyone" if route.needs is None else f"`{route.needs}`"
    return found


def _operations(routes: Any) -> Iterator[Operation]:
    for route in routes:
        if isinstance(route, Operation):
            yield route
        yield from _operations(getattr(getattr(route, "original_router", route), "routes", None) or ())


def _operation(method: str, path: str, operation: Json, needs: dict[str, str]) -> str:
    parts = [f"### {method.upper()} {path}", operation.get("description", "")]
    parts.append(f"Permission: {needs[operation['operationId']]}.")
    if parameters := [one for one in operation.get("parameters", ()) if one["name"] != "idempotency-key"]:
        rows = [(_named(one), one["in"], type_of(one["schema"]), _told(one)) for one in parameters]
        parts.append(table(("parameter", "in", "type", "meaning"), rows))
    if body := operation.get("requestBody"):
        parts.append("Takes " + ", ".join(_content(kind, told) for kind, told in body["content"].items()) + ".")
    parts += _answers(operation["responses"])
    return "\n\n".join(parts)


def _answers(responses: Json) -> Iterator[str]:
    for status, response in responses.items():
        if status not in QUIET:
            contents = response.get("content", {}).items()
            shown = " or ".join(_content(kind, told) for kind, told in contents if "problem" not in kind)
            said = response["description"].replace("Successful Response", "").rstrip(".")
            yield f"Answers **{status}**: {'. '.join(filter(None, (said, shown))) or 'nothing'}."


def _content(kind: str, told: Json) -> str:
    schema = told.get("schema")
    return f"{type_of(schema)} (`{kind}`)" if schema and kind != "application/json" else type_of(schema, kind)


def _named(one: Json) -> str:
    return f"**{one['name']}**" if one.get("required") else one["name"]


def _told(one: Json) -> str:
    schema = one.get("schema", one)
    default = schema.get("default")
    said = one.get("description") or schema.get("description") or ""
    return f"{said} Default: `{_written(default)}`.".strip() if default not in (None, [], {}) else said


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def type_of(schema: Json | None, otherwise: str = "anything") -> str:
    if not schema or schema is True:
        return "anything" if schema == {} else f"`{otherwise}`" if otherwise != "anything" else otherwise
    if reference := schema.get("$ref"):
        name = reference.rsplit("/", 1)[1]
        return f"[{name_of(name)}](values.md#{anchor_of(name)})"
    for union in ("anyOf", "oneOf"):
        if union in schema and all("required" not in one or "properties" in one for one in schema[union]):
            return " or ".join(dict.fromkeys(type_of(one) for one in schema[union]))
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " or ".join(f"`{one}`" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {type_of(schema.get('items'))}{_limits(schema)}"
    return f"{_plain(schema)}{_limits(schema)}"


def _plain(schema: Json) -> str:
    kind = schema.get("type", "anything")
    if kind == "object" and isinstance(inside := schema.get("additionalProperties"), dict):
        return f"object of {type_of(inside)}"
    kinds: list[str] = kind if isinstance(kind, list) else [kind]
    names = " or ".join({"string": "text", "integer": "whole number"}.get(one, one) for one in kinds)
    return {"date-time": "time", "binary": "file"}.get(schema.get("format", ""), names)


def _limits(schema: Json) -> str:
    low = schema.get("minimum", schema.get("minItems"))
    high = schema.get("maximum", schema.get("maxItems", schema.get("maxLength")))
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    unit = " characters" if "maxLength" in schema else ""
    told = [
        f"from {_number(low)}" if low is not None else "",
        f"above {_number(above)}" if above is not None else "",
        f"up to {_number(high)}{unit}" if high is not None else "",
        f"below {_number(below)}" if below is not None else "",
    ]
    return f", {' '.join(filter(None, told))}" if any(told) else ""


def _number(number: float) -> str:
    return f"{number:,.0f}" if float(number).is_integer() else str(number)


def _value(name: str, schema: Json) -> str:
    parts = [f"## {name}", schema.get("description", "")]
    if properties := schema.get("properties"):
        required = set(schema.get("required", ()))
        rows = [
            (f"**{field}**" if field in required else field, type_of(told), _told(told))
            for field, told in properties.items()
        ]
        parts.append(table(("field", "type", "meaning"), rows))
    else:
        parts.append(f"{type_of(schema).capitalize() if 'type' not in schema else type_of(schema)}.")
    return "\n\n".join(part for part in parts if part)
