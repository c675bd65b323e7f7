"""The operations of the API, by noun. A test holds this list to the OpenAPI document."""

from typing import Any

from preceptor.client.asking import Operation
from preceptor.domain.agents import Agent, AgentChange, NewAgent, ShownAgent
from preceptor.domain.conversations.compaction import Dropping, Squashing
from preceptor.domain.conversations.conversation import Conversation, ConversationChange, NewConversation
from preceptor.domain.conversations.looks import ShownView, ShownViews
from preceptor.domain.instructions.assignment import AgentAssignment, AssignmentChange, NewAssignment
from preceptor.domain.instructions.bundle import Bundle
from preceptor.domain.instructions.family import Published
from preceptor.domain.instructions.impact import AgentImpact, AssignmentQuestion, Impact, InstructionQuestion
from preceptor.domain.instructions.instruction import NewInstruction
from preceptor.domain.instructions.planning import Plan
from preceptor.domain.instructions.report import EffectiveInstructions
from preceptor.domain.instructions.revision import Revision
from preceptor.domain.instructions.shown import (
    FromTemplate,
    Instruction,
    Label,
    LabelMove,
    NewRating,
    Rating,
    StatusMove,
    Template,
)
from preceptor.domain.instructions.trial import NewTrial, Trial
from preceptor.domain.keys import ApiKey, MintedKey, NewKey
from preceptor.domain.mcp_servers import Approval, McpServer, McpServerChange, NewMcpServer
from preceptor.domain.orgs import FoundedOrg, NewOrg, Org
from preceptor.domain.paging import Page
from preceptor.domain.providers import NewProvider, Provider, ProviderAnswer, ProviderChange, ProviderQuestion
from preceptor.domain.reasoning.tables import Decided, TableTest
from preceptor.domain.users import NewUser, User
from preceptor.domain.webhooks import Attempt, Delivery, MadeWebhook, NewWebhook, Webhook, WebhookChange
from preceptor.engine.erasing import Erased
from preceptor.surfaces.rest.shapes import (
    AnsweredAgain,
    EditedMessage,
    SentMessage,
    ShownContext,
    ShownMessage,
    ShownPlan,
    TurnAnswer,
    TurnRecord,
)

PAGED = ("cursor", "limit")
AGENT = "/api/agents/{}"
INSTRUCTION = "/api/instructions/{}"
CONVERSATION = "/api/conversations/{}"
PROVIDER = "/api/providers/{}"
SERVER = "/api/mcp-servers/{}"
WEBHOOK = "/api/webhooks/{}"
ANY_INSTRUCTION = Instruction | Published


class OrgOperations:
    create = Operation[FoundedOrg]("POST", "/api/orgs", FoundedOrg, NewOrg)
    page = Operation[Page[Org]]("GET", "/api/orgs", Page[Org], None, *PAGED)


class UserOperations:
    create = Operation[User]("POST", "/api/users", User, NewUser)
    page = Operation[Page[User]]("GET", "/api/users", Page[User], None, *PAGED)


class KeyOperations:
    mint = Operation[MintedKey]("POST", "/api/keys", MintedKey, NewKey)
    page = Operation[Page[ApiKey]]("GET", "/api/keys", Page[ApiKey], None, *PAGED)
    revoke = Operation[None]("DELETE", "/api/keys/{}", None)


class AgentOperations:
    create = Operation[ShownAgent]("POST", "/api/agents", ShownAgent, NewAgent)
    page = Operation[Page[Agent]]("GET", "/api/agents", Page[Agent], None, *PAGED)
    get = Operation[ShownAgent]("GET", AGENT, ShownAgent)
    change = Operation[ShownAgent]("PATCH", AGENT, ShownAgent, AgentChange)


