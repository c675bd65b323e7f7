"""An instruction as a Markdown file with front matter, for people who keep their prompts beside their code.

The prompt is the text, lists are lists under their headings, the rest stands in front. What would not be read back as
it was is written into the front matter instead, so nothing is ever lost.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from preceptor.domain.errors import Invalid
from preceptor.wire import strict_yaml

_FENCE = "---"
_SCALARS = ("tone", "language", "formality")
_ORDER = (
    "name", "familyId", "type", "category", "targetRole", "version", "status", "description", "tags", *_SCALARS,
    "isPublic", "labels", "variables", "validationRules", "changelog",
)  # fmt: skip
_ATTRIBUTES = re.compile(
    r"^(?P<text>.*\S) \{(?:#(?P<id>[A-Za-z0-9][\w.:-]*))?(?P<gap> ?)(?P<locked>\.locked)?\}$", re.DOTALL
)
_STEP = re.compile(r"^\*\*(?P<name>.+?)\*\*(?:: (?P<description>.*?))?(?P<optional> \*\(optional\)\*)?$", re.DOTALL)
_EXAMPLE = re.compile(r"^Input: (?P<input>.*)\nAnswer: (?P<answer>.*?)(?:\nWhy: (?P<why>.*))?$")


class BadFile(Invalid):
    """A file that does not say what an instruction must say."""

    code: ClassVar[str] = "invalid"
    file: str = ""
    problem: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.problem.rstrip('.')}."


class Item(NamedTuple):
    mark: str
    text: str


def has_front_matter(text: str) -> bool:
    return _plain(text).startswith(f"{_FENCE}\n")


def write(fields: Mapping[str, Any]) -> str:
    """`fields` are those of an instruction in JSON, with `content` inside."""
    content = dict(fields.get("content", {}))
    front = {name: fields[name] for name in _ORDER if name in fields}
    front |= {name: value for name, value in fields.items() if name not in front and name != "content"}
    front |= {name: content.pop(name) for name in _SCALARS if name in content}
    parts: list[str] = []
    for name in ("systemPrompt", *_HEADINGS):
        if name in content and _survives(name, part := _part(name, content[name]), content[name]):
            parts.append(part)
            del content[name]
    ordered = {name: front[name] for name in sorted(front, key=_place)} | ({"content": content} if content else {})
    return "\n".join([_FENCE, strict_yaml.written(ordered).rstrip("\n"), _FENCE, *(f"\n{part}" for part in parts), ""])


def read(file: str, text: str) -> dict[str, Any]:
    """The fields of an instruction, in JSON. What they must be is checked by whoever asked."""
    front, body = _split(file, _plain(text))
    content: dict[str, Any] = dict(_mapping(file, front.pop("content", None) or {}))
    content |= {name: front.pop(name) for name in _SCALARS if name in front}
    for name, value in _body(file, body):
        if name in content:
            raise BadFile(file=file, problem=f"{name} is said twice; keep one of them")
        content[name] = value
    return {**front, "content": content}


def _place(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def _plain(text: str) -> str:
    """As it is everywhere, whatever the editor made of the ends of its lines."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _split(file: str, text: str) -> tuple[dict[str, Any], str]:
    head, fence, body = text.removeprefix(f"{_FENCE}\n").partition(f"\n{_FENCE}\n")
    if not text.startswith(f"{_FENCE}\n") or not (fence or text.endswith(f"\n{_FENCE}")):
        raise BadFile(file=file, problem="it needs front matter between two lines of ---, with at least name and type")
    try:
        return dict(_mapping(file, strict_yaml.read(head if fence else head.removesuffix(f"\n{_FENCE}")))), body
    except strict_yaml.NotYaml as error:
        raise BadFile(file=file, problem=str(strict_yaml.NotYaml(error.line + 1, error.problem))) from None


