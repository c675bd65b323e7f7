"""Looks at turns from outside, without a line of the engine: the database, the clients' history, the world's ledger."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from tests.durability.checker import Row, check_chain, contents, lines

TERMINAL = {"turn.completed", "turn.blocked", "turn.clarify", "turn.failed", "turn.cancelled"}
TURNS = "SELECT id, conversation, status FROM turns"
MESSAGES = "SELECT conversation, place, id, seq, tokens, cum FROM messages ORDER BY conversation, place"
Fact = tuple[Row, dict[str, Any]]


class Found(NamedTuple):
    """How many of what were looked at."""

    turns: int
    statuses: Counter[str]
    unknown: int
    orphaned: int


def check_turns(url: str, folder: Path) -> Found:
    """Fail on the first broken promise."""
    events = contents(url).events
    turns, messages = rows(url)
    for _, stream in groupby(events, lambda row: (row.org, row.stream)):
        check_chain(list(stream))
    facts: defaultdict[str, list[Fact]] = defaultdict(list)
    for row in events:
        if row.turn is not None:
            facts[row.turn].append((row, json.loads(row.payload or "{}")))
    assert facts.keys() == {turn for turn, *_ in turns}
    statuses = {turn: status for turn, _, status in turns}
    for turn, told in facts.items():
        assert told[-1][0].kind == f"turn.{statuses[turn]}", f"{turn} is {statuses[turn]} but {told[-1][0].kind}"
        check_turn(told)
    check_places(messages, {(row.stream, row.seq): told for each in facts.values() for row, told in each})
    check_clients(lines(folder / "history.jsonl"), facts)
    ledger = lines(folder / "ledger.jsonl")
    check_calls(ledger, facts)
    check_effects(ledger, facts)
    return Found(len(turns), Counter(statuses.values()), count(facts, "outcome_unknown"), count(facts, "orphaned"))


def rows(url: str) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            return connection.execute(TURNS).fetchall(), connection.execute(MESSAGES).fetchall()
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('preceptor.org', '*', true)")
        return connection.execute(TURNS).fetchall(), connection.execute(MESSAGES).fetchall()


def check_turn(told: Sequence[Fact]) -> None:
    """One turn: begun once, ended once, and everything in it that was opened is closed."""
    kinds = [row.kind for row, _ in told]
    turn = told[0][0].turn
    assert kinds[:2] == ["turn.accepted", "message.completed"], turn
    assert [kind for kind in kinds if kind in TERMINAL] == kinds[-1:], f"{turn} ends {kinds[-3:]}"
    assert kinds.count("turn.accepted") == 1
    assert sum(fact["role"] == "user" for row, fact in told if row.kind == "message.completed") == 1
    check_once(told, "call.started", {"call.ended"}, "callId")
    check_once(told, "message.started", {"message.completed", "message.abandoned"}, "messageId")
    check_once(told, "tool.started", {"tool.completed"}, "toolCallId")
    check_once(told, "delegation.opened", {"delegation.closed"}, "spanId")
    check_stack(told)
    check_pairs(told)


def check_once(told: Sequence[Fact], opening: str, closing_kinds: set[str], name: str) -> None:
    """What was opened is closed once, afterwards. What says its end is of nothing else, but for messages."""
    opened: set[str] = set()
    closed: set[str] = set()
    for row, fact in told:
        known = fact.get(name) or (fact.get("id") if row.kind == "message.completed" else None)
        if row.kind == opening:
            assert known not in opened, f"{known} was opened twice"
            opened.add(known or "")
        elif row.kind in closing_kinds and (known in opened or row.kind != "message.completed"):
            assert known in opened, f"{known} was closed, and never opened"
            assert known not in closed, f"{known} was closed twice"
            closed.add(known or "")
    assert opened == closed, f"{told[0][0].turn}: {opening} without an end: {opened - closed}"


def check_stack(told: Sequence[Fact]) -> None:
    depths: dict[str, int] = {}
    for row, fact in told:
        if row.kind == "delegation.opened":
            parent = fact.get("parent")
            assert parent is None or parent in depths, f"{row.turn}: delegated by someone who had returned"
            assert fact["depth"] == depths.get(parent or "", 0) + 1 <= 3
            depths[fact["spanId"]] = fact["depth"]
        elif row.kind == "delegation.closed":
            del depths[fact["spanId"]]
    assert not depths


def check_pairs(told: Sequence[Fact]) -> None:
    """Every tool call has an id of its own and exactly one result."""
    parts = [part for row, fact in told if row.kind == "message.completed" for part in fact["parts"]]
    calls = [part["id"] for part in parts if part["type"] == "tool_call"]
    results = [part["toolCallId"] for part in parts if part["type"] == "tool_result"]
    assert len({*calls}) == len(calls), f"{told[0][0].turn}: two calls share an id: {calls}"
    assert sorted(calls) == sorted(results), f"{told[0][0].turn}: {calls} were answered by {results}"


def check_places(messages: Sequence[tuple[Any, ...]], facts: Mapping[tuple[str, int], dict[str, Any]]) -> None:
    """The messages of a conversation are numbered without gaps, and their sums are exact."""
    for conversation, group in groupby(messages, lambda row: row[0]):
        place, total = 0, 0
        for _, at, name, seq, tokens, cum in group:
            fact = facts[conversation, seq]
            assert (fact["id"], fact["tokens"]) == (name, tokens)
            if at < 0:
                assert (at, cum) == (-seq, 0)
            else:
                place, total = place + 1, total + tokens
                assert (at, cum) == (place, total), f"{conversation}: place {at}"


def check_clients(history: Sequence[Mapping[str, Any]], facts: Mapping[str, Sequence[Fact]]) -> None:
    """What was acknowledged is there, what is there was asked for, and nothing is there twice."""
    asked = {turn: told[1][1]["parts"][0]["text"].removeprefix("go ") for turn, told in facts.items()}
    invoked = {line["name"] for line in history if line["did"] == "invoke"}
    for line in history:
        if line["did"] == "ok":
            assert asked.get(line["turn"]) == line["name"], f"lost: {line}"
        if line["did"] == "settled":
            assert facts[line["turn"]][-1][0].kind == f"turn.{line['status']}"
    assert {*asked.values()} <= invoked
    assert len({*asked.values()}) == len(asked), "a message became two turns"
    for turn, told in facts.items():
        if told[-1][0].kind == "turn.completed":
            assert told[-1][1]["ui"]["response"] == f"Done with {asked[turn]}."


def check_calls(ledger: Sequence[Mapping[str, Any]], facts: Mapping[str, Sequence[Fact]]) -> None:
    """Every call that reached the provider was on the record before, with the very bytes, and costs what it cost."""
    calls = [line for line in ledger if line["did"] == "call"]
    assert [line["complaints"] for line in calls if line["complaints"]] == []
    recorded: defaultdict[str, list[int]] = defaultdict(list)
    endings: dict[str, tuple[str, dict[str, int]]] = {}
    sent: dict[str, str] = {}
    for told in facts.values():
        for row, fact in told:
            if row.kind == "call.started":
                recorded[fact["sha256"]].append(row.at)
                sent[fact["callId"]] = fact["sha256"]
            if row.kind == "call.ended":
                endings[fact["callId"]] = fact["outcome"], fact.get("usage", {})
        check_sum(told)
    charged: dict[str, dict[str, int]] = {}
    for sha256, group in groupby(sorted(calls, key=lambda line: (line["sha256"], line["at"])), lambda x: x["sha256"]):
        real = list(group)
        charged[sha256] = real[0]["usage"]
        assert len(real) <= len(recorded[sha256]), "a call that is on no record"
        early = [line for line, at in zip(real, sorted(recorded[sha256]), strict=False) if line["at"] < at]
        assert not early, "a call was sent before it was on the record"
    for call, (outcome, usage) in endings.items():
        if outcome == "ok":
            paid = charged[sent[call]]
            assert (usage["inputTokens"], usage["outputTokens"]) == (paid["prompt_tokens"], paid["completion_tokens"])


def check_sum(told: Sequence[Fact]) -> None:
    """The turn's usage is that of its calls, to the token."""
    usages = [fact.get("usage", {}) for row, fact in told if row.kind == "call.ended"]
    for name in ("inputTokens", "outputTokens"):
        assert sum(usage.get(name, 0) for usage in usages) == told[-1][1].get("usage", {}).get(name, 0)


