import ast
import re
from collections.abc import Iterator
from pathlib import Path

from preceptor.adapters import storage
from preceptor.adapters.storage.faults import POINTS

SOURCES = sorted(Path(storage.__file__).parent.glob("*.py"))
COMMIT = re.compile(r"'(commit|end)[ ;']|\.commit\(", re.IGNORECASE)

NOTHING_TO_LOSE = {
    "copying.py": "it fills a copy, which no one uses before it is whole",
    "schema.py": "it makes a new file as a whole, or leaves one without anything in it",
    "verifying.py": "it fills a scratch file, which is gone with the process",
}


def statements(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every block of the tree: statements that follow one another."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield block


def reached(statement: ast.stmt) -> str | None:
    """The point, when the statement is `reach("point")`."""
    match statement:
        case ast.Expr(ast.Call(func=ast.Name("reach"), args=[ast.Constant(str(point))])):
            return point
        case _:
            return None


def commits(statement: ast.stmt) -> bool:
    """Whether leaving this statement, rather than one inside it, makes something durable."""
    match statement:
        case ast.AsyncWith(items=items) | ast.With(items=items):
            return any(".transaction(" in ast.unparse(item) for item in items)
        case ast.Expr() | ast.Assign() | ast.Return():
            return bool(COMMIT.search(ast.unparse(statement)))
        case _:
            return False


def unbracketed(source: str) -> list[str]:
    """The commits without a fault point just before and just after them."""
    found: list[str] = []
    for block in statements(ast.parse(source)):
        for index, statement in enumerate(block):
            if commits(statement):
                inside = statement.body if isinstance(statement, ast.With | ast.AsyncWith) else block[:index]
                before, after = inside[-1:], block[index + 1 : index + 2]
                if not (before and after and reached(before[0]) and reached(after[0])):
                    found.append(ast.unparse(statement))
    return found


def test_every_commit_stands_between_two_fault_points():
    found = {path.name: texts for path in SOURCES if (texts := unbracketed(path.read_text()))}
    assert found.keys() == NOTHING_TO_LOSE.keys(), found


def test_a_commit_without_fault_points_would_be_found():
    bare = "async def f(c):\n reach('begin')\n async with c.transaction():\n  await g()\n  {}\n {}"
    one_sided = {bare.format("reach('a')", "pass"), bare.format("pass", "reach('b')"), bare.format("pass", "pass")}
    plain = {"def f(c):\n c.execute('COMMIT')", "def f(c):\n reach('a')\n c.commit()"}
    assert all(unbracketed(source) for source in one_sided | plain)
    assert not unbracketed(bare.format("reach('a')", "reach('b')"))


def test_the_fault_points_are_exactly_those_that_the_storage_reaches():
    trees = [ast.parse(path.read_text()) for path in SOURCES]
    named = [point for tree in trees for block in statements(tree) for step in block if (point := reached(step))]
    calls = [node for tree in trees for node in ast.walk(tree) if ast.unparse(node).startswith("reach(")]
    assert len({*POINTS}) == len(POINTS)
    assert {*named} == {*POINTS}
    assert all(isinstance(call, ast.Call | ast.Expr) and "reach('" in ast.unparse(call) for call in calls)
