"""The templates that come with the software, ready to be filled in. Each is there in every language we speak.

Support, coding, code review, analysis and general work, and three specialists to delegate to: a critic that argues with
a draft (after multi-agent debate and Self-Refine), a summariser that packs more into the same length (after Chain of
Density), and a fact checker.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from pydantic import StringConstraints

from preceptor.domain.instructions.instruction import Authored, InstructionType
from preceptor.domain.instructions.shipped_en import ENGLISH
from preceptor.domain.instructions.shipped_ru import RUSSIAN
from preceptor.domain.instructions.shipped_vi import VIETNAMESE
from preceptor.domain.instructions.template import require_declared
from preceptor.domain.instructions.version import FIRST, Version

LANGUAGES: Mapping[str, Mapping[str, Any]] = {"en": ENGLISH, "ru": RUSSIAN, "vi": VIETNAMESE}
TemplateId = Annotated[str, StringConstraints(pattern=r"^template-[a-z][a-z-]{0,50}-(en|ru|vi)$")]


class Shipped(Authored):
    """A template of ours. `version` is raised whenever its text changes, so that what was made from it can tell."""

    template_id: TemplateId
    type: InstructionType = InstructionType.TEMPLATE
    version: Version = FIRST


class _Frame(NamedTuple):
    """What a template is in every language."""

    category: str
    target_role: str
    tags: tuple[str, ...]
    tone: str = "professional"
    formality: str | None = None


_FRAMES = {
    "support": _Frame("support", "assistant", ("support",), "friendly", "formal"),
    "coding": _Frame("coding", "assistant", ("coding",), formality="informal"),
    "code-review": _Frame("coding", "reviewer", ("coding", "review")),
    "analysis": _Frame("analysis", "analyst", ("analysis",), formality="formal"),
    "general": _Frame("general", "assistant", ("general",), "friendly", "informal"),
    "critic": _Frame("general", "reviewer", ("specialist", "critic")),
    "summariser": _Frame("general", "analyst", ("specialist", "summary")),
    "fact-checker": _Frame("general", "reviewer", ("specialist", "facts")),
}
_ABOUT = ("name", "description", "variables")


def _library() -> Iterator[Shipped]:
    for language, words in LANGUAGES.items():
        for role, frame in _FRAMES.items():
            template = _written(role, frame, language, words[role])
            require_declared(template.content, template.variables)
            yield template


def _written(role: str, frame: _Frame, language: str, words: Mapping[str, Any]) -> Shipped:
    said = {field: text for field, text in words.items() if field not in _ABOUT}
    steps = [{"order": order} | step for order, step in enumerate(said.pop("steps", ()), 1)]
    style = {"tone": frame.tone, "language": language, "formality": frame.formality}
    return Shipped.model_validate(
        {
            "templateId": f"template-{role}-{language}",
            **{field: words[field] for field in _ABOUT},
            "category": frame.category,
            "targetRole": frame.target_role,
            "tags": (*frame.tags, language),
            "content": {**said, "steps": steps, **style},
        }
    )


SHIPPED: Mapping[str, Shipped] = MappingProxyType({template.template_id: template for template in _library()})
"""By `templateId`, which never changes."""
