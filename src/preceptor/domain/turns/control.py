"""The two control tools: what a model is told of them, and what it may ask of them."""

from typing import Annotated, Any

import msgspec

from preceptor.domain.delegation import DELEGATE, RETURN, Asked
from preceptor.domain.messages.directive import LONGEST_PROMPT, unbearable
from preceptor.domain.prompts.prompt import Effect, ToolSpec

ALONE = "A control tool must be called alone, and it was called with another. Call it again if you still want to."
NOT_DELEGATED = "You are not delegated: there is nobody to return control to. Answer the user yourself."
RETURNED = "Control goes back to whoever delegated. What was said here is at hand."
MOST_BRANCHES = 4
MOST_SECONDS = 86_400

_ONE: dict[str, Any] = {
    "agent_prompt": {
        "type": "string",
        "description": "The specialist's whole system prompt: who it is, what to find out, what to come back with.",
        "maxLength": LONGEST_PROMPT,
    },
    "specialist": {
        "type": "string",
        "description": "Instead of agent_prompt: a specialist of the library by name, such as critic@^1.",
    },
    "reason": {"type": "string", "description": "Why you delegate, in a few words."},
    "expected_seconds": {"type": "integer", "minimum": 1, "description": "How long you expect it to take."},
    "tools": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Which of your own tools it may call. Left out: all of them.",
    },
}

DELEGATE_SPEC = ToolSpec(
    name=DELEGATE,
    description=(
        "Hand this conversation to a specialist that you describe, for a part of the work that needs another view: a "
        "critique, a check of facts, an analysis. It sees the conversation, works here, and gives control back to "
        "you; then you answer the user. Example: agent_prompt='You are a careful reviewer. List every claim in the "
        "draft that has no source.'"
    ),
    parameters={
        "type": "object",
        "properties": {
            **_ONE,
            "mark_intermediate": {
                "type": "boolean",
                "description": "False if what the specialist answers is the final answer to the user.",
            },
            "specialists": {
                "type": "array",
                "items": {"type": "object"},
                "maxItems": MOST_BRANCHES,
                "description": "Several at once, none seeing the others: each an object with the fields above. "
                "Their answers come back in this order.",
            },
        },
    },
    effect=Effect.READ,
)

RETURN_SPEC = ToolSpec(
    name=RETURN,
    description=(
        "Give control back to the agent that delegated to you, once your part is done. Say what you found before you "
        "call it, or in the same message: it reads everything you wrote."
    ),
    parameters={"type": "object", "properties": {}},
    effect=Effect.READ,
)


class _Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    agent_prompt: str | None = None
    specialist: str | None = None
    reason: str | None = None
    expected_seconds: Annotated[int, msgspec.Meta(ge=1, le=MOST_SECONDS)] | None = None
    tools: tuple[str, ...] | None = None
    mark_intermediate: bool = True
    specialists: tuple["_Arguments", ...] = ()


def delegate_spec(longest: int) -> ToolSpec:
    """The tool that hands over, where a prompt may have so many characters."""
    if longest == LONGEST_PROMPT:
        return DELEGATE_SPEC
    properties = DELEGATE_SPEC.parameters["properties"]
    prompt = {**properties["agent_prompt"], "maxLength": longest}
    parameters = {**DELEGATE_SPEC.parameters, "properties": {**properties, "agent_prompt": prompt}}
    return msgspec.structs.replace(DELEGATE_SPEC, parameters=parameters)


def asked(arguments: dict[str, Any], longest: int = LONGEST_PROMPT) -> tuple[Asked, ...] | str:
    """Whom a call asks for, or the sentence that tells the model what is wrong with it."""
    try:
        told = msgspec.convert(arguments, _Arguments)
    except msgspec.ValidationError as error:
        return f"The arguments cannot be used: {error}."
    if len(told.specialists) > MOST_BRANCHES:
        return f"At most {MOST_BRANCHES} specialists can work at once."
    if told.specialists and (told.agent_prompt or told.specialist):
        return "Give one specialist, or a list of specialists, not both."
    wanted = tuple(_one(each, longest) for each in (told.specialists or (told,)))
    return next((each for each in wanted if isinstance(each, str)), None) or tuple(
        each for each in wanted if isinstance(each, Asked)
    )


def _one(told: _Arguments, longest: int) -> Asked | str:
    if told.specialists:
        return "A specialist in a list cannot have a list of its own."
    prompt = told.agent_prompt
    if prompt is not None and (wrong := unbearable(prompt, longest)):
        return wrong
    if prompt is not None and "\x00" in prompt:
        return "Agent prompt cannot hold the character U+0000"
    if (prompt is None) == (told.specialist is None):
        return "Say who the specialist is: give agent_prompt, or specialist, and not both."
    return Asked(prompt, told.specialist, told.reason, told.tools, told.mark_intermediate, told.expected_seconds)
