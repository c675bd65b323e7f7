"""The nouns of the API, once for each kind of client."""

from preceptor.client.asking import AsyncGroup, SyncGroup
from preceptor.client.operations import (
    AgentOperations,
    AssignmentOperations,
    ConversationOperations,
    InstructionOperations,
    KeyOperations,
    McpServerOperations,
    MessageOperations,
    OrgOperations,
    ProviderOperations,
    ReasoningOperations,
    TurnOperations,
    UserOperations,
    ViewOperations,
    WebhookOperations,
)


class AsyncOrgs(AsyncGroup, OrgOperations): ...


class AsyncUsers(AsyncGroup, UserOperations): ...


class AsyncKeys(AsyncGroup, KeyOperations): ...


class AsyncAgents(AsyncGroup, AgentOperations): ...


class AsyncAssignments(AsyncGroup, AssignmentOperations): ...


class AsyncInstructions(AsyncGroup, InstructionOperations): ...


class AsyncProviders(AsyncGroup, ProviderOperations): ...


class AsyncMcpServers(AsyncGroup, McpServerOperations): ...


class AsyncWebhooks(AsyncGroup, WebhookOperations): ...


class AsyncConversations(AsyncGroup, ConversationOperations): ...


class AsyncMessages(AsyncGroup, MessageOperations): ...


class AsyncTurns(AsyncGroup, TurnOperations): ...


class AsyncViews(AsyncGroup, ViewOperations): ...


class AsyncReasoning(AsyncGroup, ReasoningOperations): ...


class SyncOrgs(SyncGroup, OrgOperations): ...


class SyncUsers(SyncGroup, UserOperations): ...


class SyncKeys(SyncGroup, KeyOperations): ...


class SyncAgents(SyncGroup, AgentOperations): ...


class SyncAssignments(SyncGroup, AssignmentOperations): ...


class SyncInstructions(SyncGroup, InstructionOperations): ...


class SyncProviders(SyncGroup, ProviderOperations): ...


class SyncMcpServers(SyncGroup, McpServerOperations): ...


class SyncWebhooks(SyncGroup, WebhookOperations): ...


class SyncConversations(SyncGroup, ConversationOperations): ...


class SyncMessages(SyncGroup, MessageOperations): ...


class SyncTurns(SyncGroup, TurnOperations): ...


class SyncViews(SyncGroup, ViewOperations): ...


class SyncReasoning(SyncGroup, ReasoningOperations): ...
