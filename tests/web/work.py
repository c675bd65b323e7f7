"""Experiments, executions and replays for browser tests, made by the API."""

from typing import Any

from tests.web.browsing import AGENT, Site
from tests.web.library import Made, make

Json = dict[str, Any]
PATH = "/api/instructions/experiments"


def load(agent: str = AGENT) -> Json:
    return {"type": "agent.loadInstructions", "resource": {"type": "agent", "id": agent}}


def ask(message: Any, agent: str = AGENT) -> Json:
    return {"type": "agent.execute", "resource": {"type": "agent", "id": agent}, "data": {"userMessage": message}}


def step(index: int, name: str, command: Json, *before: int, **more: Any) -> Json:
    return {"index": index, "name": name, "command": command, "dependsOn": list(before), **more}


NOTHING = {"$from": {"step": 0, "path": "no-such-thing"}}
NOWHERE = {"type": "conversation.compact", "resource": {"type": "conversation", "id": NOTHING}}
FAILING = NOWHERE | {"data": {"intermediate": True, "strategy": "drop"}}


def executed(site: Site, *steps: Json) -> Json:
    """An execution that has ended."""
    made = site.api("POST", "/api/executions", json={"steps": steps})
    return ended(site, f"/api/executions/{made['executionId']}")


def replayed(site: Site, **asked: Any) -> Json:
    made = site.api("POST", "/api/replays", json=asked)
    return ended(site, f"/api/replays/{made['replayId']}")


def ended(site: Site, path: str) -> Json:
    """What something that goes on by itself came to: its events end when it does."""
    with site.served.client() as client, client.stream("GET", f"{path}/events", timeout=60) as answer:
        for _ in answer.iter_lines():
            pass
    return site.api("GET", path)


def experiment(site: Site, **more: Any) -> tuple[Json, Made]:
    """Between two versions of an instruction, with an agent of its own."""
    made = make(site, "Manner")
    control, variant = made.versions
    wish = {"name": "Friendlier", "agentIds": [made.agent_id], "hypothesis": "A friendlier manner is rated higher."}
    arms = {"controlInstructionId": control, "variantInstructionId": variant}
    return site.api("POST", PATH, json=wish | arms | more), made


def rated(site: Site, agent: str, *scores: int) -> None:
    """One conversation for each score."""
    for score in scores:
        made = site.api("POST", "/api/conversations", json={"agentId": agent})
        path = f"/api/conversations/{made['conversationId']}"
        turn = site.api("POST", f"{path}/messages", json={"content": "¿Is it open?"})
        site.api("POST", f"/api/messages/{turn['message']['id']}/rating", json={"score": score})
