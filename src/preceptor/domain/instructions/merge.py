"""Effective instructions: the assignments of an agent, made one.

The order of speaking is system, task, behavior; then the lower priority number; then what was applied first; then id.
Nothing that was said is lost: it is in the answer with its source, or among the overridden with the reason.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from preceptor.domain.errors import recorded
from preceptor.domain.instructions.content import Example, Mode, Step, ValidationRules, is_locked, text_of
from preceptor.domain.instructions.effective import (
    Assignment,
    Effective,
    Notice,
    Overridden,
    Reason,
    Rule,
    disabling,
)
from preceptor.domain.instructions.folding import line_key
from preceptor.domain.instructions.instruction import InstructionType
from preceptor.domain.instructions.lifecycle import IN_FORCE, Status
from preceptor.domain.instructions.tracing import Merged, Said, Speech, joined, listed, strictest

TURN = {kind: place for place, kind in enumerate(InstructionType)}
"""Which kind of instruction speaks when."""
_MILDNESS = {mode: place for place, mode in enumerate(Mode)}
SEPARATOR = "\n\n"
"""Between one system prompt and the next."""


def merge(assignments: Iterable[Assignment]) -> Effective:
    """The same answer whatever order the assignments are given in. An assignment given twice counts once."""
    return merge_in_turn(in_turn(assignments))


def in_turn(assignments: Iterable[Assignment]) -> list[Assignment]:
    """The active ones, in the order in which they speak."""
    active = {one.assignment_id: one for one in assignments if one.is_active}
    return sorted(active.values(), key=turn)


def merge_in_turn(active: Sequence[Assignment]) -> Effective:
    speakers = [assignment for assignment in active if speaks(assignment)]
    fields = {
        "prompts": _prompts(speakers),
        "guidelines": joined("/guidelines", chain.from_iterable(map(_guidelines, speakers))),
        "constraints": _constraints(speakers),
        "suggestions": joined("/suggestions", _lines(speakers, "suggestions", "suggestions")),
        "tone": _scalar("tone", speakers),
        "language": _scalar("language", speakers),
        "formality": _scalar("formality", speakers),
        "do_list": joined("/doList", _lines(speakers, "do_list", "doList")),
        "dont_list": joined("/dontList", _lines(speakers, "dont_list", "dontList")),
        "examples": listed("/examples", _examples(speakers), key=_example_key),
        "steps": _steps(speakers),
        "validation_rules": _rules(speakers),
    }
    values = {name: merged.value for name, merged in fields.items()}
    return Effective.model_construct(
        **values,
        system_prompt=SEPARATOR.join(values["prompts"]) or None,
        sources=tuple(chain.from_iterable(merged.sources for merged in fields.values())),
        overridden=tuple(chain.from_iterable(merged.overridden for merged in fields.values())),
        conflicts=(
            *chain.from_iterable(merged.conflicts for merged in fields.values()),
            *_contradictions(values["do_list"], values["dont_list"]),
        ),
        warnings=tuple(chain.from_iterable(_warnings(one) for one in active if _is_remarkable(one))),
    )


def turn(assignment: Assignment) -> tuple[Any, ...]:
    """When an assignment speaks: a total order."""
    return (
        TURN[assignment.version.type],
        assignment.priority,
        assignment.applied_at,
        assignment.seq,
        assignment.assignment_id,
    )


def speaks(assignment: Assignment) -> bool:
    return assignment.version.type is not InstructionType.TEMPLATE and assignment.version.status in IN_FORCE


def _lines(speakers: Sequence[Assignment], attribute: str, field: str) -> Iterator[Speech]:
    for by in speakers:
        if lines := getattr(by.version.content, attribute):
            yield Speech(by, field, lines)


def _guidelines(by: Assignment) -> Iterator[Speech]:
    yield from _lines((by,), "guidelines", "guidelines")
    if more := by.customizations.additional_guidelines:
        yield Speech(by, "additionalGuidelines", more, Rule.CUSTOMIZED)


def _examples(speakers: Sequence[Assignment]) -> Iterator[Said]:
    for by in speakers:
        for index, example in enumerate(by.version.content.examples):
            yield Said(by, "examples", index, example, example.input)


def _example_key(said: Said) -> object:
    example: Example = said.value
    return line_key(example.input), line_key(example.expected_output)


def _constraints(speakers: Sequence[Assignment]) -> Merged:
    """Locked ones come last. If one of several that say the same is locked, that one stays, whoever spoke first."""
    free: list[Said] = []
    locked: list[Said] = []
    disabled: list[Overridden] = []
    for by in speakers:
        if not by.version.content.constraints:
            continue
        off = disabling(by.version.content, by.customizations, by.overridden).disabled
        for index, constraint in enumerate(by.version.content.constraints):
            text, is_safe = text_of(constraint), is_locked(constraint)
            rule = Rule.LOCKED if is_safe else Rule.LISTED
            said = Said(by, "constraints", index, text, text, rule, line_key(text))
            if index in off:
                disabled.append(said.disabled("/constraints"))
            else:
                (locked if is_safe else free).append(said)
    safe = {said.key for said in locked}
    shadowed = [said for said in free if said.key in safe] if safe else []
    open_ones = [said for said in free if said.key not in safe] if safe else free
    merged = listed("/constraints", chain(open_ones, locked, shadowed))
    return Merged(merged.value, merged.sources, (*merged.overridden, *disabled))


def _prompts(speakers: Sequence[Assignment]) -> Merged:
    told = [(by, by.version.content.system_prompt) for by in speakers]
    said = [Said(by, "systemPrompt", None, text, text, Rule.CONCATENATED) for by, text in told if text is not None]
    return Merged(tuple(one.text for one in said), tuple(one.kept("/systemPrompt") for one in said))


def _scalar(field: str, speakers: Sequence[Assignment]) -> Merged:
    """Behavior beats task beats system; then the lower priority number; then what was applied first."""
    saying = [by for by in speakers if getattr(by.version.content, field) is not None]
    if not saying:
        return Merged(None)
    said = [(by, getattr(by.version.content, field)) for by in sorted(saying, key=_authority)]
    told = [Said(by, field, None, value, value) for by, value in said]
    winner, path = told[0], f"/{field}"
    losers = [(loser, line_key(loser.text) != line_key(winner.text)) for loser in told[1:]]
    rivals = [loser for loser, differs in losers if differs]
    return Merged(
        winner.value,
        (winner.kept(path, _deciding(winner, rivals[0]) if rivals else Rule.ONLY),),
        tuple(loser.lost(path, Reason.OUTRANKED if differs else Reason.DUPLICATE) for loser, differs in losers),
        tuple(_conflict(field, winner, rival) for rival in rivals),
    )


def _authority(assignment: Assignment) -> tuple[Any, ...]:
    kind, *rest = turn(assignment)
    return -kind, *rest


def _deciding(winner: Said, rival: Said) -> Rule:
    if winner.by.version.type is not rival.by.version.type:
        return Rule.BY_TYPE
    return Rule.BY_PRIORITY if winner.by.priority != rival.by.priority else Rule.BY_AGE


def _conflict(field: str, winner: Said, rival: Said) -> Notice:
    return Notice(
        code="outranked",
        sentence=recorded(
            "%(field)s is %(winner)s by %(by)s; %(loser)s by %(rival)s is not used.",
            field=field,
            winner=repr(winner.text),
            by=_name(winner.by),
            loser=repr(rival.text),
            rival=_name(rival.by),
        ),
        path=f"/{field}",
        instruction_id=rival.by.version.instruction_id,
        assignment=rival.by.assignment_id,
    )


def _name(by: Assignment) -> str:
    return f"{by.version.name!r} {by.version.version}"


def _steps(speakers: Sequence[Assignment]) -> Merged:
    """Each source's steps in its own order, one source after the other, numbered anew from 1."""
    said: list[Said] = []
    for by in [one for one in speakers if one.version.content.steps]:
        steps = sorted(enumerate(by.version.content.steps), key=lambda numbered: numbered[1].order)
        said += [Said(by, "steps", index, step, step.name, Rule.RENUMBERED) for index, step in steps]
    values = [_numbered(one.value, number) for number, one in enumerate(said, 1)]
    return Merged(tuple(values), tuple(one.kept(f"/steps/{place}") for place, one in enumerate(said)))


