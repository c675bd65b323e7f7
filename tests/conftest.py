import gc
import signal
from collections.abc import AsyncGenerator, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as trying

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.storage import postgres as postgres_store
from preceptor.adapters.storage import schema
from preceptor.surfaces.http import create_app
from preceptor.testing import ScriptedModel
from tests.postgres import Cluster, Databases, cluster
from tests.rebuilding import every_call_is_rebuilt

trying.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
trying.load_profile("here")  # how long something takes on a busy machine is no one's fault

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in the background of a shell. Commands that the tests start would ignore Ctrl-C as well.
    signal.signal(signal.SIGINT, signal.default_int_handler)

ADMIN_KEY = "the-admin-key-of-the-tests"
NOBODY = "http://127.0.0.1:9"
"""Where nobody listens: what the tests connect may be called there and nowhere else."""
ADMIN = {"Authorization": f"Bearer {ADMIN_KEY}"}
PATIENCE = 60.0
"""Seconds for which those who want the same thing of PostgreSQL wait for one another, however busy the machine is."""


LONGEST = (
    "test_schemathesis",
    "test_turn_kills",
    "test_code_blocks",
    "test_workers",
    "test_reasoned_kills",
    "test_experiment_simulations",
    "test_serve",
    "test_migrations",
    "test_turn_machine",
    "test_turn_workers",
    "test_kills",
    "test_postgres_connections",
    "test_local",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest go first, so that at the end no core waits for the other."""
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


def pytest_collection_finish() -> None:
    """What was read to find the tests stays: it is not looked through for garbage again and again."""
    gc.freeze()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """The one PostgreSQL of this test run."""
    with cluster() as made:
        yield made


@pytest.fixture(scope="session")
def postgres_template(postgres: Cluster) -> str:
    """A database at the newest schema, to copy from."""
    url = postgres.new_database()
    schema.upgrade(url)
    return url.rsplit("/", 1)[1]


@cache
def new_sqlite() -> bytes:
    """A file as a new installation has it, to copy from."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "preceptor.db")
        schema.make_sqlite(path)
        return path.read_bytes()


@pytest.fixture(scope="session")
def sqlite_template() -> bytes:
    return new_sqlite()


@pytest.fixture(scope="session")
def postgres_databases(postgres: Cluster, postgres_template: str) -> Iterator[Databases]:
    made = Databases(postgres, postgres_template)
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of every kind we support, at the newest schema."""
    if request.param == "sqlite":
        path = tmp_path / "preceptor.db"
        path.write_bytes(new_sqlite())
        yield f"sqlite:///{path}"
        return
    databases: Databases = request.getfixturevalue("postgres_databases")
    with databases.one() as url:
        yield url


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return Settings.load(
        data_dir=tmp_path,
        database_url=database_url,
        admin_key=ADMIN_KEY,
        access_log=False,
        rate_limit_per_key=1e6,
        rate_limit_per_org=1e6,
        egress_allow=(NOBODY,),
    )


@pytest.fixture
def model() -> ScriptedModel:
    """The model of every agent that names no other. It agrees with everything, until a test says otherwise."""
    return ScriptedModel(lambda _: "Understood.")


@pytest.fixture
async def preceptor(
    settings: Settings, model: ScriptedModel, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Preceptor]:
    """Preceptor on a fresh database of every kind, acting for the admin of `default`."""
    breaks = request.node.get_closest_marker("breaks_the_database") is not None
    if not breaks:
        monkeypatch.setattr(postgres_store, "PATIENCE", PATIENCE)
    async with open_preceptor(settings, models=only(model, settings)) as opened:
        yield opened
        if not breaks:
            await every_call_is_rebuilt(opened)


def only(model: ScriptedModel, settings: Settings) -> ModelRegistry:
    registry = ModelRegistry(settings)
    registry.add(registry.default, model)
    return registry


@pytest.fixture
async def client(preceptor: Preceptor) -> AsyncGenerator[httpx2.AsyncClient]:
    """The HTTP application in process, with the admin's key."""
    async with client_of(preceptor) as opened:
        yield opened


def client_of(preceptor: Preceptor, headers: dict[str, str] = ADMIN) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(create_app(preceptor), raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers)
