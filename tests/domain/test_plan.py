import json
import math
import os
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preceptor.domain.messages.message import Text, Thinking, ToolCall
from preceptor.domain.reasoning.inference import infer_category, infer_topic
from preceptor.domain.reasoning.plan import TOOL_NAME, Action, Malformed, Plan, degraded
from preceptor.domain.reasoning.reading import (
    LONGEST,
    LONGEST_ITEM,
    MOST,
    read_carefully,
    read_neat,
    read_plan,
    read_reply,
)
from preceptor.domain.reasoning.routing import RoutingPolicy, Thresholds, route
from preceptor.domain.reasoning.schema import ask_again, tool_description, tool_schema
from preceptor.domain.reasoning.synthesis import confidence_label, synthesise
from preceptor.domain.shortening import shortened
from tests.attacks import forgeries
from tests.requirements import covers

unhurried = settings(deadline=None, max_examples=200_000 if os.environ.get("PRECEPTOR_NIGHTLY") else 1_000)

GOOD: dict[str, Any] = {
    "spam_score": 0.05,
    "spam_reason": "It asks about a feature of the product",
    "user_intent": "Reset the password of a shared mailbox",
    "topic": "Mailbox password",
    "category": "how_to",
    "subqueries": ["reset mailbox password", "shared mailbox rights"],
    "action_plan": ["Find the article", "Give the steps"],
    "intent_confidence": 0.9,
    "uncertainties": [],
    "action": "normal",
    "clarification_question": None,
}


def changed(**fields: Any) -> Any:
    return read_plan(GOOD | fields)


def without(name: str) -> Any:
    return read_plan({key: value for key, value in GOOD.items() if key != name})


# The schema


@covers("R145", "R131")
def test_the_fields_stand_in_the_order_of_the_reasoning_and_each_says_which_step_it_is():
    schema = tool_schema("en")
    names = list(schema["properties"])
    assert [name for name in names if name not in {"topic", "category"}] == [
        "spam_score",
        "spam_reason",
        "user_intent",
        "subqueries",
        "action_plan",
        "intent_confidence",
        "uncertainties",
        "action",
        "clarification_question",
    ]
    steps = [schema["properties"][name]["description"].split(",")[0] for name in names]
    assert all(step.startswith("REASONING STEP ") for step in steps)
    assert steps == sorted(steps)
    assert all(f"({duty})" in tool_description() for duty in (1, 2, 3, 4))
    assert schema["description"] == tool_description()


@covers("R146", "R147", "R148", "R149", "R151", "R153", "R155")
def test_what_is_required_is_required_and_nothing_has_a_length_that_a_provider_could_refuse():
    schema = tool_schema("en")
    assert schema["title"] == "SGRPlanResult"
    assert schema["required"] == [
        "spam_score",
        "spam_reason",
        "user_intent",
        "subqueries",
        "intent_confidence",
        "action",
    ]
    assert not {"maxLength", "maxItems", "minItems", "minLength"} & {*json.dumps(schema).split('"')}
    assert not {"ask_for_clarification", "template_hint", "guard_categories"} & {*schema["properties"]}
    for ranges in ("0.0-0.2", "0.3-0.5", "0.6-0.8", "0.9-1.0"):
        assert ranges in schema["properties"]["spam_score"]["description"]
    for ranges in ("0.0-0.4", "0.5-0.7", "0.8-1.0"):
        assert ranges in schema["properties"]["intent_confidence"]["description"]
    for score in ("spam_score", "intent_confidence"):
        assert (schema["properties"][score]["minimum"], schema["properties"][score]["maximum"]) == (0, 1)


@covers("R144")
def test_the_actions_are_four_and_their_values_are_the_names_of_the_templates():
    assert [action.value for action in Action] == ["normal", "clarify", "block", "guardian_block"]
    assert tool_schema("en")["properties"]["action"]["enum"] == [action.value for action in Action]


@covers("R147")
@pytest.mark.parametrize(
    ("language", "spoken"), [("en", "English"), ("ru", "Russian"), ("vi", "Vietnamese"), ("de", "de")]
)
def test_a_model_is_asked_to_write_in_the_configured_language_about_the_configured_product(language: str, spoken: str):
    properties = tool_schema(language, "Acme {language}")["properties"]
    for name in ("spam_reason", "user_intent", "subqueries", "action_plan", "uncertainties", "clarification_question"):
        assert spoken in properties[name]["description"]
    assert "Acme" in properties["spam_score"]["description"]


# Reading what is as it should be


