"""Turns as OpenTelemetry sees them: spans named after the conventions for generative AI, made from the log.

A span tree is a fold over the events of a turn, so it is whole however many processes took the turn, and costs nothing
while it runs. Names under `preceptor.` are ours, where the conventions have none.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import orjson

from preceptor.domain.delegation import Span
from preceptor.domain.ids import ConversationId, TurnId
from preceptor.domain.log import Event
from preceptor.domain.messages.message import Message, Outcome, Role, ToolCall
from preceptor.domain.prompts.prompt import Ask, Prompt
from preceptor.domain.prompts.reply import Usage
from preceptor.domain.reasoning.verdict import Verdict
from preceptor.domain.turns.calls import Call, CallEnded, CallOutcome
from preceptor.domain.turns.facts import (
    Accepted,
    Compressed,
    Ended,
    Judgement,
    MessageStarted,
    Planned,
    SpanClosed,
    ToolCompleted,
    ToolStarted,
    TurnStatus,
    fact_of,
)
from preceptor.wire.genai_messages import Attributes, said, shown

ROOT, PLAN, COMPACTION = "turn", "plan", "compaction"
STAGES = {"plan": PLAN, "summary": COMPACTION}


class SpanRecord(msgspec.Struct):
    """A span to be. Times are microseconds since 1970."""

    key: str
    parent: str | None
    name: str
    start: int
    end: int
    attributes: Attributes = {}
    error: str | None = None
    client: bool = False
    """Whether it is a call that leaves the house."""


class Tree(msgspec.Struct):
    """The spans of one turn, as far as its events have been read."""

    turn_id: TurnId
    conversation_id: ConversationId
    prompts: dict[str, Prompt]
    """What calls were shown, where contents are to be told as well."""
    content: bool
    spans: dict[str, SpanRecord] = {}
    asked: dict[str, ToolCall] = {}
    epochs: set[int] = set()
    model: str = ""

    def open(self, key: str, parent: str | None, name: str, at: int, attributes: Attributes) -> SpanRecord:
        told = {"gen_ai.conversation.id": self.conversation_id, **attributes}
        self.spans[key] = span = SpanRecord(key, parent, name, at, at, told)
        return span

    def above(self, span_id: str | None) -> str:
        return span_id if span_id in self.spans else ROOT

    def stage(self, name: str, at: int) -> str:
        """The span around the calls that make a plan or a summary."""
        if name not in self.spans:
            self.open(name, ROOT, name, at, {"gen_ai.operation.name": name})
        return name


def spans_of(
    turn_id: TurnId,
    conversation_id: ConversationId,
    events: Sequence[Event],
    prompts: dict[str, Prompt] | None = None,
) -> list[SpanRecord]:
    """The spans of a turn that has ended, each after its parent. With `prompts` they carry what was said."""
    tree = Tree(turn_id, conversation_id, prompts or {}, prompts is not None)
    for event in events:
        if event.payload is not None and event.turn == turn_id:
            tree.epochs.add(event.epoch)
            _hear(tree, fact_of(event.kind, event.payload), event.at)
    return _tidied(tree)


def _hear(tree: Tree, fact: object, at: int) -> None:
    hear = _HEARD.get(type(fact))
    if hear is not None and (ROOT in tree.spans or isinstance(fact, Accepted)):
        hear(tree, fact, at)


def _accepted(tree: Tree, fact: Accepted, at: int) -> None:
    pins = fact.pins
    tree.model = pins.model
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": provider_of(pins.model),
        "gen_ai.agent.id": pins.agent_id,
        "gen_ai.agent.name": pins.agent_id,
        "gen_ai.request.model": pins.model,
        "preceptor.turn.id": tree.turn_id,
        "preceptor.instructions": [f"{pin.instruction_id}@{pin.version}" for pin in pins.instructions],
        "preceptor.experiments": [f"{one.experiment_id}:{one.arm}" for one in pins.experiments],
    }
    tree.open(ROOT, None, f"invoke_agent {pins.agent_id}", at, attributes)


def _call(tree: Tree, call: Call, at: int) -> None:
    stage = STAGES.get(call.purpose)
    parent = tree.above(call.span_id) if stage is None else tree.stage(stage, at)
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider_of(tree.model, call),
        "gen_ai.request.model": call.model,
        "preceptor.call.id": call.call_id,
        "preceptor.call.purpose": call.purpose,
        "preceptor.call.attempt": call.attempt,
        **_asked(call.ask),
    }
    if (prompt := tree.prompts.get(call.call_id)) is not None:
        attributes |= shown(prompt)
    tree.open(call.call_id, parent, f"chat {call.model}", at, attributes).client = True


def _asked(ask: Ask) -> Attributes:
    sampling = ask.sampling
    told: Attributes = {
        "gen_ai.request.temperature": sampling.temperature,
        "gen_ai.request.max_tokens": sampling.max_completion_tokens,
        "gen_ai.request.top_p": sampling.top_p,
        "gen_ai.request.top_k": sampling.top_k,
        "gen_ai.request.frequency_penalty": sampling.frequency_penalty,
        "gen_ai.request.presence_penalty": sampling.presence_penalty,
        "gen_ai.request.stop_sequences": list(sampling.stop) or None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _call_ended(tree: Tree, ended: CallEnded, at: int) -> None:
    span = tree.spans.get(ended.call_id)
    if span is None:
        return
    lost = ended.outcome is CallOutcome.ORPHANED
    span.end = at if lost else span.start + ended.milliseconds * 1000
    span.attributes |= _used(ended.usage)
    if ended.finish is not None:
        span.attributes["gen_ai.response.finish_reasons"] = [ended.finish.value]
    if ended.outcome is not CallOutcome.OK:
        span.error = ended.outcome.value if ended.fault is None else ended.fault.value


def _used(usage: Usage) -> Attributes:
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "preceptor.usage.cost": usage.cost,
    }


def _first_words(tree: Tree, fact: MessageStarted, at: int) -> None:
    if (span := tree.spans.get(fact.call_id)) is not None:
        span.attributes["gen_ai.response.time_to_first_chunk"] = (at - span.start) / 1e6


def _message(tree: Tree, message: Message, _: int) -> None:
    tree.asked |= {call.id: call for call in message.tool_calls}
    if not tree.content:
        return
    written = orjson.dumps([said(message)]).decode()
    if message.call_id in tree.spans:
        tree.spans[message.call_id].attributes["gen_ai.output.messages"] = written
    elif message.role is Role.USER and "gen_ai.input.messages" not in tree.spans[ROOT].attributes:
        tree.spans[ROOT].attributes["gen_ai.input.messages"] = written
    for result in message.tool_results:
        if (span := tree.spans.get(_of_tool(result.tool_call_id))) is not None:
            span.attributes["gen_ai.tool.call.result"] = result.content


def _tool(tree: Tree, fact: ToolStarted | ToolCompleted, at: int) -> None:
    key = _of_tool(fact.tool_call_id)
    if isinstance(fact, ToolStarted):
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": fact.name,
            "gen_ai.tool.call.id": fact.tool_call_id,
            "gen_ai.tool.type": "function",
            "preceptor.tool.effect": fact.effect.value,
        }
        asked = tree.asked.get(fact.tool_call_id)
        if tree.content and asked is not None:
            attributes["gen_ai.tool.call.arguments"] = orjson.dumps(asked.arguments).decode()
        tree.open(key, tree.above(fact.span_id), f"execute_tool {fact.name}", at, attributes)
    elif (span := tree.spans.get(key)) is not None:
        known = fact.outcome is not Outcome.UNKNOWN
        span.end = span.start + fact.milliseconds * 1000 if known else at
        span.error = None if fact.outcome is Outcome.OK else fact.outcome.value


def _of_tool(tool_call_id: str) -> str:
    return f"tool/{tool_call_id}"


def _delegation(tree: Tree, fact: Span | SpanClosed, at: int) -> None:
    if isinstance(fact, Span):
        name = fact.instruction_id or "specialist"
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            "gen_ai.agent.version": fact.version,
            "preceptor.delegation.id": fact.span_id,
            "preceptor.delegation.depth": fact.depth,
        }
        tree.open(fact.span_id, tree.above(fact.parent), f"invoke_agent {name}", at, attributes)
    elif (span := tree.spans.get(fact.span_id)) is not None:
        span.end = at
        span.attributes["preceptor.delegation.closed_by"] = fact.closed_by.value
        span.error = fact.closed_by.value if fact.closed_by in ("limit", "error") else None


def _judged(tree: Tree, fact: Judgement, at: int) -> None:
    attributes = {
        "gen_ai.operation.name": "guard",
        "preceptor.guard.what": fact.what,
        "preceptor.guard.name": fact.guardian,
        "preceptor.guard.gate": fact.gate.value,
        "preceptor.guard.rule": f"{fact.table}/{fact.row}",
    }
    verdict = fact.judged
    if isinstance(verdict, Verdict):
        attributes["preceptor.guard.level"] = verdict.level.value
    span = tree.open(f"guard/{len(tree.spans)}", ROOT, f"guard {fact.what}", at, attributes)
    span.start = at - fact.milliseconds * 1000
    span.error = None if isinstance(verdict, Verdict) else verdict.kind.value


def _stage_over(tree: Tree, fact: Planned | Compressed, at: int) -> None:
    span = tree.spans[tree.stage(PLAN if isinstance(fact, Planned) else COMPACTION, at)]
    span.end = at
    if isinstance(fact, Planned):
        told = {"preceptor.plan.action": fact.action.value, "preceptor.plan.degraded": fact.plan.degraded}
        span.attributes |= told | {"preceptor.plan.flow": fact.flow.value}
    else:
        span.attributes["preceptor.compaction.summaries"] = len(fact.summaries)
        span.error = "compression_failed" if fact.failed else None


def _ended(tree: Tree, fact: Ended, at: int) -> None:
    root = tree.spans[ROOT]
    root.end = at
    root.attributes |= {"preceptor.turn.status": fact.status.value, **_used(fact.usage)}
    if len(tree.epochs) > 1:
        root.attributes["preceptor.turn.resumed"] = len(tree.epochs) - 1
    if fact.finish is not None:
        root.attributes["gen_ai.response.finish_reasons"] = [fact.finish.value]
    if fact.status in (TurnStatus.FAILED, TurnStatus.CANCELLED):
        root.error = fact.code or fact.status.value
    if tree.content and fact.message is not None:
        root.attributes["gen_ai.output.messages"] = orjson.dumps([said(fact.message)]).decode()


def _tidied(tree: Tree) -> list[SpanRecord]:
    """No span ends before it begins, nor begins before the turn did; what never ended, ended with it."""
    root = tree.spans.get(ROOT)
    if root is None:
        return []
    for span in tree.spans.values():
        span.start = min(max(span.start, root.start), root.end)
        span.end = min(max(span.end, span.start), root.end)
    return list(tree.spans.values())


def provider_of(model: str, call: Call | None = None) -> str:
    if call is not None and call.format.startswith("anthropic"):
        return "anthropic"
    return model.partition(":")[0] or "unknown"


_HEARD: dict[type[Any], Callable[[Tree, Any, int], None]] = {
    Accepted: _accepted,
    Call: _call,
    CallEnded: _call_ended,
    MessageStarted: _first_words,
    Message: _message,
    ToolStarted: _tool,
    ToolCompleted: _tool,
    Span: _delegation,
    SpanClosed: _delegation,
    Judgement: _judged,
    Planned: _stage_over,
    Compressed: _stage_over,
    Ended: _ended,
}
