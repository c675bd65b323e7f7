import ast
from collections.abc import Iterator
from pathlib import Path

import preceptor
from tests.requirements import covers

SOURCE = Path(preceptor.__file__).parent
STORAGE = SOURCE / "adapters/storage"
MIGRATIONS = STORAGE / "migrations"
RUN_SQL = {"execute", "executemany", "executescript", "exec_driver_sql"}
TAKE_SQL = RUN_SQL | {"text", "literal_column", "copy"}
BUILT = ast.JoinedStr | ast.BinOp

KNOWN = {
    # Numbers of our own: a PRAGMA takes no parameters.
    "adapters/storage/schema.py: f'PRAGMA page_size={PAGE}'",
    "adapters/storage/sqlite.py: f'PRAGMA busy_timeout={PATIENCE_MS}'",
    "adapters/storage/sqlite.py: f'PRAGMA wal_autocheckpoint={MOST_PAGES}'",
    # A constant of our own, because a statement's parameters are the caller's.
    "adapters/storage/sql/keys.py: f\"'{INSTALLATION}'\"",
}


def built_sql(source: str, names: set[str]) -> Iterator[str]:
    """Every piece of text that is put together and then given to something that takes SQL."""
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
        if name in names:
            yield from (ast.unparse(part) for given in call.args[:1] for part in ast.walk(given) if is_built(part))


def is_built(part: ast.AST) -> bool:
    formatted = (
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in {"format", "join", "replace"}
    )
    return isinstance(part, BUILT) or formatted


@covers("S25")
def test_no_sql_is_put_together_from_text():
    found = {
        f"{path.relative_to(SOURCE)}: {piece}"
        for path in SOURCE.rglob("*.py")
        if MIGRATIONS not in path.parents
        for piece in built_sql(path.read_text(encoding="utf-8"), TAKE_SQL if STORAGE in path.parents else RUN_SQL)
    }
    assert found == KNOWN


def test_sql_that_is_put_together_is_found_in_every_form():
    source = """
work.execute(f"SELECT {x}")
work.execute("SELECT " + x)
work.execute("SELECT %s" % x)
work.execute("SELECT {}".format(x))
work.execute(cast("LiteralString", f"SELECT {x}"))
text(" AND ".join(parts))
work.execute("SELECT 1", [f"{x}"])
"""
    assert len(list(built_sql(source, TAKE_SQL))) == 6
