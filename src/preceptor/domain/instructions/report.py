"""Effective instructions as they are shown: what is told, whence it comes, and what there is to say about it."""

from typing import Any

from preceptor.domain.ids import AgentId
from preceptor.domain.instructions.effective import Effective, Notice
from preceptor.domain.instructions.lint import lint
from preceptor.domain.instructions.render import Rendered


class EffectiveInstructions(Effective):
    """What an agent is told. `sources` points into it by JSON pointer; `prompt` is the text, `hash` its SHA-256."""

    agent_id: AgentId
    prompt: str
    hash: str


def report(agent_id: AgentId, effective: Effective, rendered: Rendered) -> EffectiveInstructions:
    """With the remarks of the linter among the warnings."""
    told: dict[str, Any] = {name: getattr(effective, name) for name in Effective.model_fields}
    warnings = (*effective.warnings, *_remarks(effective))
    fields: dict[str, Any] = told | {
        "warnings": warnings,
        "agent_id": agent_id,
        "prompt": rendered.prompt,
        "hash": rendered.hash,
    }
    return EffectiveInstructions.model_construct(**fields)


def _remarks(effective: Effective) -> tuple[Notice, ...]:
    known = {notice.sentence for notice in effective.warnings}
    return tuple(
        Notice(code=finding.kind, sentence=finding.sentence, path=finding.path or None)
        for finding in lint(effective)
        if finding.sentence not in known
    )
