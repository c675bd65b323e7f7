"""Changing an instruction: what the next version says, and how large a step it is."""

from typing import Any, Literal, NamedTuple

from pydantic import Field

from preceptor.domain.errors import recorded
from preceptor.domain.instructions.content import (
    Content,
    ContentPatch,
    ValidationRules,
    Word,
    checked,
    is_locked,
    patched,
    text_of,
)
from preceptor.domain.instructions.instruction import (
    Authored,
    Changelog,
    Description,
    InstructionType,
    Tags,
    TwoSetsOfRules,
    Variable,
    Variables,
    authored,
)
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.version import Part
from preceptor.domain.orgs import Name
from preceptor.domain.value import Value, left_out, told


class Revision(Value):
    """What to change; what is left out stays. `content` is a JSON merge patch."""

    name: Name = left_out()
    description: Description = left_out()
    type: InstructionType = left_out()
    category: Word = left_out()
    target_role: Word = left_out()
    content: ContentPatch = left_out()
    variables: Variables = left_out()
    validation_rules: ValidationRules | None = None
    tags: Tags = left_out()
    is_public: bool = left_out()
    changelog: Changelog | None = None
    bump: Part | None = Field(default=None, description="Computed from what changes unless you say it.")
    status: Literal[Status.DRAFT, Status.ACTIVE] | None = Field(
        default=None, description="Of the new version. Unless you say it: active, or a draft where a draft is changed."
    )


class Bump(NamedTuple):
    part: Part
    reason: str

    def asked(self, part: Part | None) -> "Bump":
        """The step that the author asked for, which need not be the one we would have taken."""
        if part is None or part is self.part:
            return self
        return Bump(
            part,
            recorded(
                "%(part)s was asked for; by what changed it would be %(otherwise)s: %(why)s",
                part=part,
                otherwise=self.part,
                why=self.reason,
            ),
        )


def revised(before: Authored, revision: Revision) -> Authored:
    """What the instruction says after the change. It may be equal to what it said before."""
    fields: dict[str, Any] = {name: getattr(before, name) for name in Authored.model_fields}
    news = {name: value for name, value in told(revision).items() if name in fields}
    if "content" in news:
        patch = revision.content.model_dump(mode="json", exclude_unset=True)
        news |= _rules_on_top(revision.content, news)
        patch.pop("validationRules", None)
        news["content"] = patched(before.content, patch)
    return checked(Authored, fields | news)


def _rules_on_top(patch: ContentPatch, news: dict[str, Any]) -> dict[str, Any]:
    """Rules in a patch of content are kept beside it."""
    if "validation_rules" not in patch.model_fields_set:
        return {}
    if news.get("validation_rules", patch.validation_rules) != patch.validation_rules:
        raise TwoSetsOfRules
    return {"validation_rules": patch.validation_rules}


def bump_for(before: Authored, after: Authored) -> Bump | None:
    """How large the step is and why; None if nothing changes."""
    if authored(before) == authored(after):
        return None
    if reason := _broken_promise(before, after):
        return Bump(Part.MAJOR, reason)
    if reason := _new_content(before, after):
        return Bump(Part.MINOR, reason)
    changed = ", ".join(_changed(before, after))
    return Bump(Part.PATCH, recorded("only the wording around it changed: %(fields)s", fields=changed))


def _broken_promise(before: Authored, after: Authored) -> str | None:
    old, new = before.content, after.content
    if before.type is not after.type:
        return recorded("the type changed from %(before)s to %(after)s", before=before.type, after=after.type)
    if old.system_prompt is not None and old.system_prompt != new.system_prompt:
        removed = new.system_prompt is None
        return recorded("the system prompt was removed") if removed else recorded("the system prompt was rewritten")
    kept = {text_of(constraint) for constraint in new.constraints}
    if any(text_of(constraint) not in kept for constraint in old.constraints):
        return recorded("a constraint was removed or rewritten")
    if not _locked(old) <= _locked(new):
        return recorded("a constraint was unlocked")
    names = {variable.name for variable in after.variables}
    if any(variable.name not in names for variable in before.variables):
        return recorded("a variable was removed")
    if not _needed(after.variables) <= _needed(before.variables):
        return recorded("a variable became required")
    return None


def _locked(content: Content) -> set[str]:
    return {text_of(constraint) for constraint in content.constraints if is_locked(constraint)}


def _needed(variables: tuple[Variable, ...]) -> set[str]:
    return {variable.name for variable in variables if variable.required and variable.default is None}


def _new_content(before: Authored, after: Authored) -> str | None:
    fields = [name for name in Content.model_fields if getattr(before.content, name) != getattr(after.content, name)]
    names = [Content.model_fields[name].alias or name for name in fields]
    if before.validation_rules != after.validation_rules:
        names.append("validationRules")
    if before.variables != after.variables:
        names.append("variables")
    return recorded("content changed: %(fields)s", fields=", ".join(names)) if names else None


def _changed(before: Authored, after: Authored) -> list[str]:
    fields = Authored.model_fields.items()
    return [field.alias or name for name, field in fields if getattr(before, name) != getattr(after, name)]