class AssignmentOperations:
    assign = Operation[AgentAssignment]("POST", f"{AGENT}/instructions", AgentAssignment, NewAssignment)
    page = Operation[Page[AgentAssignment]]("GET", f"{AGENT}/instructions", Page[AgentAssignment], None, *PAGED)
    get = Operation[AgentAssignment]("GET", f"{AGENT}/instructions/{{}}", AgentAssignment)
    change = Operation[AgentAssignment]("PUT", f"{AGENT}/instructions/{{}}", AgentAssignment, AssignmentChange)
    remove = Operation[None]("DELETE", f"{AGENT}/instructions/{{}}", None)
    effective = Operation[EffectiveInstructions](
        "GET", f"{AGENT}/instructions/effective", EffectiveInstructions, None, "at"
    )
    impact = Operation[AgentImpact]("POST", f"{AGENT}/instructions/impact", AgentImpact, AssignmentQuestion)


class InstructionOperations:
    create = Operation[Instruction]("POST", "/api/instructions", Instruction, NewInstruction)
    page = Operation[Page[ANY_INSTRUCTION]]("GET", "/api/instructions", Page[ANY_INSTRUCTION], None, "public", *PAGED)
    get = Operation[ANY_INSTRUCTION]("GET", INSTRUCTION, ANY_INSTRUCTION)
    revise = Operation[Instruction]("PUT", INSTRUCTION, Instruction, Revision)
    delete = Operation[None]("DELETE", INSTRUCTION, None, None, "force")
    versions = Operation[Page[Instruction]]("GET", f"{INSTRUCTION}/versions", Page[Instruction])
    restore = Operation[Instruction]("POST", f"{INSTRUCTION}/restore/{{}}", Instruction)
    set_status = Operation[Instruction]("POST", f"{INSTRUCTION}/status", Instruction, StatusMove)
    rate = Operation[Rating]("POST", f"{INSTRUCTION}/ratings", Rating, NewRating)
    copy = Operation[Instruction]("POST", f"{INSTRUCTION}/copy", Instruction)
    test = Operation[Trial]("POST", f"{INSTRUCTION}/test", Trial, NewTrial)
    impact = Operation[Impact]("POST", f"{INSTRUCTION}/impact", Impact, InstructionQuestion, *PAGED)
    labels = Operation[Page[Label]]("GET", f"{INSTRUCTION}/labels", Page[Label])
    label = Operation[Label]("GET", f"{INSTRUCTION}/labels/{{}}", Label)
    move_label = Operation[Label]("PUT", f"{INSTRUCTION}/labels/{{}}", Label, LabelMove)
    remove_label = Operation[None]("DELETE", f"{INSTRUCTION}/labels/{{}}", None)
    templates = Operation[Page[Template]](
        "GET", "/api/instructions/templates", Page[Template], None, "role", "category", *PAGED
    )
    from_template = Operation[Instruction]("POST", "/api/instructions/from-template/{}", Instruction, FromTemplate)
    export = Operation[Bundle]("GET", "/api/instructions/export", Bundle, None, "history", "assignments")
    bring_in = Operation[Plan]("POST", "/api/instructions/import", Plan, Bundle, "dryRun", "force")


class ProviderOperations:
    create = Operation[Provider]("POST", "/api/providers", Provider, NewProvider)
    page = Operation[Page[Provider]]("GET", "/api/providers", Page[Provider], None, *PAGED)
    get = Operation[Provider]("GET", PROVIDER, Provider)
    change = Operation[Provider]("PATCH", PROVIDER, Provider, ProviderChange)
    remove = Operation[None]("DELETE", PROVIDER, None)
    test = Operation[ProviderAnswer]("POST", f"{PROVIDER}/test", ProviderAnswer, ProviderQuestion)


class McpServerOperations:
    create = Operation[McpServer]("POST", "/api/mcp-servers", McpServer, NewMcpServer)
    page = Operation[Page[McpServer]]("GET", "/api/mcp-servers", Page[McpServer], None, *PAGED)
    get = Operation[McpServer]("GET", SERVER, McpServer)
    change = Operation[McpServer]("PATCH", SERVER, McpServer, McpServerChange)
    remove = Operation[None]("DELETE", SERVER, None)
    refresh = Operation[McpServer]("POST", f"{SERVER}/refresh", McpServer)
    approve = Operation[McpServer]("PUT", f"{SERVER}/tools", McpServer, Approval)


