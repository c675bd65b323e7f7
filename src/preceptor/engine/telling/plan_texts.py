"""Plans in the words of the library: which instruction says what of a plan, resolved when a turn begins."""

from typing import Any

from pydantic import ValidationError

from preceptor.domain.errors import Invalid, PreceptorError, phrased
from preceptor.domain.instructions.instruction import InstructionType, InstructionVersion
from preceptor.domain.instructions.specialist import chosen, named
from preceptor.domain.reasoning.plan import Action
from preceptor.domain.reasoning.policy import SgrPolicy
from preceptor.domain.reasoning.templates import SHIPPED, PlanTemplate
from preceptor.domain.reasoning.wording import PlanTexts
from preceptor.domain.turns.facts import PlanText
from preceptor.engine.repositories.work import Work
from preceptor.engine.telling.named import family_named


async def in_words(work: Work, sgr: dict[str, Any]) -> dict[str, Any]:
    """The pins of a turn that say what the library has to say of its plan, and where each text is from.

    What cannot be used any more is said in our words, and the turn's record says why: nobody waits for an editor.
    """
    policy = SgrPolicy.model_validate(sgr) if sgr else None
    wanted = {} if policy is None else policy.template_instructions.by_action()
    if policy is None or not wanted:
        return {}
    texts, told = policy.templates.model_dump(mode="json"), list[PlanText]()
    for action, name in wanted.items():
        try:
            version = await _found(work, name)
            made = _template(action, version)
        except Invalid as problem:
            told.append(PlanText(action=action, name=name, problem=str(problem)))
            continue
        texts[action.value] = {"analysis": made.analysis, "response": made.response}
        told.append(
            PlanText(action=action, name=name, instruction_id=version.instruction_id, version=str(version.version))
        )
    worded = policy.model_copy(update={"templates": PlanTexts.model_validate(texts)})
    return {"sgr": worded.model_dump(mode="json"), "plan_texts": tuple(told)}


async def require_usable(work: Work, policy: SgrPolicy | None) -> None:
    """Complain of an instruction that cannot be said of a plan."""
    for problem in (await unusable(work, policy)).values():
        raise problem


async def unusable(work: Work, policy: SgrPolicy | None) -> dict[Action, Invalid]:
    """For each action whose instruction cannot be said of a plan, why."""
    problems = dict[Action, Invalid]()
    for action, name in ({} if policy is None else policy.template_instructions.by_action()).items():
        try:
            _template(action, await _found(work, name))
        except Invalid as problem:
            problems[action] = problem
    return problems


async def _found(work: Work, text: str) -> InstructionVersion:
    meant = named(text)
    family = None if meant is None else await family_named(work, meant[0])
    if meant is None or family is None:
        raise Invalid(
            phrased(
                "There is no instruction %(name)s to word plans with. Create it with the type `template`.",
                name=repr(text),
            )
        )
    labels = {label.name: label.instruction_id for label in await work.labels.of_family(family.family_id)}
    version = chosen(meant[1], await work.instructions.versions(family.family_id), labels)
    if version is None:
        raise Invalid(
            phrased("No version of %(name)s is in force, so plans cannot be worded with it.", name=repr(text))
        )
    if version.type is not InstructionType.TEMPLATE:
        raise Invalid(
            phrased(
                "%(name)s is of type %(type)s; plans are worded with one of type `template`.",
                name=repr(text),
                type=version.type,
            )
        )
    return version


def _template(action: Action, version: InstructionVersion) -> PlanTemplate:
    """`systemPrompt` is what models are told of the plan, `guidelines` what the user is told, a paragraph each."""
    said, ours = version.content, SHIPPED[action]
    analysis, response = said.system_prompt or ours.analysis, "\n\n".join(said.guidelines) or ours.response
    try:
        made = PlanTemplate(action=action, analysis=analysis, response=response)
        texts = {action.value: {"analysis": made.analysis, "response": made.response}}
        PlanTexts.model_validate(texts)
    except PreceptorError as wrong:
        raise Invalid(
            phrased(
                "%(name)s cannot word a plan that ends in %(action)s: %(why)s",
                name=repr(version.name),
                action=action.value,
                why=wrong,
            )
        ) from None
    except ValidationError:
        raise Invalid(
            phrased(
                "%(name)s cannot word a plan that ends in %(action)s: its texts are too long, or name what their "
                "readers may not see.",
                name=repr(version.name),
                action=action.value,
            )
        ) from None
    return made
