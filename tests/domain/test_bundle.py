from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from preceptor.domain.ids import FamilyId
from preceptor.domain.instructions.bundle import Bundle
from preceptor.domain.instructions.planning import Action, Stored, plan
from preceptor.domain.instructions.version import SemVer
from tests.domain.bundles import bundles
from tests.domain.instructions import version

unhurried = settings(deadline=None, max_examples=40)


def said(number: str | None = "1.0.0", text: str = "a", **fields: Any) -> dict[str, Any]:
    about = {"version": number} if number else {}
    return {"name": "Support", "type": "system", "content": {"systemPrompt": text}} | about | fields


def bundle(*versions: dict[str, Any], **fields: Any) -> Bundle:
    return Bundle.model_validate({"instructions": [{"familyId": "family", "versions": list(versions)} | fields]})


def stored(*versions: dict[str, Any], family: str = "family", labels: dict[str, SemVer] | None = None) -> Stored:
    given = [
        version(
            one["type"], one["content"], version=one["version"], name=one["name"], status=one.get("status", "active")
        )
        for one in versions
    ]
    return Stored(FamilyId(family), given, labels or {})


def shown(wanted: Bundle, *ours: Stored, force: bool = False) -> list[tuple[str, str]]:
    return [(task.step.action, str(task.step.version)) for task in plan(wanted, ours, force=force)]


# What a bundle may be


WRONG: dict[str, dict[str, Any]] = {
    "an unknown field": {"instructions": [], "extra": 1},
    "another format": {"format": "someone-elses", "instructions": []},
    "a format of the future": {"formatVersion": 2, "instructions": []},
    "no version": {"instructions": [{"versions": []}]},
    "descending versions": {"instructions": [{"versions": [said("1.1.0"), said("1.0.0")]}]},
    "a version twice": {"instructions": [{"versions": [said("1.0.0"), said("1.0.0")]}]},
    "versions without numbers": {"instructions": [{"versions": [said(None), said(None)]}]},
    "a label that is none": {"instructions": [{"versions": [said()], "labels": {"latest": "1.0.0"}}]},
    "a familyId twice": {"instructions": [{"familyId": "f", "versions": [said()]}] * 2},
    "a name twice without ids": {"instructions": [{"versions": [said()]}, {"versions": [said(name="SUPPORT!")]}]},
    "an owner": {"instructions": [{"versions": [said(owner={"orgId": "x", "userId": "y"})]}]},
    "an id of its own": {"instructions": [{"versions": [said(instructionId="x")]}]},
    "an unknown type": {"instructions": [{"versions": [said(type="wizard")]}]},
}


@pytest.mark.parametrize("fields", WRONG.values(), ids=WRONG)
def test_what_a_bundle_cannot_be_is_refused(fields: dict[str, Any]):
    with pytest.raises(ValidationError):
        Bundle.model_validate(fields)


# What bringing one in does


def test_what_is_new_is_created_with_its_history_and_labels():
    wanted = bundle(said("1.0.0"), said("1.1.0", "b"), labels={"production": "1.0.0", "staging": "3.0.0"})
    assert shown(wanted) == [("create", "1.0.0"), ("add_version", "1.1.0"), ("label", "1.0.0"), ("skip", "3.0.0")]


def test_what_is_here_already_is_unchanged():
    both = said("1.0.0"), said("1.1.0", "b")
    labels = {"production": SemVer(1, 0, 0)}
    wanted = bundle(*both, labels={"production": "1.0.0"})
    assert shown(wanted, stored(*both, labels=labels)) == [("unchanged", "1.1.0")]


def test_newer_versions_are_added_and_older_ones_that_are_missing_are_not_made_up():
    wanted = bundle(said("0.9.0", "z"), said("1.0.0"), said("2.0.0", "b"))
    assert shown(wanted, stored(said("1.0.0"))) == [("skip", "0.9.0"), ("add_version", "2.0.0")]


