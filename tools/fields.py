"""Write what the methods of the client take, from the values of the API: `make docs`. A test holds it to them."""

import subprocess
import sys
import types
from collections.abc import Iterable
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from preceptor.domain.agents import AgentChange, NewAgent
from preceptor.domain.conversations.compaction import Dropping, Squashing
from preceptor.domain.conversations.conversation import ConversationChange, NewConversation
from preceptor.domain.conversations.imports import NewImport
from preceptor.domain.executions.execution import NewExecution
from preceptor.domain.experiments.experiment import NewExperiment
from preceptor.domain.instructions.assignment import AssignmentChange, NewAssignment
from preceptor.domain.instructions.impact import AssignmentQuestion, InstructionQuestion
from preceptor.domain.instructions.instruction import NewInstruction
from preceptor.domain.instructions.revision import Revision
from preceptor.domain.instructions.shown import FromTemplate
from preceptor.domain.instructions.trial import NewTrial
from preceptor.domain.keys import NewKey
from preceptor.domain.mcp_servers import Approval, McpServerChange, NewMcpServer
from preceptor.domain.providers import NewProvider, ProviderChange
from preceptor.domain.reasoning.tables import TableTest
from preceptor.domain.replays.gate import NewGate
from preceptor.domain.replays.replay import NewReplay
from preceptor.domain.users import NewUser
from preceptor.domain.value import Value
from preceptor.domain.webhooks import NewWebhook, WebhookChange
from preceptor.engine.reasoning import BackTest
from preceptor.surfaces.rest.shapes import AnsweredAgain, SentMessage

FOLDER = Path(__file__).parent.parent / "src/preceptor/client/fields"
HEAD = '"""Written by `make docs` from the values that the API takes."""\n\n'
PARAMETERS = {"SentMessage": {"content"}}
"""Fields that are parameters of their own."""


class Body(NamedTuple):
    name: str
    values: tuple[type[Value], ...]
    """One, or those of which it is one."""


def _bodies(*values: type[Value]) -> list[Body]:
    return [Body(f"{value.__name__}Fields", (value,)) for value in values]


MODULES = {
    "agents": _bodies(NewAgent, AgentChange, NewAssignment, AssignmentChange, AssignmentQuestion),
    "connections": _bodies(
        NewProvider, ProviderChange, NewMcpServer, McpServerChange, Approval, NewWebhook, WebhookChange
    ),
    "library": _bodies(NewInstruction, Revision, FromTemplate, NewTrial, InstructionQuestion, NewGate),
    "people": _bodies(NewUser, NewKey),
    "talking": [
        *_bodies(NewConversation, ConversationChange, NewImport, AnsweredAgain),
        Body("MessageFields", (SentMessage,)),
        Body("CompactFields", (Dropping, Squashing)),
    ],
    "trying": _bodies(NewExperiment, NewExecution, NewReplay, TableTest, BackTest),
}


def written(bodies: Iterable[Body]) -> str:
    """A module of the client, as it is before it is formatted."""
    classes = [_class(body) for body in bodies]
    values = sorted(set().union(*(used for _, used in classes)), key=lambda value: (value.__module__, value.__name__))
    imports = "".join(f"from {value.__module__} import {value.__name__}\n" for value in values)
    text = "".join(text for text, _ in classes)
    needed = [name for name in ("Any", "Literal", "NotRequired") if f"{name}" in text]
    head = "from collections.abc import Mapping, Sequence\nfrom datetime import datetime\n"
    return f"{HEAD}{head}from typing import {', '.join([*needed, 'TypedDict'])}\n\n{imports}{text}"


def _class(body: Body) -> tuple[str, set[type[Value]]]:
    used: set[type[Value]] = set()
    lines = [f"\n\nclass {body.name}(TypedDict):\n"]
    told = " or ".join(f"`{value.__name__}`" for value in body.values)
    lines.append(f'    """The fields of {told}."""\n\n')
    for name, fields in _fields(body).items():
        kinds = _either(kind for field in fields for kind in _kinds(field.annotation, used))
        needed = len(fields) == len(body.values) and all(field.is_required() for field in fields)
        lines.append(f"    {name}: {kinds if needed else f'NotRequired[{kinds}]'}\n")
        if said := fields[0].description:
            lines.append(f'    """{said}"""\n')
    return "".join(lines), used


def _fields(body: Body) -> dict[str, list[FieldInfo]]:
    found: dict[str, list[FieldInfo]] = {}
    for value in body.values:
        value.model_rebuild()
        for name, field in value.model_fields.items():
            if name not in PARAMETERS.get(value.__name__, ()):
                found.setdefault(name, []).append(field)
    return found


def _either(kinds: Iterable[str]) -> str:
    found = list(dict.fromkeys(kinds))
    words = ", ".join(dict.fromkeys(kind[8:-1] for kind in found if kind.startswith("Literal[")))
    others = [kind for kind in found if not kind.startswith("Literal[") and kind != "None"]
    return " | ".join([*([f"Literal[{words}]"] if words else []), *others, *(["None"] if "None" in found else [])])


def _kinds(told: Any, used: set[type[Value]]) -> Iterable[str]:  # noqa: C901, PLR0911, PLR0912 - one case for each kind
    """What may be given for a field: in Python, where a list is as good as a tuple and a mapping as good as a value."""
    origin, parts = get_origin(told), get_args(told)
    if origin is Annotated:
        return _kinds(parts[0], used)
    if origin in {Union, types.UnionType}:
        return [kind for part in parts for kind in _kinds(part, used)]
    if origin is tuple:
        return [f"Sequence[{_either(_kinds(parts[0], used))}]"]
    if origin is dict or told is dict:
        return ["Mapping[str, Any]"]
    if origin is Literal:
        return [f"Literal[{_word(part)}]" for part in parts]
    if told in {bool, int, float, str}:
        return [told.__name__]
    if told is None or told is type(None):
        return ["None"]
    if isinstance(told, type) and issubclass(told, Enum):
        return [f"Literal[{_word(one)}]" for one in told]
    if isinstance(told, type) and issubclass(told, Value):
        used.add(told)
        return [told.__name__, "Mapping[str, Any]"]
    if told is SecretStr:
        return ["str"]
    if getattr(told, "__name__", "") == "AwareDatetime" or told is datetime:
        return ["datetime", "str"]
    return ["str"]  # An id, or a pin as it is written.


def _word(one: Any) -> str:
    value = one.value if isinstance(one, Enum) else one
    return f'"{value}"' if isinstance(value, str) else repr(value)


def modules() -> dict[Path, str]:
    """Every module, as it is in the repository."""
    return {FOLDER / f"{name}.py": _formatted(written(bodies)) for name, bodies in MODULES.items()}


def _formatted(text: str) -> str:
    for command in (("check", "--fix-only", "--select", "F401,I", "--quiet"), ("format", "--quiet")):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(FOLDER / "x.py"), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text
