"""The editor's form: an instruction as fields and lists of items, and back again.

An item's fields are named `list.key.part`. The key only ties the parts of one item together: the order of a list is the
order in which its items come, so a script, or a button without one, moves an item by moving its fields.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from preceptor.domain.instructions.content import Content, ValidationRules, WrittenConstraint, id_of, is_locked, text_of
from preceptor.domain.instructions.instruction import Authored, InstructionType, Variable, VariableType

SCALARS = ("name", "description", "type", "category", "targetRole", "tags", "isPublic", "systemPrompt")
STYLE = ("tone", "language", "formality")
RULES = ("maxResponseLength", "requiredKeywords", "prohibitedKeywords", "mode")
FIELDS = (*SCALARS, *STYLE, *RULES)
TEXTS = {"guidelines": "guidelines", "suggestions": "suggestions", "doList": "do_list", "dontList": "dont_list"}
PARTS: dict[str, tuple[str, ...]] = {
    "guidelines": ("text",),
    "constraints": ("text", "id", "locked"),
    "suggestions": ("text",),
    "doList": ("text",),
    "dontList": ("text",),
    "steps": ("name", "description", "optional", "order"),
    "examples": ("input", "expectedOutput", "explanation"),
    "variables": ("name", "type", "description", "required", "default", "options", "maxLength"),
}
"""What an item of each list is made of. The first part says whether it is empty."""
_COMMA = re.compile(r"([+-]?(?:0|\d+(?!,\d{3}$))),(\d+)", re.ASCII)
BLANK_VARIABLE = {"type": "string", "required": "on", "maxLength": "1000"}


class Item(msgspec.Struct, frozen=True):
    key: str
    values: Mapping[str, str]

    def said(self) -> bool:
        return any(value.strip() for part, value in self.values.items() if part in {"text", "name", "input"})


class Draft(msgspec.Struct, frozen=True):
    """What stands in the form."""

    fields: Mapping[str, str]
    lists: Mapping[str, tuple[Item, ...]]

    def pairs(self) -> list[tuple[str, str]]:
        """All of it again, as a form sends it."""
        found = list(self.fields.items())
        for name, items in self.lists.items():
            for item in items:
                found += [(f"{name}.{item.key}.{part}", value) for part, value in item.values.items() if value]
        return found


def blank(of: InstructionType = InstructionType.SYSTEM) -> Draft:
    return draft_of(Authored(name="-", type=of), name="")


def draft_of(said: Authored, **fields: str) -> Draft:
    """The form for an instruction as it is."""
    content, rules = said.content, said.validation_rules or ValidationRules()
    told: dict[str, str] = {
        "name": said.name,
        "description": said.description,
        "type": said.type.value,
        "category": said.category,
        "targetRole": said.target_role,
        "tags": ", ".join(said.tags),
        "isPublic": "on" if said.is_public else "",
        "systemPrompt": content.system_prompt or "",
        "tone": content.tone or "",
        "language": content.language or "",
        "formality": content.formality or "",
        "maxResponseLength": str(rules.max_response_length or ""),
        "requiredKeywords": "\n".join(rules.required_keywords),
        "prohibitedKeywords": "\n".join(rules.prohibited_keywords),
        "mode": rules.mode.value,
    }
    lists: dict[str, list[dict[str, str]]] = {
        name: [{"text": text} for text in getattr(content, attribute)] for name, attribute in TEXTS.items()
    }
    lists["constraints"] = [
        {"text": text_of(one), "id": id_of(one) or "", "locked": "on" if is_locked(one) else ""}
        for one in content.constraints
    ]
    lists["steps"] = [
        {"name": s.name, "description": s.description, "optional": "on" if s.optional else "", "order": str(s.order)}
        for s in content.steps
    ]
    lists["examples"] = [
        {"input": e.input, "expectedOutput": e.expected_output, "explanation": e.explanation or ""}
        for e in content.examples
    ]
    lists["variables"] = list(map(_shown_variable, said.variables))
    return Draft(told | fields, {name: _numbered(lists[name]) for name in PARTS})


def draft_from(pairs: Iterable[tuple[str, str]]) -> Draft:
    """What was sent. Anything else in the form is not part of the draft."""
    fields: dict[str, str] = dict.fromkeys(FIELDS, "")
    lists: dict[str, dict[str, dict[str, str]]] = {name: {} for name in PARTS}
    for name, value in pairs:
        if name in fields:
            fields[name] = value
            continue
        of, _, rest = name.partition(".")
        key, _, part = rest.partition(".")
        if of in lists and part in PARTS[of]:
            lists[of].setdefault(key, dict.fromkeys(PARTS[of], ""))[part] = value
    found = {name: tuple(Item(key, values) for key, values in items.items()) for name, items in lists.items()}
    return Draft(fields, found)


def edited(draft: Draft, wish: str) -> Draft:
    """After a button: `add:list`, `up:list:key`, `down:list:key` or `remove:list:key`. Any other changes nothing."""
    verb, _, rest = wish.partition(":")
    name, _, key = rest.partition(":")
    if name not in PARTS:
        return draft
    items = list(draft.lists[name])
    at = next((place for place, item in enumerate(items) if item.key == key), None)
    if verb == "add":
        items.append(Item(_fresh(items), blank_item(name)))
    elif at is None:
        return draft
    elif verb == "remove":
        items.pop(at)
    elif verb in {"up", "down"}:
        to = min(max(at + (1 if verb == "down" else -1), 0), len(items) - 1)
        items.insert(to, items.pop(at))
    return replace(draft, lists={**draft.lists, name: tuple(items)})


def with_example(draft: Draft, said: str, answered: str) -> Draft:
    """The draft with one more example."""
    items = draft.lists["examples"]
    made = Item(_fresh(list(items)), blank_item("examples") | {"input": said, "expectedOutput": answered})
    return replace(draft, lists={**draft.lists, "examples": (*items, made)})


def blank_item(name: str) -> dict[str, str]:
    return dict.fromkeys(PARTS[name], "") | (BLANK_VARIABLE if name == "variables" else {})


def said_in(draft: Draft, before: Authored | None = None) -> dict[str, Any]:
    """The fields of an instruction, to be checked. What `before` says in the same words stays as it was written."""
    field = draft.fields
    content: dict[str, Any] = {name: _texts(draft.lists[name]) for name in TEXTS}
    content |= {
        "systemPrompt": field["systemPrompt"] if field["systemPrompt"].strip() else None,
        **{name: field[name].strip() or None for name in STYLE},
        "constraints": _constraints(draft.lists["constraints"], before.content if before else Content()),
        "steps": _steps(draft.lists["steps"]),
        "examples": [_example(item) for item in draft.lists["examples"] if any(item.values.values())],
    }
    return {
        "name": field["name"].strip(),
        "description": field["description"],
        "type": field["type"],
        "category": field["category"].strip(),
        "targetRole": field["targetRole"].strip(),
        "tags": [tag.strip() for tag in field["tags"].split(",") if tag.strip()],
        "isPublic": bool(field["isPublic"]),
        "content": content,
        "variables": [_variable(item) for item in draft.lists["variables"] if item.said()],
        "validationRules": _rules(field, before.validation_rules if before else None),
    }


def _fresh(items: Sequence[Item]) -> str:
    return str(max((int(item.key) for item in items if item.key.isdecimal()), default=-1) + 1)


def _numbered(items: Sequence[Mapping[str, str]]) -> tuple[Item, ...]:
    return tuple(Item(str(place), values) for place, values in enumerate(items))


def _texts(items: Iterable[Item]) -> list[str]:
    return [item.values["text"] for item in items if item.said()]


def _constraints(items: Iterable[Item], before: Content) -> list[Any]:
    written: dict[tuple[str, str, bool], WrittenConstraint] = {
        (text_of(one), id_of(one) or "", is_locked(one)): one for one in before.constraints
    }
    found: list[Any] = []
    for item in items:
        text, name, locked = item.values["text"], item.values["id"].strip(), bool(item.values["locked"])
        if kept := written.get((text, name, locked)):
            found.append(kept)
        elif item.said():
            marks = ({"id": name} if name else {}) | ({"locked": True} if locked else {})
            found.append({"text": text, **marks} if marks else text)
    return found


def _steps(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Numbers stay where they still rise; a step that is new or was moved takes the next one."""
    found: list[dict[str, Any]] = []
    last = 0
    for item in items:
        if item.said():
            written = item.values["order"]
            number = int(written) if written.isascii() and written.isdecimal() else 0
            last = number if number > last or (number == 0 and written == "0" and not found) else last + 1
            about = {"description": item.values["description"], "optional": bool(item.values["optional"])}
            found.append({"order": last, "name": item.values["name"], **about})
    return found


