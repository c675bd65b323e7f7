"""Directing: a user's message may carry a directive, and then its turn begins with the specialist it describes."""

from collections.abc import Sequence

from preceptor.domain.delegation import Span
from preceptor.domain.errors import Invalid
from preceptor.domain.ids import SpanId
from preceptor.domain.messages.directive import DelegateReasoning, Directive, unbearable
from preceptor.domain.messages.message import Message
from preceptor.domain.ownership import Caller, Permission
from preceptor.domain.turns.facts import Pins
from preceptor.engine.ports import World
from preceptor.engine.telling.voice import Voice, own_names
from preceptor.engine.turn.journal import Journal

TO_WHOM = "This agent may not delegate. Leave `instructions` out, or give the agent the permission `delegate`."


def may_direct(caller: Caller, directives: Sequence[Directive]) -> None:
    """What a specialist is told is what an agent is told: not everyone who may talk to an agent may say that."""
    if directives:
        caller.require(Permission.DELEGATE)


def hand_over_at_once(journal: Journal, world: World, voice: Voice, pins: Pins, message: Message) -> None:
    """Open the delegation that a message asks for, as if the agent had."""
    for directive in message.directives if message.instructions else ():
        if isinstance(directive, DelegateReasoning):
            journal.note("delegation.opened", _span(world, voice, pins, message, directive))


def _span(world: World, voice: Voice, pins: Pins, message: Message, directive: DelegateReasoning) -> Span:
    if not pins.may_delegate or not pins.limits.depth:
        raise Invalid(TO_WHOM)
    if wrong := unbearable(directive.agent_prompt, pins.limits.prompt):
        raise Invalid(f"{wrong}. Shorten it.")
    return Span(
        span_id=SpanId(world.new_id()),
        depth=1,
        agent_prompt=directive.agent_prompt,
        mark_intermediate=directive.mark_intermediate,
        tools=own_names(voice),
        tool_call_id="",
        message_id=message.id,
    )
