"""Every page there is, with something on it: for what has to be true of all of them, and for pictures."""

from tests.web.browsing import AGENT, Site
from tests.web.library import make
from tests.web.work import FAILING, ask, executed, experiment, load, rated, replayed, step

ALONE = (
    "/conversations",
    "/conversations/new",
    "/start",
    "/settings",
    "/instructions",
    "/instructions/new",
    "/templates",
    "/agents",
    "/decision-tables",
    "/experiments",
    "/experiments/new",
    "/executions",
    "/executions/new",
    "/replays",
    "/replays/new",
)
"""Every page that needs no id. Add yours here, and those that need one below."""


def places(site: Site) -> dict[str, str]:
    """The name of each page and where it is."""
    return {path.strip("/").replace("/", "-"): path for path in ALONE} | _talks(site) | _library(site) | _work(site)


def _talks(site: Site) -> dict[str, str]:
    conversation = site.talk("¿Where is my order 4711, twice?", "¿Thank you, and *goodbye*", title="Order 4711 is late")
    said = site.api("GET", f"/api/conversations/{conversation}/messages")["items"]
    asked = next(one["id"] for one in said if one["role"] == "user")
    path = f"/conversations/{conversation}"
    return {
        "conversation": path,
        "conversation-all": f"{path}?view=all",
        "conversation-cleanup": f"{path}?clean=1",
        "conversation-edit": f"{path}?edit={asked}",
        "conversation-panel": f"{path}?panel={said[-1]['id']}",
        "context": f"/messages/{said[-1]['id']}/context",
        "context-kind": f"/messages/{said[-1]['id']}/context?kind=message",
    }


def _library(site: Site) -> dict[str, str]:
    made = make(site)
    template = site.api("GET", "/api/instructions/templates")["items"][0]["templateId"]
    one, agent = f"/instructions/{made.family_id}", f"/agents/{made.agent_id}"
    return {
        "instruction": one,
        "instruction-edit": f"{one}/edit",
        "instruction-diff": f"{one}/diff?from=1.0.0&to=2.0.0",
        "instruction-diff-fields": f"{one}/diff?from=1.0.0&to=2.0.0&view=inline&mode=field",
        "instruction-restore": f"{one}/diff?to=1.0.0&restore=1",
        "instruction-test": f"{one}/test",
        "instruction-archive": f"{one}/archive",
        "template-use": f"/templates/{template}/use",
        "agent": agent,
        "effective": f"{agent}/effective",
        "effective-compared": f"{agent}/effective?with={AGENT}",
    }


def _work(site: Site) -> dict[str, str]:
    made, told = experiment(site, guardrails=["failureRate"])
    rated(site, told.agent_id, 3, 4, 5, 4, 2, 5)
    draft, _ = experiment(site, status="draft")
    done = executed(
        site,
        step(0, "Load instructions", load()),
        step(1, "Ask the agent", ask("¿Hello"), 0),
        step(2, "Tidy up what is not there", FAILING, 0),
        step(3, "Ask again", ask("¿And then"), 1, 2),
        step(4, "Something else", load(), 0, optional=True),
        step(5, "Last of all", load(), 0, 1, 4),
    )
    overrides = {"instructions": {told.family_id: "1.0.0"}}
    replay = replayed(site, filter={"agentId": told.agent_id, "limit": 3}, overrides=overrides, replies="live")
    one, execution = f"/experiments/{made['experimentId']}", f"/executions/{done['executionId']}"
    return {
        "experiment": one,
        "experiment-draft": f"/experiments/{draft['experimentId']}",
        "experiment-conversations": f"{one}/conversations?arm=control&metric=rating",
        "execution": execution,
        "execution-step": f"{execution}?step=2",
        "replay": f"/replays/{replay['replayId']}",
        "replay-item": f"/replays/{replay['replayId']}/items/0",
        "effective-arm": f"/agents/{told.agent_id}/effective?arm={made['experimentId']}:variant",
    }
