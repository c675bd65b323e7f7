"""How an agent answers, as options: what a turn may take, how it is guarded and how it is planned.

Each is said by its fields, as the API names them: `--budget tokens=2000 --sgr thresholds.spamScore=0.5`.
"""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, cast

import typer

Json = dict[str, Any]
DEFAULT = "default"
WORDS: dict[str, dict[str, Json]] = {
    "budget": {},
    "guard": {
        "on": {"enabled": True},
        "off": {"enabled": False},
        "enforce": {"enabled": True, "mode": "enforce"},
        "report": {"enabled": True, "mode": "report"},
    },
    "sgr": {"on": {"enabled": "true"}, "off": {"enabled": "false"}, "auto": {"enabled": "auto"}},
}
"""What one word stands for."""

Budget = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="NAME=VALUE",
        help="What one turn may take: tokens=, seconds= or cost=; may be repeated. `default`: as any turn may.",
    ),
]
Guard = Annotated[
    list[str] | None,
    typer.Option(
        "--guard",
        metavar="WORD",
        help="How turns are guarded: on, off, enforce, report, or NAME=VALUE such as onError=continue or answers=true; "
        "may be repeated. `default`: as all are.",
    ),
]
Sgr = Annotated[
    list[str] | None,
    typer.Option(
        "--sgr",
        metavar="WORD",
        help="How turns are planned: on, off, auto, or NAME=VALUE such as injection=clean or thresholds.spamScore=0.5; "
        "may be repeated. `default`: as all are.",
    ),
]
CarryOver = Annotated[
    bool | None,
    typer.Option(
        "--carry-over/--no-carry-over",
        help="Whether a specialist whose words were the answer hears the next message first.",
    ),
]


def policies(before: Mapping[str, Any], **said: list[str] | None) -> dict[str, Any]:
    """What an agent has after options: what they do not name stays as it was before. None is the default."""
    found: dict[str, Any] = {}
    for name, words in said.items():
        if words == [DEFAULT]:
            found[name] = None
        elif words:
            found[name] = dict(before.get(name) or {})
            for word in words:
                _put(found[name], _fields(name, word))
    return found


def told(agent: Mapping[str, Any]) -> list[str]:
    """What an agent has of these, one line for each."""
    lines = [f"{name}: {_line(agent[name])}" for name in WORDS if agent.get(name)]
    return [*lines, *(["carry-over: a specialist who answered hears the next message first"] * agent["carryOver"])]


def _fields(option: str, word: str) -> dict[str, Any]:
    name, equals, value = word.partition("=")
    if not equals:
        if name in WORDS[option]:
            return WORDS[option][name]
        known = ", ".join((*WORDS[option], "NAME=VALUE"))
        alone = f", or `{DEFAULT}` alone" if name != DEFAULT else f"; `{DEFAULT}` stands alone"
        raise typer.BadParameter(f"--{option} is {known}{alone}: not {word!r}")
    *above, last = (re.sub(r"[-_](\w)", lambda found: found[1].upper(), part) for part in name.strip().split("."))
    fields: dict[str, Any] = {last: _value(value)}
    for part in reversed(above):
        fields = {part: fields}
    return fields


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _put(policy: dict[str, Any], fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if isinstance(value, dict) and isinstance(policy.get(name), dict):
            policy[name] = dict(policy[name])
            _put(policy[name], cast("Json", value))
        else:
            policy[name] = value


def _line(policy: Mapping[str, Any]) -> str:
    said = ((name, value) for name, value in policy.items() if value is not None)
    return ", ".join(f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in said)