@covers("R131")
def test_a_good_plan_is_read_as_it_is():
    assert changed() == Plan(
        spam_score=0.05,
        spam_reason="It asks about a feature of the product",
        user_intent="Reset the password of a shared mailbox",
        topic="Mailbox password",
        category="how_to",
        subqueries=("reset mailbox password", "shared mailbox rights"),
        action_plan=("Find the article", "Give the steps"),
        intent_confidence=0.9,
        action=Action.NORMAL,
    )


@covers("R131")
def test_reading_changes_nothing_and_gives_the_same_plan_again():
    before = json.dumps(GOOD)
    assert changed() == read_plan(json.dumps(GOOD)) == read_plan(f"```json\n{json.dumps(GOOD)}\n```")
    assert json.dumps(GOOD) == before


# Reading what is not


SCORES: dict[str, tuple[Any, float | None]] = {
    "a whole number": (1, 1.0),
    "nought": (0, 0.0),
    "too much": (85, 1.0),
    "too little": (-3, 0.0),
    "endless": (10**400, 1.0),
    "infinity": (math.inf, 1.0),
    "minus infinity": (-math.inf, 0.0),
    "text": ("0.4", 0.4),
    "NaN": (math.nan, None),
    "NaN as text": ("nan", None),
    "true": (True, None),
    "words": ("high", None),
    "nothing": (None, None),
    "a list": ([0.5], None),
    "an object": ({"value": 0.5}, None),
    "a very long text": ("0" * 5_000_000, None),
}


@covers("R146", "R151")
@pytest.mark.parametrize("name", ["spam_score", "intent_confidence"])
@pytest.mark.parametrize(("given_as", "score"), SCORES.values(), ids=SCORES)
def test_a_score_is_brought_between_0_and_1_or_missed(name: str, given_as: Any, score: float | None):
    found = changed(**{name: given_as})
    if score is None:
        assert found == Malformed((f"{name} must be a number from 0 to 1.",))
    else:
        assert getattr(found, name) == score


@pytest.mark.parametrize("name", ["spam_score", "intent_confidence", "user_intent"])
def test_without_what_the_route_depends_on_there_is_no_plan_and_the_model_is_told_why(name: str):
    found = without(name)
    assert isinstance(found, Malformed)
    assert name in str(found)
    assert str(found) in ask_again(found.reasons)


@pytest.mark.parametrize("name", ["spam_reason", "subqueries", "action_plan", "uncertainties", "action", "topic"])
def test_without_the_rest_there_is_a_plan(name: str):
    assert isinstance(without(name), Plan)


LISTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "nothing": (None, ()),
    "one text": ("reset password", ("reset password",)),
    "a blank text": ("  ", ()),
    "a number": (7, ()),
    "numbers among texts": (["a", 7, None, {"q": "b"}, ["c"], "d"], ("a", "d")),
    "blanks among texts": (["a", " ", "", "b "], ("a", "b")),
    "the same twice": (["Reset", "Reset"], ("Reset",)),
    "an object": ({"0": "a"}, ()),
}


@covers("R149", "R150", "R152")
@pytest.mark.parametrize("name", MOST)
@pytest.mark.parametrize(("given_as", "texts"), LISTS.values(), ids=LISTS)
def test_a_list_is_its_texts(name: str, given_as: Any, texts: tuple[str, ...]):
    found = changed(**{name: given_as})
    assert getattr(found, name) == texts
    assert (name in found.repaired) == (given_as is not None)


@covers("R149")
def test_queries_that_differ_in_case_only_are_asked_once():
    assert changed(subqueries=["Reset password", "reset PASSWORD", "Đặt lại", "ĐẶT LẠI"]).subqueries == (
        "Reset password",
        "Đặt lại",
    )


@covers("R149", "R150", "R152")
@pytest.mark.parametrize(("name", "most"), MOST.items())
def test_a_list_that_is_too_long_is_cut_and_named(name: str, most: int):
    found = changed(**{name: [f"item {n}" for n in range(100_000)]})
    assert getattr(found, name) == tuple(f"item {n}" for n in range(most))
    assert found.truncated == (name,)


@covers("R147", "R148", "R154")
@pytest.mark.parametrize(("name", "limit"), LONGEST.items())
def test_a_text_that_is_too_long_is_cut_at_a_word_and_named_instead_of_failing(name: str, limit: int):
    found = changed(**{name: "слово " * 1000})
    text = getattr(found, name)
    assert len(text) <= limit
    assert text.endswith("слово…")
    assert found.truncated == (name,)
    assert len(getattr(changed(**{name: "x" * limit}), name)) == limit