def _example(item: Item) -> dict[str, Any]:
    told = {"input": item.values["input"], "expectedOutput": item.values["expectedOutput"]}
    return told | ({"explanation": item.values["explanation"]} if item.values["explanation"] else {})


def _rules(field: Mapping[str, str], before: ValidationRules | None) -> dict[str, Any] | None:
    told: dict[str, Any] = {
        "maxResponseLength": number(field["maxResponseLength"]),
        "requiredKeywords": _lines(field["requiredKeywords"]),
        "prohibitedKeywords": _lines(field["prohibitedKeywords"]),
        "mode": field["mode"] or "report",
    }
    silent = not any(told[name] for name in RULES[:3])
    return None if silent and before != ValidationRules() else told


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def pointed(text: str) -> str:
    """With a point where it has a decimal comma. Before three digits a comma may stand for thousands: then it stays."""
    found = _COMMA.fullmatch(text.strip())
    return f"{found[1]}.{found[2]}" if found else text.strip()


def number(text: str) -> int | float | str | None:
    """A number if it is one, else what was written, for the check to refuse; None for nothing."""
    written = pointed(text)
    for kind in (int, float):
        try:
            return kind(written)
        except ValueError:
            continue
    return written or None


def _shown_variable(variable: Variable) -> dict[str, str]:
    default = variable.default
    return {
        "name": variable.name,
        "type": variable.type.value,
        "description": variable.description,
        "required": "on" if variable.required else "",
        "default": "" if default is None else str(default).lower() if isinstance(default, bool) else str(default),
        "options": ", ".join(variable.options),
        "maxLength": str(variable.max_length),
    }


def _variable(item: Item) -> dict[str, Any]:
    values = item.values
    told: dict[str, Any] = {
        "name": values["name"].strip(),
        "type": values["type"],
        "description": values["description"],
        "required": bool(values["required"]),
        "options": [one.strip() for one in values["options"].split(",") if one.strip()],
        "maxLength": number(values["maxLength"]) or 1000,
    }
    return told | ({"default": value_of(values["type"], values["default"])} if values["default"] else {})


def value_of(kind: str, text: str) -> Any:
    """What was written into a gap, as its type has it; if it is not that, the check will say so."""
    if kind == VariableType.NUMBER:
        return number(text)
    if kind == VariableType.BOOLEAN:
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    return text
