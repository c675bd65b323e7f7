"""What an organisation sets up, one attribute per feature: people, agents, connections, and the instruction library."""

from typing import TYPE_CHECKING

import msgspec

from preceptor.domain.ownership import SYSTEM
from preceptor.engine.session import Session
from preceptor.settings import Settings

if TYPE_CHECKING:
    from preceptor.engine.agents import Agents
    from preceptor.engine.assignments import Assignments
    from preceptor.engine.bundles import Bundles
    from preceptor.engine.delivering import Deliveries
    from preceptor.engine.effective import Guidance
    from preceptor.engine.impact import Impacts
    from preceptor.engine.instructions import Instructions
    from preceptor.engine.keys import Keys
    from preceptor.engine.labels import Labels
    from preceptor.engine.mcp_servers import McpServers
    from preceptor.engine.orgs import Orgs
    from preceptor.engine.providers import Providers
    from preceptor.engine.templates import Templates
    from preceptor.engine.trials import Trials
    from preceptor.engine.users import Users
    from preceptor.engine.webhooks import Webhooks


class Features(msgspec.Struct, frozen=True):
    session: Session
    settings: Settings

    @property
    def orgs(self) -> "Orgs":
        from preceptor.engine.orgs import Orgs

        return Orgs(self.session)

    @property
    def users(self) -> "Users":
        from preceptor.engine.users import Users

        return Users(self.session)

    @property
    def keys(self) -> "Keys":
        from preceptor.engine.keys import Keys

        return Keys(self.session)

    @property
    def agents(self) -> "Agents":
        from preceptor.engine.agents import Agents

        return Agents(self.session)

    @property
    def providers(self) -> "Providers":
        from preceptor.engine.providers import Providers

        return Providers(self.session)

    @property
    def mcp_servers(self) -> "McpServers":
        from preceptor.engine.mcp_servers import McpServers

        return McpServers(self.session)

    @property
    def webhooks(self) -> "Webhooks":
        from preceptor.engine.webhooks import Webhooks

        return Webhooks(self.session)

    @property
    def deliveries(self) -> "Deliveries":
        from preceptor.engine.delivering import Deliveries

        session = self.session.acting_as(SYSTEM)
        return Deliveries(session, self.settings.webhook_attempts, self.settings.webhook_retry_seconds)

    @property
    def assignments(self) -> "Assignments":
        from preceptor.engine.assignments import Assignments

        return Assignments(self.session)

    @property
    def guidance(self) -> "Guidance":
        from preceptor.engine.effective import Guidance

        return Guidance(self.session)

    @property
    def impacts(self) -> "Impacts":
        from preceptor.adapters.tokens import counter
        from preceptor.domain.models import Vocabulary
        from preceptor.engine.impact import Impacts

        return Impacts(self.session, counter(Vocabulary.O200K, estimated=True))

    @property
    def instructions(self) -> "Instructions":
        from preceptor.engine.instructions import Instructions

        return Instructions(self.session)

    @property
    def bundles(self) -> "Bundles":
        from preceptor.engine.bundles import Bundles

        return Bundles(self.session)

    @property
    def labels(self) -> "Labels":
        from preceptor.engine.labels import Labels

        return Labels(self.session)

    @property
    def templates(self) -> "Templates":
        from preceptor.engine.templates import Templates

        return Templates(self.session)

    @property
    def trials(self) -> "Trials":
        from preceptor.engine.trials import Trials

        return Trials(self.session)
