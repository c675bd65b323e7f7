"""An agent's settings as a form: who it is, and how it is asked, guarded, planned and kept within bounds."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec

from preceptor.domain.agents import Agent
from preceptor.domain.prompts.prompt import Effect, ToolSpec
from preceptor.domain.reasoning.policy import GuardPolicy, SgrPolicy, Switch
from preceptor.domain.reasoning.verdict import Mode, OnError
from preceptor.domain.value import Value, told
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.views.editing import number
from preceptor.surfaces.web.views.filled import Filled

Policy = TypeVar("Policy", GuardPolicy, SgrPolicy)
DELEGATE, CARRY_OVER, TOOLS = "delegate", "carryOver", "tools"
ON = "on"
LABELS = {
    "name": msg("Name"),
    "role": msg("Role"),
    "model": msg("Model"),
    "language": msg("Language"),
    TOOLS: msg("Tools"),
    "capabilities": msg("Capabilities, with commas"),
    "permissions": msg("Other permissions, with commas"),
    DELEGATE: msg("may ask specialists"),
    CARRY_OVER: msg("specialists who answer hear the next message too"),
    "parameters.temperature": msg("Temperature"),
    "parameters.maxCompletionTokens": msg("Longest answer, in tokens"),
    "parameters.maxTokens": msg("Longest prompt, in tokens"),
    "parameters.maxHistorySize": msg("Messages shown at most"),
    "budget.tokens": msg("Tokens"),
    "budget.seconds": msg("Seconds"),
    "budget.cost": msg("Cost"),
    "guard.enabled": msg("messages are checked"),
    "guard.mode": msg("What the guardian does"),
    "guard.onError": msg("Without a verdict"),
    "guard.answers": msg("answers are checked too"),
    "guard.toolResults": msg("what tools return is checked too"),
    "guard.delegationPrompts": msg("prompts of specialists are checked too"),
    "sgr.enabled": msg("It makes a plan first"),
    "sgr.maxClarifications": msg("Times it may ask back"),
}
"""By the field as the API names it; `delegate` is one of the permissions."""
CHOICES: Mapping[str, Mapping[str, str]] = {
    "guard.mode": {Mode.ENFORCE.value: msg("it blocks"), Mode.REPORT.value: msg("it only records")},
    "guard.onError": {OnError.BLOCK.value: msg("nothing is answered"), OnError.CONTINUE.value: msg("the turn goes on")},
    "sgr.enabled": {
        Switch.AUTO.value: msg("with models that can"),
        Switch.ON.value: msg("always"),
        Switch.OFF.value: msg("never"),
    },
}
TICKS = frozenset(
    {DELEGATE, CARRY_OVER, "guard.enabled", "guard.answers", "guard.toolResults", "guard.delegationPrompts"}
)
OURS = {
    "calculator": msg("Works out an arithmetic expression."),
    "current_time": msg("Tells the date, the time and the weekday."),
    "start_conversation": msg("Starts a conversation of its own with another agent, which sees nothing of this one."),
}
"""What the tools of every installation are for. Models are told more, and in English."""
EFFECTS = {
    Effect.READ: msg("only reads"),
    Effect.IDEMPOTENT: msg("acts; doing it twice does no harm"),
    Effect.ONCE: msg("acts; must not be done twice"),
    Effect.CLIENT: msg("carried out by whoever asks"),
}
"""What a tool does to the world."""
NEW = {"name": LABELS["name"], "agentId": msg("Id"), "model": LABELS["model"]}
"""What a new agent is made from; the rest is said on its page."""
GROUPS = {
    "parameters": msg("Requests"),
    "budget": msg("Budget of a turn"),
    "guard": msg("Guard"),
    "sgr": msg("Planning"),
}
HINTS = {
    "parameters": msg("Where a field is empty, the installation or the provider decides."),
    "budget": msg("For a turn with everyone it asks. Where a field is empty, it is as for any turn."),
    "guard": msg("What reaches models, and what people are answered."),
    "sgr": msg("A plan says what is wanted and whether to answer, ask back or decline."),
}


class Everyones(msgspec.Struct, frozen=True):
    """How all agents are guarded and planned that do not say otherwise."""

    guard: GuardPolicy
    sgr: SgrPolicy


class Choice(msgspec.Struct, frozen=True):
    """A tool that an agent can have, or has although nobody knows it now."""

    name: str
    chosen: bool
    about: str = ""
    effect: str = ""


def choices_in(form: Filled, known: Sequence[ToolSpec]) -> list[Choice]:
    """Those that are chosen come first, in their order, so that nothing changes unless someone changes it."""
    specs = {one.name: one for one in known}
    chosen = _words(form.fields[TOOLS])
    return [_choice(name, specs.get(name), chosen=name in chosen) for name in dict.fromkeys((*chosen, *specs))]


def _choice(name: str, spec: ToolSpec | None, *, chosen: bool) -> Choice:
    if spec is None:
        return Choice(name, chosen)
    return Choice(name, chosen, OURS.get(name, spec.description), EFFECTS[spec.effect])


def profile_of(agent: Agent, everyones: Everyones) -> Filled:
    policies = {
        "guard": _json(in_force(agent.guard, everyones.guard)),
        "sgr": _json(in_force(agent.sgr, everyones.sgr)),
        "parameters": agent.parameters.as_said if agent.parameters else {},
        "budget": _json(agent.budget) if agent.budget else {},
    }
    own: dict[str, Any] = _json(agent) | {
        "permissions": [one for one in agent.permissions if one != DELEGATE],
        DELEGATE: DELEGATE in agent.permissions,
    }
    return Filled({name: _text(_at(own | policies, name)) for name in LABELS})


def filled_in(pairs: Sequence[tuple[str, str]], names: Iterable[str] = LABELS) -> Filled:
    """What came with a form. Tools come one by one, and those that were typed in together."""
    said = {name: value.strip() for name, value in reversed(pairs)}
    tools = [word for name, value in pairs if name == TOOLS for word in _words(value)]
    said[TOOLS] = ", ".join(dict.fromkeys(tools))
    return Filled({name: said.get(name, "") for name in names})


def change_in(given: Mapping[str, str], agent: Agent, everyones: Everyones) -> dict[str, Any]:
    """What the form says other than the agent does, to be checked: only that is sent, and only that is changed."""
    before = profile_of(agent, everyones).fields
    touched = {name.partition(".")[0] for name in LABELS if given[name] != before[name]}
    change: dict[str, Any] = {name: given[name] for name in ("name", "role") if name in touched}
    change |= {name: given[name] or None for name in ("language", "model") if name in touched}
    change |= {name: _words(given[name]) for name in ("tools", "capabilities") if name in touched}
    if touched & {DELEGATE, "permissions"}:
        change["permissions"] = [*([DELEGATE] if given[DELEGATE] else []), *_words(given["permissions"])]
    if CARRY_OVER in touched:
        change[CARRY_OVER] = bool(given[CARRY_OVER])
    if "guard" in touched:
        change["guard"] = _policy(given, before, "guard", agent.guard, everyones.guard)
    if "sgr" in touched:
        change["sgr"] = _policy(given, before, "sgr", agent.sgr, everyones.sgr)
    if "parameters" in touched:
        change["parameters"] = _said(given, "parameters", agent.parameters.as_said if agent.parameters else {})
    if "budget" in touched:
        change["budget"] = _said(given, "budget", {})
    return change


def merged(given: Mapping[str, str], was: Mapping[str, str], now: Filled) -> Filled:
    """After someone else's change: what was written here stays, and what nobody touched here is as it is now."""
    fields = {name: now.fields[name] if given[name] == was.get(name) else given[name] for name in LABELS}
    changed = {name: now.fields[name] for name in LABELS if now.fields[name] != was.get(name, now.fields[name])}
    return Filled(fields, meanwhile=changed)


