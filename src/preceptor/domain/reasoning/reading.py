"""Reading a plan leniently: whatever a model wrote, there is a plan, or there are reasons why not."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, cast

import msgspec
import orjson
from msgspec import Meta

from preceptor.domain.messages.message import AnyPart, Text, ToolCall
from preceptor.domain.reasoning.inference import infer_category, infer_topic
from preceptor.domain.reasoning.neutral import neutral, plain
from preceptor.domain.reasoning.plan import TOOL_NAME, Action, Malformed, Plan
from preceptor.domain.shortening import shortened

LONGEST = {"spam_reason": 150, "user_intent": 300, "clarification_question": 300, "topic": 80, "category": 40}
LONGEST_ITEM = 300
MOST = {"subqueries": 10, "action_plan": 10, "uncertainties": 5}
_LOOKED_AT = 1_000
"""Items of an endless list that are tried."""
_LARGEST_TEXT = 1_000_000
_READ_OF_ONE_TEXT = 4 * LONGEST_ITEM
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_FENCED = re.compile(r"\A```(?:json)?\s*\n(.*?)\n?```\Z", re.DOTALL)
_Score = Annotated[float, Meta(ge=0, le=1)]
_Item = Annotated[str, Meta(min_length=1, max_length=LONGEST_ITEM)]
_ACTIONS = {action.value: action for action in Action}


def read_reply(parts: Sequence[AnyPart], *, needs_subqueries: bool = False) -> Plan | Malformed:
    """The plan in a whole reply: in its one planning call or, without any call, in its text as JSON."""
    calls = [part for part in parts if isinstance(part, ToolCall)]
    planning = [call for call in calls if call.name == TOOL_NAME]
    match planning:
        case [ToolCall(malformed=None, arguments=arguments)]:
            return read_plan(arguments, needs_subqueries=needs_subqueries)
        case [_]:
            return Malformed((f"The arguments of {TOOL_NAME} are not a JSON object.",))
        case []:
            text = "".join(part.text for part in parts if isinstance(part, Text)).strip()
            if text and not calls:
                return read_plan(text, needs_subqueries=needs_subqueries)
            return Malformed((f"{TOOL_NAME} was not called.",))
        case _:
            return Malformed((f"{TOOL_NAME} was called {len(planning)} times; one call was asked for.",))


def read_plan(written: object, *, needs_subqueries: bool = False) -> Plan | Malformed:
    """The plan in a tool's arguments, or in JSON text."""
    fields = _object(written)
    if fields is None:
        return Malformed(("The plan is not a JSON object.",))
    return read_neat(fields) or read_carefully(fields, needs_subqueries=needs_subqueries)


class _Neat(msgspec.Struct, frozen=True):
    """A plan in which there is nothing to put right."""

    spam_score: _Score
    spam_reason: Annotated[str, Meta(min_length=1, max_length=LONGEST["spam_reason"])]
    user_intent: Annotated[str, Meta(min_length=1, max_length=LONGEST["user_intent"])]
    subqueries: Annotated[tuple[_Item, ...], Meta(min_length=1, max_length=MOST["subqueries"])]
    intent_confidence: _Score
    action: Action
    topic: Annotated[str, Meta(max_length=LONGEST["topic"])] = ""
    category: Annotated[str, Meta(max_length=LONGEST["category"])] = ""
    action_plan: Annotated[tuple[_Item, ...], Meta(max_length=MOST["action_plan"])] = ()
    uncertainties: Annotated[tuple[_Item, ...], Meta(max_length=MOST["uncertainties"])] = ()
    clarification_question: Annotated[str, Meta(min_length=1, max_length=LONGEST["clarification_question"])] | None = (
        None
    )


def read_neat(fields: Mapping[str, Any]) -> Plan | None:
    """The quick way for what most models write. Whatever it does not accept is read field by field instead."""
    try:
        found = msgspec.convert(fields, _Neat)
    except msgspec.ValidationError:
        return None
    queries, steps, doubts = found.subqueries, found.action_plan, found.uncertainties
    texts = (found.spam_reason, found.user_intent, found.topic, found.category, found.clarification_question or "")
    if not plain([*texts, *queries, *steps, *doubts]):
        return None
    if (
        _repeated(map(str.casefold, queries), len(queries))
        or _repeated(steps, len(steps))
        or _repeated(doubts, len(doubts))
    ):
        return None
    return Plan(
        spam_score=found.spam_score,
        spam_reason=found.spam_reason,
        user_intent=found.user_intent,
        topic=found.topic or infer_topic(found.user_intent),
        category=found.category or infer_category(found.user_intent),
        subqueries=found.subqueries,
        action_plan=found.action_plan,
        intent_confidence=found.intent_confidence,
        uncertainties=found.uncertainties,
        action=found.action,
        clarification_question=found.clarification_question,
    )


