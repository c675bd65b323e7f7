"""Comparing texts: which lines changed, which words in them, and what is folded away."""

import random

from preceptor.domain.instructions.impact import unified
from preceptor.surfaces.web.views.diff import AROUND, Block, Row, Runs, changes_in, compared, from_unified, words


def text(runs: Runs) -> str:
    return "".join(piece for _, piece in runs)


def marks(runs: Runs) -> list[str]:
    return [piece for changed, piece in runs if changed]


def rows(blocks: list[Block]) -> list[Row]:
    return [row for block in blocks for row in block.rows]


def test_only_the_words_that_changed_are_marked():
    left, right = words("Do not make refund promises", "Do not make any refund promises - ask billing")
    assert marks(left) == []
    assert marks(right) == ["any ", " - ask billing"]
    left, right = words("You are a professional agent for ACME Corp.", "You are a friendly agent for {{company}}.")
    assert marks(left) == ["professional", "ACME Corp"]
    assert marks(right) == ["friendly", "{{company}}"]


def test_two_sentences_with_little_in_common_are_removed_and_added_as_a_whole():
    (block,) = compared(["Listen actively and show empathy"], ["Never promise what billing has to decide"])
    assert [(row.kind, text(row.left), text(row.right)) for row in block.rows] == [
        ("removed", "Listen actively and show empathy", ""),
        ("added", "", "Never promise what billing has to decide"),
    ]


def test_a_line_is_paired_with_the_one_it_became_though_others_were_added_before_it():
    old = ["Greet the customer by name", "Close the ticket when it is solved"]
    new = ["Be brief", "Greet the customer warmly by name", "Close the ticket once it is solved"]
    found = [(row.kind, row.left_no, row.right_no) for row in rows(compared(old, new))]
    assert found == [("added", None, 1), ("changed", 1, 2), ("changed", 2, 3)]


def test_what_did_not_change_is_folded_but_for_the_lines_around_a_change():
    old = [f"line {number}" for number in range(100)]
    new = [*old[:50], "something else entirely", *old[51:]]
    blocks = compared(old, new)
    assert [block.folded for block in blocks if block.folded] == [50 - AROUND, 49 - AROUND]
    assert len(rows(blocks)) == 2 * AROUND + 2
    assert [row.left_no for row in rows(compared(old, new, whole=True)) if row.left_no] == [*range(1, 101)]
    assert [block.folded for block in compared(old, old)] == [100]


def test_both_sides_can_be_read_back_from_any_comparison():
    chance = random.Random(7)
    for _ in range(200):
        old = [" ".join(chance.choices(["a", "b", "c", "d", "é", "—"], k=4)) for _ in range(chance.randrange(8))]
        new = [*old]
        for _ in range(chance.randrange(5)):
            at = chance.randrange(len(new) + 1)
            new[at : at + chance.randrange(2)] = chance.choices(["a b", "c d e f", "", "x"], k=chance.randrange(3))
        found = rows(compared(old, new, whole=True))
        assert [text(row.left) for row in found if row.left_no] == old
        assert [text(row.right) for row in found if row.right_no] == new
        assert [row.left_no for row in found if row.left_no] == [*range(1, len(old) + 1)]


def test_a_unified_diff_has_its_words_marked_and_its_lines_numbered():
    old = [f"line {number}" for number in range(30)]
    new = [*old]
    new[4], new[20] = "line four", "line twenty"
    blocks = from_unified(unified("\n".join(old), "\n".join(new)))
    assert changes_in(blocks) == 2
    assert [block.change for block in blocks if block.change] == [1, 2]
    changed = [row for row in rows(blocks) if row.kind != "same"]
    assert [(row.left_no, row.right_no, marks(row.left), marks(row.right)) for row in changed] == [
        (5, 5, ["4"], ["four"]),
        (21, 21, ["20"], ["twenty"]),
    ]
    assert from_unified("") == []


def test_texts_too_long_to_compare_are_told_as_replaced():
    old, new = [f"{n}" for n in range(2_500)], [f"{n}" for n in range(1, 2_501)]
    found = rows(compared(old, new))
    assert {row.kind for row in found} == {"removed", "added"}
    assert len(found) == 5_000