class WebhookOperations:
    create = Operation[MadeWebhook]("POST", "/api/webhooks", MadeWebhook, NewWebhook)
    page = Operation[Page[Webhook]]("GET", "/api/webhooks", Page[Webhook], None, *PAGED)
    get = Operation[Webhook]("GET", WEBHOOK, Webhook)
    change = Operation[Webhook]("PATCH", WEBHOOK, Webhook, WebhookChange)
    remove = Operation[None]("DELETE", WEBHOOK, None)
    rotate = Operation[MadeWebhook]("POST", f"{WEBHOOK}/rotate", MadeWebhook, None, "overlapHours")
    test = Operation[Attempt]("POST", f"{WEBHOOK}/test", Attempt)
    deliveries = Operation[Page[Delivery]]("GET", f"{WEBHOOK}/deliveries", Page[Delivery], None, *PAGED)
    redeliver = Operation[Delivery]("POST", f"{WEBHOOK}/deliveries/{{}}/redeliver", Delivery)


class ConversationOperations:
    start = Operation[Conversation]("POST", "/api/conversations", Conversation, NewConversation)
    page = Operation[Page[Conversation]](
        "GET", "/api/conversations", Page[Conversation], None, "agentId", "status", "q", *PAGED
    )
    get = Operation[Conversation]("GET", CONVERSATION, Conversation)
    change = Operation[Conversation]("PATCH", CONVERSATION, Conversation, ConversationChange)
    archive = Operation[None]("DELETE", CONVERSATION, None)
    erase = Operation[Erased]("POST", f"{CONVERSATION}/erase", Erased)
    cancel = Operation[TurnAnswer]("POST", f"{CONVERSATION}/cancel", TurnAnswer)
    plan = Operation[ShownPlan]("GET", f"{CONVERSATION}/context/plan", ShownPlan, None, "maxTokens", "maxHistorySize")


class MessageOperations:
    send = Operation[TurnAnswer]("POST", f"{CONVERSATION}/messages", TurnAnswer, SentMessage)
    page = Operation[Page[ShownMessage]](
        "GET", f"{CONVERSATION}/messages", Page[ShownMessage], None, "view", "audience", *PAGED
    )
    context = Operation[ShownContext]("GET", "/api/messages/{}/context", ShownContext)
    regenerate = Operation[TurnAnswer]("POST", f"{CONVERSATION}/regenerate", TurnAnswer, AnsweredAgain)
    edit = Operation[TurnAnswer]("POST", f"{CONVERSATION}/edit", TurnAnswer, EditedMessage)


class TurnOperations:
    get = Operation[TurnRecord]("GET", "/api/turns/{}", TurnRecord)


class ViewOperations:
    page = Operation[ShownViews]("GET", f"{CONVERSATION}/views", ShownViews, None, *PAGED)
    restore = Operation[ShownView]("POST", f"{CONVERSATION}/views/{{}}/restore", ShownView)
    compact = Operation[ShownView]("POST", f"{CONVERSATION}/compact", ShownView, Dropping | Squashing)


class ReasoningOperations:
    tables = Operation[dict[str, Any]]("GET", "/api/decision-tables", dict[str, Any], None, "agentId")
    test = Operation[Decided]("POST", "/api/decision-tables/{}/test", Decided, TableTest)


GROUPS = {
    "orgs": OrgOperations,
    "users": UserOperations,
    "keys": KeyOperations,
    "agents": AgentOperations,
    "assignments": AssignmentOperations,
    "instructions": InstructionOperations,
    "providers": ProviderOperations,
    "mcp_servers": McpServerOperations,
    "webhooks": WebhookOperations,
    "conversations": ConversationOperations,
    "messages": MessageOperations,
    "turns": TurnOperations,
    "views": ViewOperations,
    "reasoning": ReasoningOperations,
}