def _mapping(file: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadFile(file=file, problem="the front matter must be lines of `name: value`")
    return value  # pyright: ignore[reportUnknownVariableType] - a mapping of the reader has text keys


def _survives(name: str, part: str, value: Any) -> bool:
    try:
        return list(_body("", f"\n{part}\n")) == [(name, value)]
    except BadFile:
        return False


def _part(name: str, value: Any) -> str:
    if name == "systemPrompt":
        return str(value)
    heading, write_one, _ = _HEADINGS[name]
    items = [_item_text(write_one(item)) for item in value]
    return "\n".join([f"## {heading}", "", *items])


def _item_text(item: Item) -> str:
    return f"{item.mark} " + item.text.replace("\n", "\n  ")


def _body(file: str, body: str) -> Iterator[tuple[str, Any]]:
    """The prompt, then every section under a heading that we know."""
    name, lines, seen = "systemPrompt", list[str](), {"systemPrompt"}
    for line in [*body.split("\n"), None]:
        heading = _BY_HEADING.get(line.rstrip()) if line is not None else None
        if line is not None and heading is None:
            lines.append(line)
            continue
        if (value := _section(file, name, lines)) is not None:
            yield name, value
        if heading in seen:
            raise BadFile(file=file, problem=f"the heading {line} occurs twice; join them")
        name, lines = heading or "", []
        seen.add(name)


def _section(file: str, name: str, lines: list[str]) -> Any:
    text = "\n".join(lines).strip("\n")
    if name == "systemPrompt":
        return text if text.strip() else None
    _, _, read_one = _HEADINGS[name]
    return [read_one(file, item) for item in _items(file, name, text)] or None


def _items(file: str, name: str, text: str) -> Iterator[Item]:
    mark, lines = "", list[str]()
    for line in text.split("\n"):
        begins = re.match(r"(-|\*|[0-9]{1,10}\.) (.*)$", line)
        if begins:
            yield from _item(mark, lines)
            mark, lines = begins[1], [begins[2]]
        elif lines and (line.startswith("  ") or not line.strip()):
            lines.append(line[2:])
        elif line.strip():
            raise BadFile(file=file, problem=f"under {name}, {line[:60]!r} is not an item; begin it with `- `")
    yield from _item(mark, lines)


def _item(mark: str, lines: list[str]) -> Iterator[Item]:
    if lines:
        yield Item(mark, "\n".join(lines).strip())


def _line_item(line: str) -> Item:
    return Item("-", line)


def _line_of(file: str, item: Item) -> str:  # noqa: ARG001 - as the others are
    return item.text


def _constraint_item(constraint: str | Mapping[str, Any]) -> Item:
    if isinstance(constraint, str):
        return Item("-", constraint)
    marks = [f"#{constraint.get('id')}"] * ("id" in constraint) + [".locked"] * bool(constraint.get("locked"))
    return Item("-", f"{constraint['text']} {{{' '.join(marks)}}}")


def _constraint_of(file: str, item: Item) -> str | dict[str, Any]:  # noqa: ARG001 - as the others are
    said = _ATTRIBUTES.match(item.text)
    if not said or not (said["id"] or said["locked"]) or bool(said["gap"]) != bool(said["id"] and said["locked"]):
        return item.text
    found = {"id": said["id"], "text": said["text"], "locked": said["locked"] and True}
    return {name: value for name, value in found.items() if value is not None}


def _step_item(step: Mapping[str, Any]) -> Item:
    said = f": {step['description']}" if step.get("description") else ""
    return Item(f"{step['order']}.", f"**{step['name']}**{said}{' *(optional)*' if step.get('optional') else ''}")


def _step_of(file: str, item: Item) -> dict[str, Any]:
    said = _STEP.match(item.text)
    if not said or not item.mark.endswith("."):
        raise BadFile(file=file, problem=f"the step {item.text[:60]!r} is not written as `1. **Name**: description`")
    found = {"order": int(item.mark[:-1]), "name": said["name"], "description": said["description"] or ""}
    if said["optional"]:
        found["optional"] = True
    return {name: value for name, value in found.items() if name != "description" or value}


def _example_item(example: Mapping[str, Any]) -> Item:
    why = f"\nWhy: {example['explanation']}" if example.get("explanation") is not None else ""
    return Item("-", f"Input: {example['input']}\nAnswer: {example['expectedOutput']}{why}")


def _example_of(file: str, item: Item) -> dict[str, Any]:
    said = _EXAMPLE.match(item.text)
    if not said:
        raise BadFile(file=file, problem=f"the example {item.text[:60]!r} needs the lines `Input: …` and `Answer: …`")
    found = {"input": said["input"], "expectedOutput": said["answer"], "explanation": said["why"]}
    return {name: value for name, value in found.items() if value is not None}


class _Section(NamedTuple):
    heading: str
    write: Callable[[Any], Item]
    read: Callable[[str, Item], Any]


_HEADINGS: dict[str, _Section] = {
    "guidelines": _Section("Guidelines", _line_item, _line_of),
    "suggestions": _Section("Suggestions", _line_item, _line_of),
    "doList": _Section("Do", _line_item, _line_of),
    "dontList": _Section("Do not", _line_item, _line_of),
    "steps": _Section("Steps", _step_item, _step_of),
    "examples": _Section("Examples", _example_item, _example_of),
    "constraints": _Section("Constraints", _constraint_item, _constraint_of),
}
_BY_HEADING = {f"## {section.heading}": name for name, section in _HEADINGS.items()}
