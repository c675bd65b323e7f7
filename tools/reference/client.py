"""The Python client: every method, and the operation that it sends."""

import inspect
from collections.abc import Iterator
from typing import Any

from preceptor.client import SyncPreceptor
from preceptor.client.operating import Described, Group
from tools.reference.markdown import page, table

INTRODUCTION = """# Python client

Every method of `SyncPreceptor` and `AsyncPreceptor`, which is the same with `await`; [how to use
it](../how-to/python-client.md). What stands before `*` may be given by its place, the rest by name; `**` stands for the
fields of that [value](values.md), in Python's spelling. A method that answers with `Event` is a stream. Answers are the
values that the [operation](rest.md) gives."""
WHOLE = """## The client itself

| method | does |
| --- | --- |
| `say(text, *, agent, conversation)` | Say something, in a conversation or in a new one, and wait for the answer. |
| `stream(text, *, agent, conversation)` | Say something, and hear of each event of the turn. |
| `request(method, path, body, **query)` | An operation that has no name here. Takes and gives plain JSON. |"""


def client_page() -> str:
    groups: dict[str, Any] = vars(SyncPreceptor("http://127.0.0.1"))
    named = {name: group for name, group in groups.items() if isinstance(group, Group)}
    return page(INTRODUCTION, WHOLE, *(_section(name, type(group)) for name, group in named.items()))


def _section(name: str, group: type) -> str:
    told = table(("method", "sends", "answers", "does"), _rows(group))
    return f"## {name}\n\n{inspect.getdoc(group)}\n\n{told}"


def _rows(group: type) -> Iterator[tuple[str, str, str, str]]:
    for name, one in vars(group).items():
        if isinstance(one, Described):
            answer = one.signature.return_annotation
            yield f"`{name}({_taken(one)})`", f"`{one.method} {one.path}`", f"`{_named(answer)}`", one.__doc__ or ""


def _taken(one: Described[Any]) -> str:
    said: list[str] = []
    for place in list(one.signature.parameters.values())[1:]:
        if place.kind is place.KEYWORD_ONLY and "*" not in said:
            said.append("*")
        said.append(f"**{_body(one)}" if place.kind is place.VAR_KEYWORD else place.name)
    return ", ".join(said)


def _body(one: Described[Any]) -> str:
    return _named(one.body).replace(" | ", " or ")


def _named(kind: Any) -> str:
    if kind is None:
        return "None"
    return kind.__name__ if isinstance(kind, type) else " | ".join(part.__name__ for part in kind.__args__)