@covers("R199")
@pytest.mark.parametrize(
    "text", ["e\u0301" * 400, "👩‍👩‍👧‍👦" * 100, "👍🏽" * 300, "Tiếng Việt có dấu " * 60, "слово" * 100]
)
def test_a_cut_never_goes_through_a_character(text: str):
    cut = shortened(text, 300)
    assert len(cut) <= 300
    kept = cut.removesuffix("…")
    assert text.startswith(kept)
    rest = text[len(kept) :]
    assert rest[0] not in "\u0301\u200d🏽"
    assert kept[-1] != "\u200d"


@covers("R149")
@pytest.mark.parametrize(
    ("action", "filled"), [("normal", True), ("unheard of", True), ("clarify", False), ("block", False)]
)
def test_a_search_is_needed_only_where_the_agent_can_search_and_the_action_is_normal(action: str, filled: bool):
    given_as: dict[str, Any] = GOOD | {"subqueries": [], "action": action}
    assert isinstance(searched := read_plan(given_as, needs_subqueries=True), Plan)
    assert searched.subqueries == ((GOOD["user_intent"],) if filled else ())
    assert isinstance(greeted := read_plan(given_as), Plan)
    assert greeted.subqueries == ()


ACTIONS: dict[str, tuple[Any, Action | None]] = {
    "known": ("clarify", Action.CLARIFY),
    "in capitals": (" BLOCK ", Action.BLOCK),
    "unknown": ("escalate", None),
    "a number": (3, None),
    "nothing": (None, None),
}


@covers("R153")
@pytest.mark.parametrize(("given_as", "action"), ACTIONS.values(), ids=ACTIONS)
def test_an_action_that_is_not_known_is_no_opinion_and_the_table_decides(given_as: Any, action: Action | None):
    found = changed(action=given_as)
    assert found.action is action
    assert action is not None or route(found, None).action is Action.NORMAL


UNREADABLE: dict[str, Any] = {
    "not JSON": "I would say it is fine",
    "half of it": json.dumps(GOOD)[:-5],
    "a list": [GOOD],
    "a list as text": json.dumps([GOOD]),
    "a number": 7,
    "nothing": None,
    "NaN in the text": '{"spam_score": NaN}',
    "very deep": "[" * 10_000 + "]" * 10_000,
    "very deep objects": '{"a":' * 10_000 + "1" + "}" * 10_000,
    "five megabytes": json.dumps(GOOD | {"user_intent": "x" * 5_000_000}),
    "an empty object": {},
}


@pytest.mark.parametrize("written", UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_plan_is_malformed_with_a_reason(written: Any):
    found = read_plan(written)
    assert isinstance(found, Malformed)
    assert all(reason.endswith(".") for reason in found.reasons)


def test_five_megabytes_in_an_argument_are_cut():
    found = changed(user_intent="x " * 2_500_000, subqueries=["y" * 5_000_000])
    assert (len(found.user_intent) <= 300, len(found.subqueries[0])) == (True, LONGEST_ITEM)


def test_what_no_database_can_keep_is_replaced():
    found = changed(user_intent="a\0b\ud800c", subqueries=["\udfff"])
    msgspec.json.encode(found).decode().encode()
    assert "\0" not in found.user_intent


# Finding the plan in a reply


def call(name: str = TOOL_NAME, malformed: str | None = None, **arguments: Any) -> ToolCall:
    return ToolCall(id="c1", name=name, arguments=arguments, malformed=malformed)


@pytest.mark.parametrize(
    "parts",
    [
        [call(**GOOD)],
        [Thinking("Hm."), Text("Let me see."), call(**GOOD)],
        [call("search", query="x"), call(**GOOD)],
        [Text(json.dumps(GOOD))],
        [Text("```json\n"), Text(json.dumps(GOOD)), Text("\n```")],
    ],
    ids=["the call", "words around it", "another tool beside it", "JSON instead", "fenced JSON"],
)
def test_the_one_plan_in_a_reply_is_found(parts: list[Any]):
    assert read_reply(parts) == changed()


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [Text("Hello!")],
        [call("search", query="x")],
        [call("search"), Text(json.dumps(GOOD))],
        [call(**GOOD), call(**GOOD)],
        [call(malformed='{"spam_score": 0.')],
    ],
    ids=["nothing", "words", "the wrong tool", "the wrong tool and JSON", "two plans", "half a call"],
)
def test_a_reply_without_exactly_one_plan_is_malformed(parts: list[Any]):
    assert isinstance(read_reply(parts), Malformed)


# Whatever a model writes

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        "spam_score": st.floats(0, 1) | ANYTHING,
        "intent_confidence": st.floats(0, 1) | ANYTHING,
        "user_intent": st.text(min_size=1) | st.sampled_from([*forgeries()]) | ANYTHING,
        "spam_reason": st.text() | ANYTHING,
        "topic": st.text() | ANYTHING,
        "category": st.text() | ANYTHING,
        "subqueries": st.lists(st.text(), max_size=14) | ANYTHING,
        "action_plan": st.lists(st.text(), max_size=14) | ANYTHING,
        "uncertainties": st.lists(st.text(), max_size=14) | ANYTHING,
        "action": st.sampled_from([action.value for action in Action]) | ANYTHING,
        "clarification_question": st.none() | st.text() | ANYTHING,
        "more": ANYTHING,
    },
)