def _object(written: object) -> Mapping[str, Any] | None:
    if isinstance(written, str):
        if len(written) > _LARGEST_TEXT:
            return None
        fenced = _FENCED.match(written.strip()) if "```" in written else None
        try:
            written = orjson.loads(fenced[1] if fenced else written)
        except ValueError:
            return None
    return cast("Mapping[str, Any]", written) if isinstance(written, Mapping) else None


def read_carefully(fields: Mapping[str, Any], *, needs_subqueries: bool = False) -> Plan | Malformed:
    return _Reader(fields).plan(needs_subqueries=needs_subqueries)


def _repeated(items: Iterable[str], count: int) -> bool:
    return len(set(items)) < count


class _Reader:
    """One plan, field by field. What had to be changed is noted on the way."""

    __slots__ = ("fields", "missing", "repaired", "truncated")

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields
        self.missing: list[str] = []
        self.repaired: list[str] = []
        self.truncated: list[str] = []

    def plan(self, *, needs_subqueries: bool) -> Plan | Malformed:
        spam_score, confidence = self.score("spam_score"), self.score("intent_confidence")
        intent = self.text("user_intent")
        if not intent:
            self.missing.append("user_intent must be a sentence.")
        if spam_score is None or confidence is None or self.missing:
            return Malformed(tuple(self.missing))
        action = self.action()
        subqueries = self.texts("subqueries")
        if needs_subqueries and not subqueries and action in {None, Action.NORMAL}:
            self.repaired.append("subqueries")
            subqueries = (intent,)
        return Plan(
            spam_score=spam_score,
            spam_reason=self.text("spam_reason"),
            user_intent=intent,
            topic=self.text("topic") or infer_topic(intent),
            category=self.text("category") or infer_category(intent),
            subqueries=subqueries,
            action_plan=self.texts("action_plan"),
            intent_confidence=confidence,
            uncertainties=self.texts("uncertainties"),
            action=action,
            clarification_question=self.text("clarification_question") or None,
            truncated=tuple(self.truncated),
            repaired=tuple(self.repaired),
        )

    def score(self, name: str) -> float | None:
        """A number from 0 to 1. What lies outside is the nearest of them; `true` and NaN are no numbers."""
        value = self.fields.get(name)
        if isinstance(value, str):
            value = _number(value)
        if not isinstance(value, int | float) or isinstance(value, bool) or value != value:  # noqa: PLR0124 - NaN
            self.missing.append(f"{name} must be a number from 0 to 1.")
            return None
        if not 0 <= value <= 1:
            self.repaired.append(name)
        return 0.0 if value <= 0 else 1.0 if value >= 1 else float(value)

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        if not isinstance(value, str):
            if value is not None:
                self.repaired.append(name)
            return ""
        clean = _clean(value)
        limit = LONGEST[name]
        if len(clean) > limit:
            self.truncated.append(name)
            clean = shortened(clean, limit)
        return clean

    def texts(self, name: str) -> tuple[str, ...]:
        """Its distinct texts, as many as may be. One text alone is a list of one; what is no text is left out."""
        value = self.fields.get(name)
        if not isinstance(value, list | tuple):
            if value is not None:
                self.repaired.append(name)
            value = [value] if isinstance(value, str) else []
        given = cast("Sequence[object]", value)[:_LOOKED_AT]
        found: dict[str, str] = {}
        for item in given:
            text = _clean(item) if isinstance(item, str) else ""
            if text:
                found.setdefault(text.casefold() if name == "subqueries" else text, text)
        items = list(found.values())
        if len(items) > MOST[name] or any(len(item) > LONGEST_ITEM for item in items[: MOST[name]]):
            self.truncated.append(name)
        elif len(items) < len(given):
            self.repaired.append(name)
        return tuple(shortened(item, LONGEST_ITEM) for item in items[: MOST[name]])

    def action(self) -> Action | None:
        value = self.fields.get("action")
        if isinstance(value, str) and value in _ACTIONS:
            return _ACTIONS[value]
        self.repaired.append("action")
        return _ACTIONS.get(value.strip().lower()) if isinstance(value, str) else None


def _number(text: str) -> float | None:
    try:
        return float(text) if len(text) <= 40 else None
    except ValueError:
        return None


def _clean(text: str) -> str:
    """Storable, harmless and without space around it. Of megabytes only the beginning is looked at."""
    return neutral(_UNSTORABLE.sub("\ufffd", text.strip()[:_READ_OF_ONE_TEXT]))
