"""What several servers and workers on one PostgreSQL are started with."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.durability.provider import provider
from tests.postgres import Cluster


@contextmanager
def scaled_out(postgres: Cluster, template: str, folder: Path) -> Generator[dict[str, str]]:
    """The environment of all of them: a database of their own, queues, and a model with a ledger in the folder."""
    url = postgres.new_database(template=template)
    with provider(folder / "ledger.jsonl") as model:
        yield {
            "PRECEPTOR_DATABASE_URL": url,
            "PRECEPTOR_RUNNER": "dbos",
            "PRECEPTOR_ADMIN_KEY": "the-admin-of-this-test",
            "PRECEPTOR_SECRET_KEY": "s" * 32,
            "PRECEPTOR_MODEL": "openai-compatible:fake",
            "PRECEPTOR_MODEL_URL": model,
            "PRECEPTOR_GUARD_ENABLED": "false",
            "PRECEPTOR_SGR_ENABLED": "false",
        }
    postgres.drop(url)
