import difflib

from hypothesis import given, settings
from hypothesis import strategies as st

from preceptor.domain.instructions.impact import MOST_COMPARED, prompt_change, unified
from preceptor.domain.instructions.merge import merge
from preceptor.domain.instructions.render import render
from tests.domain.instructions import speaking

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "- x", "+ y", "@@", "dòng"]), max_size=30)


def applied(before: str, diff: str) -> str:
    """`before` with a unified diff carried out, as `patch` would."""
    old, new, place = before.split("\n"), list[str](), 0
    for line in diff.split("\n")[2:]:
        if line.startswith("@@ "):
            start, _, length = line.split()[1][1:].partition(",")
            begin = int(start) - (length != "0")
            new, place = new + old[place:begin], begin
        else:
            mark, text = line[0], line[1:]
            if mark in " -":
                assert old[place] == text
                place += 1
            if mark in " +":
                new.append(text)
    return "\n".join(new + old[place:])


@settings(deadline=None)
@given(LINES, LINES)
def test_a_diff_turns_what_was_into_what_will_be(old: list[str], new: list[str]):
    before, after = "\n".join(old), "\n".join(new)
    diff = unified(before, after)
    assert (diff == "") == (before == after)
    if diff:
        assert applied(before, diff) == after


def test_a_diff_of_one_line_is_what_everyone_knows_as_one():
    before, after = [f"line {n}" for n in range(40)], [f"line {n}" for n in range(40)]
    after[20] = "another"
    expected = "\n".join(difflib.unified_diff(before, after, "before", "after", lineterm=""))
    assert unified("\n".join(before), "\n".join(after)) == expected


def test_two_long_prompts_with_little_in_common_are_shown_as_replaced():
    before = "\n".join(f"a {n % 7}" for n in range(MOST_COMPARED + 1))
    after = "\n".join(f"b {n % 7}" for n in range(MOST_COMPARED + 1))
    assert applied(before, unified(before, after)) == after


def test_a_change_tells_both_hashes_and_what_it_costs():
    before = render(merge([speaking("a", content={"guidelines": ["Be kind"]})]))
    after = render(merge([speaking("a", content={"guidelines": ["Be kind", "Be brief"]})]))
    change = prompt_change(before, after, len)
    assert (change.before_hash, change.after_hash) == (before.hash, after.hash)
    assert change.token_difference == len("\n- Be brief") == change.tokens_after - change.tokens_before
    assert change.diff.endswith("\n - Be kind\n+- Be brief")
    assert prompt_change(before, before, len).diff == ""
