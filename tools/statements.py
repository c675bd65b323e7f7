"""Write the text of every statement and of a new SQLite file: `make statements`. A test holds the text to this."""

import pkgutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from importlib import import_module
from pathlib import Path

from preceptor.adapters.storage import schema, sql
from preceptor.adapters.storage.statements import Statement

READY = Path(__file__).parent.parent / "src/preceptor/adapters/storage/ready"
HEAD = '"""Written by `make statements` from `{source}`."""\n\n'


def statements() -> dict[str, dict[str, Statement]]:
    """Every statement, by the module in `sql/` that writes it and by name."""
    found: dict[str, dict[str, Statement]] = {}
    for module in pkgutil.iter_modules(sql.__path__):
        written = vars(import_module(f"{sql.__name__}.{module.name}")).items()
        named = {name: value for name, value in written if isinstance(value, Statement) and not name.startswith("_")}
        if named:
            found[module.name] = named
    return found


def new_file() -> tuple[str, ...]:
    """What makes an empty SQLite file one at the newest step, as going through all of them would."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "new.db")
        schema.upgrade(f"sqlite:///{path}")
        with closing(sqlite3.connect(path)) as connection:
            made = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
            rows = [line for line in connection.iterdump() if line.startswith("INSERT INTO")]
    return (*(text for (text,) in made), *(row.rstrip(";") for row in rows))


def main() -> None:
    for noun, named in statements().items():
        text = HEAD.format(source=f"sql/{noun}.py")
        text += "from preceptor.adapters.storage.statements import Statement\n\n"
        text += "".join(f"{name} = {_written(statement)}\n" for name, statement in sorted(named.items()))
        (READY / f"{noun}.py").write_text(text, encoding="utf-8")
    parts = "".join(f"    {part!r},\n" for part in new_file())
    (READY / "schema.py").write_text(HEAD.format(source="migrations/") + f"NEW = (\n{parts})\n", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", str(READY)], check=True)


def _written(statement: Statement) -> str:
    return f"Statement({statement.sqlite!r}, {statement.postgres!r}, {statement.names!r})"


if __name__ == "__main__":
    main()