@unhurried
@given(NEARLY | ANYTHING)
def test_whatever_a_model_writes_there_is_one_typed_outcome_and_a_plan_keeps_its_promises(written: Any):
    found = read_plan(written)
    if isinstance(found, Malformed):
        assert found.reasons
        return
    assert 0 <= found.spam_score <= 1
    assert 0 <= found.intent_confidence <= 1
    assert found.user_intent
    texts = [found.user_intent, found.spam_reason, found.topic, found.category, found.clarification_question or ""]
    lists = [found.subqueries, found.action_plan, found.uncertainties]
    assert all(len(items) <= most for items, most in zip(lists, MOST.values(), strict=True))
    assert all(len(text.splitlines()) <= 1 and len(text) <= 300 for text in [*texts, *sum(lists, ())])
    assert msgspec.json.decode(msgspec.json.encode(found), type=Plan) == found
    synthesise(found, route(found, None), None)


SOME = st.text(st.sampled_from("ab é#<|-= :`~[!\u200b.Яя"), max_size=6)
ORDINARY = st.fixed_dictionaries(
    {
        "spam_score": st.floats(0, 1),
        "spam_reason": SOME,
        "user_intent": SOME,
        "subqueries": st.lists(SOME, max_size=3),
        "intent_confidence": st.floats(0, 1),
        "action": st.sampled_from([action.value for action in Action]),
    },
    optional={
        "topic": SOME,
        "category": SOME,
        "action_plan": st.lists(SOME, max_size=3),
        "uncertainties": st.lists(SOME, max_size=3),
        "clarification_question": st.none() | SOME,
    },
)


@settings(deadline=None, max_examples=500)
@given(ORDINARY)
def test_the_quick_way_and_the_careful_way_read_the_same(written: dict[str, Any]):
    quick = read_neat(written)
    assert quick is None or quick == read_carefully(written)


def test_an_ordinary_plan_takes_the_quick_way():
    assert read_neat(GOOD) is not None


# What stands in for a plan


def test_the_last_resort_goes_on_and_says_that_it_is_one():
    stand_in = degraded()
    assert (stand_in.degraded, stand_in.spam_score, stand_in.intent_confidence) == (True, 0.0, 0.6)
    assert route(stand_in, None).action is Action.NORMAL


def test_the_last_resort_goes_on_with_an_agents_own_thresholds_as_well():
    policy = RoutingPolicy(Thresholds(intent_confidence=0.9))
    assert route(degraded(policy.thresholds.intent_confidence), None, policy).action is Action.NORMAL


# Topic and category


@covers("R156")
@pytest.mark.parametrize(
    ("intent", "topic", "category"),
    [
        (
            "The user wants to reset the password of a shared mailbox today",
            "reset password shared mailbox today",
            "general",
        ),
        ("Fix the import error in the log.", "Fix import error log", "problem"),
        ("Пользователь хочет настроить права доступа к шаблону", "настроить права доступа шаблону", "how_to"),
        ("Người dùng muốn cài đặt máy tính mới", "cài đặt máy tính mới", "how_to"),
        ("Muốn hoàn tiền cho đơn hàng", "hoàn tiền đơn hàng", "request"),
        ("Explain the difference, please", "Explain difference", "question"),
        ("of the and", "", "general"),
        ("😀 🎉", "😀 🎉", "general"),
    ],
)
def test_topic_and_category_are_inferred_where_none_is_given(intent: str, topic: str, category: str):
    assert (infer_topic(intent), infer_category(intent)) == (topic, category)
    found = read_plan({"spam_score": 0, "intent_confidence": 1, "user_intent": intent})
    assert isinstance(found, Plan)
    assert (found.topic, found.category) == (topic, category)


@covers("R156")
def test_a_topic_and_a_category_that_are_given_are_kept():
    assert (changed(topic="Bills", category="question").topic, changed(category="question").category) == (
        "Bills",
        "question",
    )


@covers("R151")
@pytest.mark.parametrize(
    ("confidence", "label"),
    [(0.0, "Low"), (math.nextafter(0.6, 0), "Low"), (0.6, "Medium"), (math.nextafter(0.8, 0), "Medium"), (0.8, "High")],
)
def test_confidence_is_low_medium_or_high(confidence: float, label: str):
    assert confidence_label(confidence) == label
