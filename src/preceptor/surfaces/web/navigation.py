"""The entries of the rail, for those who may open them."""

import msgspec

from preceptor.domain.ownership import Caller, Permission
from preceptor.surfaces.web.languages import msg


class Entry(msgspec.Struct, frozen=True):
    name: str
    path: str
    label: str
    needs: Permission


ENTRIES = (
    Entry("conversations", "/conversations", msg("Conversations"), Permission.CONVERSATION_READ),
    Entry("instructions", "/instructions", msg("Instructions"), Permission.INSTRUCTION_READ),
    Entry("templates", "/templates", msg("Templates"), Permission.INSTRUCTION_READ),
    Entry("agents", "/agents", msg("Agents"), Permission.AGENT_READ),
    Entry("decision-tables", "/decision-tables", msg("Decision tables"), Permission.AGENT_READ),
    Entry("experiments", "/experiments", msg("Experiments"), Permission.EXPERIMENT_RUN),
    Entry("executions", "/executions", msg("Executions"), Permission.EXECUTION_RUN),
    Entry("replays", "/replays", msg("Replays"), Permission.REPLAY_RUN),
    Entry("start", "/start", msg("Start"), Permission.CONVERSATION_READ),
    Entry("settings", "/settings", msg("Settings"), Permission.CONVERSATION_READ),
)


def entries_for(caller: Caller) -> tuple[Entry, ...]:
    return tuple(entry for entry in ENTRIES if caller.may(entry.needs))