def test_an_edit_of_the_newest_version_becomes_the_next_one():
    assert shown(bundle(said("1.0.0", "b")), stored(said("1.0.0"))) == [("revise", "2.0.0")]
    assert shown(bundle(said(None, "b")), stored(said("1.0.0"))) == [("revise", "2.0.0")]
    assert shown(bundle(said(None)), stored(said("1.0.0"))) == [("unchanged", "1.0.0")]


def test_an_edit_of_a_version_that_others_have_moved_on_from_is_a_conflict_until_it_is_forced():
    wanted, ours = bundle(said("1.0.0", "mine")), stored(said("1.0.0"), said("1.1.0", "theirs"))
    assert shown(wanted, ours) == [("conflict", "1.0.0")]
    assert shown(wanted, ours, force=True) == [("revise", "2.0.0")]


def test_a_status_moves_only_where_it_may():
    ours = stored(said("1.0.0"))
    assert shown(bundle(said("1.0.0", status="deprecated")), ours) == [("status", "1.0.0")]
    assert shown(bundle(said("1.0.0", status="draft")), ours) == [("skip", "1.0.0")]


def test_a_label_moves_to_a_version_that_is_here_or_comes_with_it():
    ours = stored(said("1.0.0"), labels={"production": SemVer(1, 0, 0)})
    wanted = bundle(said("1.0.0"), said("1.1.0", "b"), labels={"production": "1.1.0"})
    assert shown(wanted, ours) == [("add_version", "1.1.0"), ("label", "1.1.0")]
    assert shown(bundle(said("1.0.0"), labels={"production": "9.0.0"}), ours) == [("skip", "9.0.0")]


def test_an_instruction_from_elsewhere_is_known_by_its_name_and_type():
    wanted = Bundle.model_validate({"instructions": [{"familyId": "theirs", "versions": [said("1.0.0", "b")]}]})
    assert shown(wanted, stored(said("1.0.0"), family="ours")) == [("revise", "2.0.0")]
    task = Bundle.model_validate({"instructions": [{"versions": [said("1.0.0", type="task")]}]})
    assert shown(task, stored(said("1.0.0"))) == [("create", "1.0.0")]
    two = stored(said("1.0.0"), family="one"), stored(said("1.0.0"), family="two")
    assert shown(wanted, *two) == [("create", "1.0.0")]


def test_what_is_mentioned_comes_before_whoever_mentions_it():
    def called(name: str, text: str) -> dict[str, Any]:
        return {"versions": [said(None, text, name=name)]}

    chain = [called(f"Doc {n}", f"see @document:doc-{n + 1}") for n in range(1_500)]
    wanted = Bundle.model_validate({"instructions": [*chain, called("Doc 1500", "the end")]})
    assert [task.step.name for task in plan(wanted, [])] == [f"Doc {n}" for n in range(1_500, -1, -1)]


def test_documents_in_a_circle_are_still_all_there():
    circle = [{"versions": [said(None, f"@document:{other}", name=name)]} for name, other in ("ab", "ba")]
    assert len(plan(Bundle.model_validate({"instructions": circle}), [])) == 2


@unhurried
@given(bundles(), st.booleans())
def test_every_version_of_a_bundle_is_planned_once_or_is_here(wanted: Bundle, force: bool):
    steps = [task.step for task in plan(wanted, [], force=force)]
    made = [step for step in steps if step.action in {Action.CREATE, Action.ADD}]
    assert len(made) == sum(len(one.versions) for one in wanted.instructions)
    assert sum(step.action is Action.CREATE for step in steps) == len(wanted.instructions)
    assert {step.action for step in steps} <= {Action.CREATE, Action.ADD, Action.LABEL}


@unhurried
@given(bundles())
def test_bringing_in_what_was_brought_in_changes_nothing(wanted: Bundle):
    ours = [
        Stored(
            FamilyId(str(one.family_id)),
            [
                version(
                    given.type,
                    given.content,
                    **{
                        name: getattr(given, name)
                        for name in type(given).model_fields
                        if name not in {"type", "content"}
                    },
                )
                for given in one.versions
            ],
            one.labels,
        )
        for one in wanted.instructions
    ]
    assert {task.step.action for task in plan(wanted, ours)} <= {Action.UNCHANGED}