def _numbered(step: Step, number: int) -> Step:
    if step.order == number:
        return step
    return Step.model_construct(order=number, name=step.name, description=step.description, optional=step.optional)


def _rules(speakers: Sequence[Assignment]) -> Merged:
    """The strictest of all: the shortest limit, every keyword, the sternest mode."""
    said = [(by, by.version.validation_rules) for by in speakers]
    ruling = [(by, rules) for by, rules in said if rules is not None]
    if not ruling:
        return Merged(None)
    limits = [_rule(by, "maxResponseLength", rules.max_response_length) for by, rules in ruling]
    modes = [_rule(by, "mode", rules.mode) for by, rules in ruling]
    required = [_rule(b, "requiredKeywords", w, i) for b, r in ruling for i, w in enumerate(r.required_keywords)]
    prohibited = [_rule(b, "prohibitedKeywords", w, i) for b, r in ruling for i, w in enumerate(r.prohibited_keywords)]
    parts = {
        "max_response_length": strictest([one for one in limits if one.value is not None], lambda limit: limit),
        "required_keywords": listed("/validationRules/requiredKeywords", required),
        "prohibited_keywords": listed("/validationRules/prohibitedKeywords", prohibited),
        "mode": strictest(modes, lambda mode: -_MILDNESS[mode]),
    }
    return Merged(
        ValidationRules.model_construct(**{name: part.value for name, part in parts.items()}),
        tuple(chain.from_iterable(part.sources for part in parts.values())),
        tuple(chain.from_iterable(part.overridden for part in parts.values())),
    )


