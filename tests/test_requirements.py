import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.requirements import NOT_YET_BUILT, REQUIREMENTS

TESTS = Path(__file__).parent


NAMED = ("test_", "Test")


def claims(source: str) -> Iterator[tuple[str, str]]:
    """Each id that the source claims, with the name of the test, or `pytestmark`, that claims it."""
    module = ast.parse(source)
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name.startswith(NAMED):
            yield from ((claimed, node.name) for mark in node.decorator_list for claimed in claimed_ids(mark))
    for node in module.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["pytestmark"]:
            yield from ((claimed, "pytestmark") for claimed in claimed_ids(node.value))


def claimed_ids(expression: ast.expr) -> Iterator[str]:
    """The ids inside `covers(...)`; what is not written out comes back as its source, which no id equals."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "covers":
            for argument in node.args:
                match argument:
                    case ast.Constant(value=str(claimed)):
                        yield claimed
                    case _:
                        yield ast.unparse(argument)


@cache
def claimed_by() -> Mapping[str, Sequence[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("*.py")):
        for claimed, test in claims(path.read_text(encoding="utf-8")):
            found[claimed].append(f"{path.relative_to(TESTS.parent)}::{test}")
    return dict(found)


def test_every_id_that_a_test_claims_is_a_requirement():
    unknown = {claimed: tests for claimed, tests in claimed_by().items() if claimed not in REQUIREMENTS}
    assert not unknown, f"Not in REQUIREMENTS: {unknown}"


def test_every_requirement_is_covered_by_a_test_or_listed_as_not_yet_built():
    uncovered = [known for known in REQUIREMENTS if known not in claimed_by() and known not in NOT_YET_BUILT]
    assert not uncovered, f"Neither covered by a test nor in NOT_YET_BUILT: {', '.join(uncovered)}"


def test_nothing_that_a_test_covers_is_listed_as_not_yet_built():
    built = {claimed: tests for claimed, tests in claimed_by().items() if claimed in NOT_YET_BUILT}
    assert not built, f"Built, so remove from NOT_YET_BUILT: {built}"


def test_only_requirements_are_listed_as_not_yet_built():
    unknown = [waiting for waiting in NOT_YET_BUILT if waiting not in REQUIREMENTS]
    assert not unknown, f"In NOT_YET_BUILT but not in REQUIREMENTS: {', '.join(unknown)}"


def test_every_requirement_is_a_sentence_of_its_own():
    times = Counter(REQUIREMENTS.values())
    unfinished = [known for known, sentence in REQUIREMENTS.items() if not sentence.endswith(".")]
    repeated = [known for known, sentence in REQUIREMENTS.items() if times[sentence] > 1]
    assert not unfinished, f"Without a full stop: {', '.join(unfinished)}"
    assert not repeated, f"Said more than once: {', '.join(repeated)}"


def test_a_claim_is_found_wherever_a_mark_can_stand():
    source = """
pytestmark = [covers("R1"), pytest.mark.slow]

@covers("R2", "R3")
def test_plain(): ...

@pytest.mark.covers("R4")
async def test_marked(): ...

@pytest.mark.parametrize("n", [pytest.param(1, marks=covers("R5"))])
def test_cases(n): ...

@covers(*IDS)
def test_unreadable(): ...

@covers("R6")
def helper(): ...
"""
    assert sorted(claims(source)) == [
        ("*IDS", "test_unreadable"),
        ("R1", "pytestmark"),
        ("R2", "test_plain"),
        ("R3", "test_plain"),
        ("R4", "test_marked"),
        ("R5", "test_cases"),
    ]