def check_effects(ledger: Sequence[Mapping[str, Any]], facts: Mapping[str, Sequence[Fact]]) -> None:
    keys: defaultdict[str, set[str]] = defaultdict(set)
    times: Counter[str] = Counter()
    for line in ledger:
        if line["did"] == "effect":
            keys[line["what"]].add(line["key"])
            times[line["what"]] += 1
    assert all(len(known) == 1 for known in keys.values()), "one call under two keys"
    every = [key for known in keys.values() for key in known]
    assert len({*every}) == len(every), "two calls under one key"
    intents = {fact["key"]: row.at for told in facts.values() for row, fact in told if row.kind == "tool.started"}
    for line in ledger:
        if line["did"] == "effect" and line["tool"] != "look":
            assert intents.get(line["key"], line["at"] + 1) <= line["at"], f"{line} was not on the record before"
    outcomes = outcomes_of(facts)
    assert {what for what in times if not what.endswith("/look")} <= outcomes.keys(), "an effect that is on no record"
    for what, outcome in outcomes.items():
        if what.endswith("/send"):
            least = 1 if outcome == "ok" else 0
            most = 0 if outcome == "interrupted" else 1
            assert least <= times[what] <= most, f"{what} was sent {times[what]} times and is {outcome}"
        elif outcome == "ok":
            assert times[what], f"{what} never happened"


def outcomes_of(facts: Mapping[str, Sequence[Fact]]) -> dict[str, str]:
    """How each tool call ended, by what it was about."""
    found: dict[str, str] = {}
    for told in facts.values():
        parts = [part for row, fact in told if row.kind == "message.completed" for part in fact["parts"]]
        about = {part["id"]: part["arguments"].get("what") for part in parts if part["type"] == "tool_call"}
        for part in parts:
            if part["type"] == "tool_result" and (what := about[part["toolCallId"]]):
                assert what not in found, f"{what} was called twice"
                found[what] = part["outcome"]
    return found


def count(facts: Mapping[str, Sequence[Fact]], outcome: str) -> int:
    return sum(
        fact.get("outcome") == outcome
        for told in facts.values()
        for row, fact in told
        if row.kind in {"tool.completed", "call.ended"}
    )