def as_facts(agent: Agent, profile: Filled) -> list[tuple[str, str]]:
    """For those who may only look: a label and what it says, of all that this agent has of its own."""
    own = {"guard": agent.guard, "sgr": agent.sgr, "parameters": agent.parameters, "budget": agent.budget}
    own |= {CARRY_OVER: agent.carry_over}
    names = [name for name in LABELS if own.get(name.partition(".")[0]) or name in {"language", "capabilities"}]
    return [(LABELS[name], shown(name, profile.fields[name])) for name in names if profile.fields[name]]


def shown(name: str, value: str) -> str:
    """What a field says, in words that are translated where they are shown."""
    if name in TICKS:
        return msg("yes") if value else msg("no")
    return CHOICES.get(name, {}).get(value, value) or msg("nothing")


def was_in(text: str) -> dict[str, str]:
    """What stood in the form when it was opened. Who takes that away is shown no changes."""
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except msgspec.DecodeError:
        return {}


def in_force(own: Policy | None, everyones: Policy) -> Policy:
    """The policy of an agent: its own where that says something, else the installation's."""
    return everyones if own is None else everyones.model_copy(update=told(own))


def said_by(own: Value | None) -> dict[str, Any]:
    return {} if own is None else own.model_dump(mode="json", exclude_unset=True)


def _json(value: Value) -> dict[str, Any]:
    return value.model_dump(mode="json")


def _at(told: Mapping[str, Any], name: str) -> Any:
    group, _, field = name.partition(".")
    return told[group].get(field) if field else told[group]


def _text(value: Any) -> str:
    match value:
        case bool():
            return ON if value else ""
        case list():
            return ", ".join(cast("list[str]", value))
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return "" if value is None else str(value)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _policy(
    given: Mapping[str, str], before: Mapping[str, str], group: str, own: Value | None, everyones: Value
) -> dict[str, Any] | None:
    """What it says of its own: where it says nothing it goes on following the installation. Nothing at all is None."""
    said, usual = said_by(own), _json(everyones)
    for name in LABELS:
        of, _, field = name.partition(".")
        if of == group and given[name] != before[name]:
            said[field] = bool(given[name]) if name in TICKS else number(given[name])
            if said[field] == usual[field]:
                del said[field]
    return said or None


def _said(given: Mapping[str, str], group: str, before: Mapping[str, Any]) -> dict[str, Any] | None:
    """With what `before` says of other matters. Nothing said at all is None."""
    said = dict(before)
    for name in LABELS:
        of, _, field = name.partition(".")
        if of == group and given[name]:
            said[field] = number(given[name])
        elif of == group and said.get(field) is not None:
            del said[field]
    return said or None
