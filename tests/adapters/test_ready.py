"""What runs without SQLAlchemy is what is written in it."""

import pkgutil
import sqlite3
from contextlib import closing
from importlib import import_module
from pathlib import Path

from preceptor.adapters.storage import ready, schema
from preceptor.adapters.storage.opening import SqliteFile, upgrade
from preceptor.adapters.storage.statements import Statement
from tools.statements import new_file, statements


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_the_ready_statements_are_those_that_are_written():
    kept = {
        module.name: {
            name: value
            for name, value in vars(import_module(f"{ready.__name__}.{module.name}")).items()
            if isinstance(value, Statement)
        }
        for module in pkgutil.iter_modules(ready.__path__)
        if module.name != "schema"
    }
    assert kept == statements(), "run `make statements`"


def test_a_new_file_is_what_all_steps_would_have_made(tmp_path: Path):
    at_once, by_steps = tmp_path / "at_once.db", tmp_path / "by_steps.db"
    assert upgrade(SqliteFile(at_once))
    schema.upgrade(f"sqlite:///{by_steps}")
    assert dump(at_once) == dump(by_steps)
    assert new_file() == import_module(f"{ready.__name__}.schema").NEW, "run `make statements`"
    assert not upgrade(SqliteFile(at_once))
