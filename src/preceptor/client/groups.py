"""Every noun of the API, for both kinds of client."""

from typing import Generic

from preceptor.client.nouns.agents import Agents, Assignments
from preceptor.client.nouns.connections import McpServers, Providers, Webhooks
from preceptor.client.nouns.library import Gates, Instructions
from preceptor.client.nouns.people import Keys, Orgs, SignInLinks, Users
from preceptor.client.nouns.talking import Attachments, Conversations, Messages, Outcomes, Turns, Views
from preceptor.client.nouns.trying import Executions, Experiments, Reasoning, Replays
from preceptor.client.operating import Carrier, Kind


class Groups(Generic[Kind]):
    def __init__(self, carrier: Carrier) -> None:
        self.orgs = Orgs[Kind](carrier)
        self.users = Users[Kind](carrier)
        self.keys = Keys[Kind](carrier)
        self.sign_in_links = SignInLinks[Kind](carrier)
        self.agents = Agents[Kind](carrier)
        self.assignments = Assignments[Kind](carrier)
        self.instructions = Instructions[Kind](carrier)
        self.gates = Gates[Kind](carrier)
        self.providers = Providers[Kind](carrier)
        self.mcp_servers = McpServers[Kind](carrier)
        self.webhooks = Webhooks[Kind](carrier)
        self.conversations = Conversations[Kind](carrier)
        self.messages = Messages[Kind](carrier)
        self.attachments = Attachments[Kind](carrier)
        self.turns = Turns[Kind](carrier)
        self.views = Views[Kind](carrier)
        self.outcomes = Outcomes[Kind](carrier)
        self.experiments = Experiments[Kind](carrier)
        self.executions = Executions[Kind](carrier)
        self.replays = Replays[Kind](carrier)
        self.reasoning = Reasoning[Kind](carrier)
