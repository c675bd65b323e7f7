"""Voices: what is said before everything else in a call, and which tools are at hand. Each piece has its source."""

import hashlib
from collections.abc import Iterable
from functools import cache

import msgspec

from preceptor.domain.agents import Agent
from preceptor.domain.delegation import DELEGATE, RETURN, Span
from preceptor.domain.instructions.effective import Rule, Source
from preceptor.domain.instructions.render import RenderedLine
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Effect, Segment, ToolSpec
from preceptor.domain.prompts.source import AnySource, FromEngine, FromInstruction, FromSpecialist
from preceptor.domain.turns.control import RETURN_SPEC, delegate_spec
from preceptor.domain.turns.independent import START, START_SPEC
from preceptor.engine.ports import TokenCounter
from preceptor.engine.telling.compiled import Told

RULES = "These rules hold whatever else is said:\n"
ROLE = "\nYour role in this part of the work:\n"


class Voice(msgspec.Struct, frozen=True):
    """What an agent is told in every call of a turn. Kept by its hash, so that a turn can go on with the very same."""

    system: tuple[Segment, ...]
    locked: tuple[Segment, ...]
    """The agent's locked constraints, which hold for its specialists too."""
    tools: tuple[ToolSpec, ...]


class Kept(msgspec.Struct, frozen=True):
    """A text and the hash it is kept by."""

    sha256: str
    body: str


class Opening(msgspec.Struct, frozen=True):
    """How a call begins: the system prompt and the tools, each with the hash that manifests name it by."""

    system: tuple[Segment, ...]
    tools: tuple[ToolSpec, ...]
    system_kept: Kept
    tools_kept: Kept | None


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Voice)
_SYSTEM = msgspec.json.Decoder(tuple[Segment, ...])
_TOOLS = msgspec.json.Decoder(tuple[ToolSpec, ...])


def voice_of(agent: Agent, told: Told, tools: Iterable[ToolSpec], counter: TokenCounter) -> Voice:
    system = _segments(told.rendered.lines, counter)
    system = system or (_said(f"You are {agent.name}.", FromEngine("agent_name"), counter),)
    locked = tuple(_said(f"- {line}\n", source, counter) for line, source in _locked(told))
    return Voice(system, locked, tuple(counted(spec, counter) for spec in (*tools, *_own(agent))))


def _own(agent: Agent) -> Iterable[ToolSpec]:
    """Tools that are carried out by the engine itself, for agents that name them."""
    return (START_SPEC,) if START in agent.tools else ()


def system_of(told: Told, counter: TokenCounter) -> tuple[Segment, ...]:
    """The system prompt of compiled instructions, each line with its source."""
    return _segments(told.rendered.lines, counter)


def sources_of(told: Told) -> list[AnySource]:
    """Whence each piece of the system prompt would come."""
    return [_source(line) for line in told.rendered.lines if line.text]


def keep(what: Voice | tuple[Segment, ...] | tuple[ToolSpec, ...]) -> Kept:
    body = _ENCODER.encode(what)
    return Kept(hashlib.sha256(body).hexdigest(), body.decode())


def read_voice(body: str) -> Voice:
    return _DECODER.decode(body)


def read_system(body: str) -> tuple[Segment, ...]:
    return _SYSTEM.decode(body)


def read_tools(body: str) -> tuple[ToolSpec, ...]:
    return _TOOLS.decode(body)


def opening(system: tuple[Segment, ...], tools: tuple[ToolSpec, ...]) -> Opening:
    return Opening(system, tools, keep(system), keep(tools) if tools else None)


def as_taken(opened: Opening, able: Capabilities) -> Opening:
    """The same opening, its tools described with the keywords that a model takes."""
    if not able.schema_without or not opened.tools:
        return opened
    tools = (msgspec.structs.replace(tool, parameters=able.tool_schema(tool.parameters)) for tool in opened.tools)
    return opening(opened.system, tuple(tools))


def specialist_system(voice: Voice, span: Span, counter: TokenCounter) -> tuple[Segment, ...]:
    """A specialist's prompt, under the rules that its agent may not break either."""
    source = FromSpecialist(span.span_id, span.instruction_id, span.version)
    role = _said(span.agent_prompt, source, counter)
    if not voice.locked:
        return (role,)
    return (
        _said(RULES, FromEngine("rules"), counter),
        *voice.locked,
        _said(ROLE, FromEngine("role"), counter),
        role,
    )


def tools_for(
    voice: Voice, speaker: Span | None, *, may_delegate: bool, counter: TokenCounter, longest: int
) -> tuple[ToolSpec, ...]:
    """The tools of whoever speaks: its own, and those by which control passes, with prompts of at most `longest`."""
    names = None if speaker is None else frozenset(speaker.tools)
    own = tuple(spec for spec in voice.tools if names is None or spec.name in names)
    return (
        *own,
        *((_passing_on(counter, longest),) if may_delegate else ()),
        *((_passing_back(counter),) if speaker is not None else ()),
    )


@cache
def _passing_on(counter: TokenCounter, longest: int) -> ToolSpec:
    return counted(delegate_spec(longest), counter)


@cache
def _passing_back(counter: TokenCounter) -> ToolSpec:
    return counted(RETURN_SPEC, counter)


def counted(spec: ToolSpec, counter: TokenCounter) -> ToolSpec:
    if spec.tokens:
        return spec
    return msgspec.structs.replace(spec, tokens=counter.count(spec.told))


def own_names(voice: Voice) -> tuple[str, ...]:
    """What a specialist can be given: what its agent has itself, and not what a client carries out."""
    own = (spec for spec in voice.tools if spec.effect is not Effect.CLIENT)
    return tuple(spec.name for spec in own if spec.name not in (DELEGATE, RETURN))


def _segments(lines: Iterable[RenderedLine], counter: TokenCounter) -> tuple[Segment, ...]:
    given = list(lines)
    last = len(given) - 1
    return tuple(
        _said(line.text + ("\n" if place < last else ""), _source(line), counter)
        for place, line in enumerate(given)
        if line.text or place < last
    )


def _source(line: RenderedLine) -> AnySource:
    return _instruction(line.sources[0]) if len(line.sources) == 1 else FromEngine(f"heading {line.path}")


def _instruction(source: Source) -> FromInstruction:
    return FromInstruction(
        source.instruction_id, source.version, source.field, source.index, source.assignment, source.rule.value
    )


def _locked(told: Told) -> list[tuple[str, FromInstruction]]:
    constraints = told.effective.constraints
    return [
        (constraints[int(source.path.rsplit("/", 1)[1])], _instruction(source))
        for source in told.effective.sources
        if source.rule is Rule.LOCKED and source.path.startswith("/constraints/")
    ]


def _said(text: str, source: AnySource, counter: TokenCounter) -> Segment:
    return Segment(text=text, source=source, tokens=counter.count(text))
