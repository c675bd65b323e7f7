from pathlib import Path

import pytest

from preceptor.adapters.storage import schema


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file at the newest schema, to copy from."""
    path: Path = tmp_path_factory.mktemp("template") / "preceptor.db"
    schema.upgrade(f"sqlite:///{path}")
    return path.read_bytes()
