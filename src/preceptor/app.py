"""The composition root: the one module that knows both the engine and the adapters."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from preceptor.adapters.sealing import SealedBox
from preceptor.adapters.storage.opening import locate, open_store
from preceptor.adapters.world import RealWorld
from preceptor.domain.ownership import SYSTEM, Caller, installation_admin
from preceptor.engine.access import Access
from preceptor.engine.agents import Agents
from preceptor.engine.conversations import Conversations
from preceptor.engine.installation import Installation
from preceptor.engine.keys import Keys
from preceptor.engine.orgs import Orgs
from preceptor.engine.ports import World
from preceptor.engine.session import Once, Session
from preceptor.engine.users import Users
from preceptor.settings import Settings


@dataclass(frozen=True, slots=True)
class Preceptor:
    """Everything a surface can ask for, one attribute per feature, acting for one caller."""

    session: Session
    settings: Settings
    announce: Callable[[str | None], None]

    def acting_as(self, caller: Caller, once: Once | None = None) -> "Preceptor":
        return Preceptor(self.session.acting_as(caller, once), self.settings, self.announce)

    @property
    def orgs(self) -> Orgs:
        return Orgs(self.session)

    @property
    def users(self) -> Users:
        return Users(self.session)

    @property
    def keys(self) -> Keys:
        return Keys(self.session)

    @property
    def agents(self) -> Agents:
        return Agents(self.session)

    @property
    def conversations(self) -> Conversations:
        return Conversations(self.session)

    @property
    def access(self) -> Access:
        return Access(self.session)

    @property
    def installation(self) -> Installation:
        return Installation(self.session.acting_as(SYSTEM))


@asynccontextmanager
async def open_preceptor(
    settings: Settings | None = None,
    *,
    world: World | None = None,
    committed: Callable[[int, float], None] | None = None,
    adopt_key: bool = False,
) -> AsyncGenerator[Preceptor]:
    """Open Preceptor on its database and close it on the way out. It acts for the admin of `default`.

    `committed` hears of every commit: how many transactions it held and how many seconds it took. With `adopt_key`
    the admin key of the settings takes the place of the one the installation has; without, only where it has none.
    """
    settings = settings or Settings.load()
    world = world or RealWorld()
    secrets = settings.secrets()
    async with open_store(locate(settings.database), world, committed) as opened:
        session = Session(opened.store, world, SealedBox(secrets.secret_key), installation_admin())
        preceptor = Preceptor(session, settings, opened.announce)
        await preceptor.installation.prepare(secrets.admin_key, adopt_key=adopt_key)
        yield preceptor
