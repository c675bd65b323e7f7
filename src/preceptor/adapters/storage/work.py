"""A unit of work: one transaction and the repositories on it. Repositories speak values and never commit.

Those that every turn uses are loaded with it, the others when they are first asked for.
"""

from typing import TYPE_CHECKING

from preceptor.adapters.storage.agents import SqlAgents
from preceptor.adapters.storage.assignments import SqlAssignments
from preceptor.adapters.storage.blobs import SqlBlobs
from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.conversations import SqlConversations
from preceptor.adapters.storage.histories import SqlHistories
from preceptor.adapters.storage.idempotency import SqlIdempotency
from preceptor.adapters.storage.keys import SqlKeys
from preceptor.adapters.storage.log import SqlLog
from preceptor.adapters.storage.messages import SqlMessages
from preceptor.adapters.storage.orgs import SqlOrgs
from preceptor.adapters.storage.turns import SqlTurns
from preceptor.adapters.storage.views import SqlViews
from preceptor.domain.ids import OrgId
from preceptor.domain.ownership import INSTALLATION

if TYPE_CHECKING:
    from preceptor.adapters.storage.attachments import SqlAttachments
    from preceptor.adapters.storage.connections import SqlMcpServers, SqlProviders
    from preceptor.adapters.storage.experiments import SqlExperiments
    from preceptor.adapters.storage.exposures import SqlExposures, SqlSignals
    from preceptor.adapters.storage.gates import SqlGates
    from preceptor.adapters.storage.instructions import SqlInstructions
    from preceptor.adapters.storage.labels import SqlLabels, SqlRatings
    from preceptor.adapters.storage.published import SqlPublished
    from preceptor.adapters.storage.replays import SqlReplays
    from preceptor.adapters.storage.sign_ins import SqlSignIns
    from preceptor.adapters.storage.tasks import SqlTasks
    from preceptor.adapters.storage.users import SqlUsers
    from preceptor.adapters.storage.webhooks import SqlDeliveries, SqlWebhooks


class SqlWork(Transaction):
    __slots__ = ()

    def within(self, org_id: OrgId) -> "SqlWork":
        """The same transaction, inside one organisation. Only for work of the whole installation."""
        assert self.org == INSTALLATION
        inside = SqlWork(self.executor, org_id, self.now)
        inside.grown = self.grown
        return inside

    @property
    def log(self) -> SqlLog:
        return SqlLog(self)

    @property
    def orgs(self) -> SqlOrgs:
        return SqlOrgs(self)

    @property
    def users(self) -> "SqlUsers":
        from preceptor.adapters.storage.users import SqlUsers

        return SqlUsers(self)

    @property
    def keys(self) -> SqlKeys:
        return SqlKeys(self)

    @property
    def agents(self) -> SqlAgents:
        return SqlAgents(self)

    @property
    def instructions(self) -> "SqlInstructions":
        from preceptor.adapters.storage.instructions import SqlInstructions

        return SqlInstructions(self)

    @property
    def labels(self) -> "SqlLabels":
        from preceptor.adapters.storage.labels import SqlLabels

        return SqlLabels(self)

    @property
    def ratings(self) -> "SqlRatings":
        from preceptor.adapters.storage.labels import SqlRatings

        return SqlRatings(self)

    @property
    def published(self) -> "SqlPublished":
        from preceptor.adapters.storage.published import SqlPublished

        return SqlPublished(self)

    @property
    def assignments(self) -> SqlAssignments:
        return SqlAssignments(self)

    @property
    def conversations(self) -> SqlConversations:
        return SqlConversations(self)

    @property
    def messages(self) -> SqlMessages:
        return SqlMessages(self)

    @property
    def turns(self) -> SqlTurns:
        return SqlTurns(self)

    @property
    def blobs(self) -> SqlBlobs:
        return SqlBlobs(self)

    @property
    def views(self) -> SqlViews:
        return SqlViews(self)

    @property
    def histories(self) -> SqlHistories:
        return SqlHistories(self)

    @property
    def attachments(self) -> "SqlAttachments":
        from preceptor.adapters.storage.attachments import SqlAttachments

        return SqlAttachments(self)

    @property
    def experiments(self) -> "SqlExperiments":
        from preceptor.adapters.storage.experiments import SqlExperiments

        return SqlExperiments(self)

    @property
    def exposures(self) -> "SqlExposures":
        from preceptor.adapters.storage.exposures import SqlExposures

        return SqlExposures(self)

    @property
    def signals(self) -> "SqlSignals":
        from preceptor.adapters.storage.exposures import SqlSignals

        return SqlSignals(self)

    @property
    def providers(self) -> "SqlProviders":
        from preceptor.adapters.storage.connections import SqlProviders

        return SqlProviders(self)

    @property
    def mcp_servers(self) -> "SqlMcpServers":
        from preceptor.adapters.storage.connections import SqlMcpServers

        return SqlMcpServers(self)

    @property
    def webhooks(self) -> "SqlWebhooks":
        from preceptor.adapters.storage.webhooks import SqlWebhooks

        return SqlWebhooks(self)

    @property
    def deliveries(self) -> "SqlDeliveries":
        from preceptor.adapters.storage.webhooks import SqlDeliveries

        return SqlDeliveries(self)

    @property
    def idempotency(self) -> SqlIdempotency:
        return SqlIdempotency(self)

    @property
    def sign_ins(self) -> "SqlSignIns":
        from preceptor.adapters.storage.sign_ins import SqlSignIns

        return SqlSignIns(self)

    @property
    def tasks(self) -> "SqlTasks":
        from preceptor.adapters.storage.tasks import SqlTasks

        return SqlTasks(self)

    @property
    def replays(self) -> "SqlReplays":
        from preceptor.adapters.storage.replays import SqlReplays

        return SqlReplays(self)

    @property
    def gates(self) -> "SqlGates":
        from preceptor.adapters.storage.gates import SqlGates

        return SqlGates(self)