def _rule(by: Assignment, name: str, value: Any, index: int | None = None) -> Said:
    rule = Rule.STRICTEST if index is None else Rule.LISTED
    return Said(by, f"validationRules.{name}", index, value, str(value), rule)


def _contradictions(do: Sequence[str], dont: Sequence[str]) -> Iterator[Notice]:
    forbidden = {line_key(line): place for place, line in enumerate(dont)}
    for place, line in enumerate(do):
        if (other := forbidden.get(line_key(line))) is not None:
            sentence = recorded(
                "%(line)s is both to be done and not to be done (%(path)s).", line=repr(line), path=f"/dontList/{other}"
            )
            yield Notice(code="contradiction", sentence=sentence, path=f"/doList/{place}")


def _is_remarkable(by: Assignment) -> bool:
    """Whether there can be anything to warn of, which there seldom is."""
    usual = by.version.status is Status.ACTIVE and by.version.type is not InstructionType.TEMPLATE
    return not usual or bool(by.customizations.disabled_constraints)


def _warnings(by: Assignment) -> Iterator[Notice]:
    name, status = _name(by), by.version.status
    if by.version.type is InstructionType.TEMPLATE:
        told = recorded("%(name)s is a template and does not speak. Create an instruction from it.", name=name)
        yield _warning(by, "template", told)
    elif status not in IN_FORCE:
        told = recorded(
            "%(name)s is %(status)s and does not speak. Activate it, or pin another version.", name=name, status=status
        )
        yield _warning(by, "not_in_force", told)
    else:
        if status is Status.DEPRECATED:
            told = recorded("%(name)s is deprecated. It still speaks; move to a newer version.", name=name)
            yield _warning(by, "deprecated", told)
        yield from _of_constraints(by, name)


def _of_constraints(by: Assignment, name: str) -> Iterator[Notice]:
    """Customizations that do not do what they were meant to."""
    off = disabling(by.version.content, by.customizations, by.overridden)
    for index in sorted(off.locked):
        line = repr(text_of(by.version.content.constraints[index]))
        told = recorded(
            "%(name)s has locked %(line)s, so it stays although a customization disables it.", name=name, line=line
        )
        yield _warning(by, "locked", told)
    for entry in off.unmatched:
        line = repr(entry)
        told = recorded("%(name)s has no constraint %(line)s, so disabling it does nothing.", name=name, line=line)
        yield _warning(by, "nothing_disabled", told)


def _warning(by: Assignment, code: str, sentence: str) -> Notice:
    return Notice(code=code, sentence=sentence, instruction_id=by.version.instruction_id, assignment=by.assignment_id)
