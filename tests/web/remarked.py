"""Pages on which there is much to remark: what the engine says of instructions, prompts, gates and steps on its own."""

from typing import Any
from uuid import uuid4

from tests.web.browsing import Site
from tests.web.work import FAILING, ask, ended, executed, experiment, load, replayed, step

WORD = "Frobnicate"
FIRST: dict[str, Any] = {
    "systemPrompt": "Be kind.",
    "doList": ["Hum along"],
    "dontList": ["Hum along"],
    "guidelines": ["Say less", "Say less!"],
    "constraints": [{"id": "quiet", "text": "Stay quiet", "locked": True}, "Stay brief"],
    "tone": WORD,
}


def remarked(site: Site) -> dict[str, str]:
    """The name of each page and where it is."""
    return _told(site) | _shown(site) | _gone_wrong(site)


def _told(site: Site) -> dict[str, str]:
    """Instructions that contradict each other and themselves."""
    agent = f"remarked-{uuid4().hex[:8]}"
    site.api("POST", "/api/agents", json={"agentId": agent, "name": "Ada"})
    first = _instruction(site, agent, FIRST, category=WORD, customizations={"disabledConstraints": ["Stay brief"]})
    second = _instruction(site, agent, {"tone": "casual", "guidelines": ["Say less", "password: hunter2hunter2"]})
    path = f"/api/instructions/{first}"
    site.api("PUT", path, json={"content": {"constraints": ["Stay quiet", "Stay brief"]}, "changelog": WORD})
    site.api("PUT", path, json={"content": {"guidelines": ["Say more"]}, "bump": "major"})
    site.api("PUT", path, json={"description": "Another", "changelog": WORD})
    versions = site.api("GET", f"{path}/versions")["items"]
    oldest = versions[-1]["instructionId"]
    site.api("POST", f"{path}/restore/{oldest}")
    site.api("PUT", f"{path}/labels/old", json={"instructionId": oldest})
    site.api("PUT", f"/api/agents/{agent}/instructions/{first}", json={"pin": "label:old"})
    site.api("POST", f"/api/instructions/{oldest}/status", json={"status": "deprecated"})
    return {
        "instruction": f"/instructions/{first}",
        "secret": f"/instructions/{second}",
        "restoring": f"/instructions/{first}/diff?to=1.0.0&restore=1",
        "effective": f"/agents/{agent}/effective",
        "agent": f"/agents/{agent}",
    }


def _shown(site: Site) -> dict[str, str]:
    """A conversation of which models are not shown all."""
    agent = f"forgetful-{uuid4().hex[:8]}"
    wish = {"agentId": agent, "name": "Ada", "tools": ["calculator"], "permissions": ["delegate"]}
    site.api("POST", "/api/agents", json=wish | {"parameters": {"maxHistorySize": 4}})
    talk = site.talk("¿Where is my order 4711, twice?", "¿And now?", "¿And then?", agent=agent)
    said = site.api("GET", f"/api/conversations/{talk}/messages?limit=100&view=all")["items"]
    answers = [one["id"] for one in said if one["role"] == "assistant" and one.get("callId")]
    pages = {f"context-{place}": f"/messages/{one}/context" for place, one in enumerate(answers)}
    return {"conversation": f"/conversations/{talk}?view=all"} | pages


def _gone_wrong(site: Site) -> dict[str, str]:
    """A gate that stays closed, steps that did not come off, and an experiment that nobody has reached."""
    draft, made = experiment(site, status="draft", hypothesis="")
    site.talk("¿Is it open?", agent=made.agent_id)
    label = f"/api/instructions/{made.family_id}/labels/production/gate"
    site.api("PUT", label, json={"atLeast": 9, "maxRuleBreaks": 0, "replies": "live", "agentId": made.agent_id})
    run = site.api("POST", f"{label}/run", json={"instructionId": made.versions[0]})
    replay = ended(site, f"/api/replays/{run['replayId']}")["replayId"]
    other = replayed(site, filter={"agentId": made.agent_id}, overrides={"instructions": {made.family_id: "1.0.0"}})
    late = step(0, WORD, ask("¿wait"), timeoutSeconds=1)
    with site.provider.holding():
        slow = executed(site, late, step(1, WORD, load(), 0))
    failed = executed(site, step(0, WORD, load()), step(1, WORD, FAILING, 0), step(2, WORD, load(), 1))
    return {
        "experiments": "/experiments",
        "experiment-draft": f"/experiments/{draft['experimentId']}",
        "gate": f"/replays/{replay}",
        "replay-item": f"/replays/{other['replayId']}/items/0",
        "executions": "/executions",
        "execution": f"/executions/{failed['executionId']}?step=1",
        "execution-slow": f"/executions/{slow['executionId']}?step=0",
        "decision-tables": "/decision-tables",
    }


def _instruction(site: Site, agent: str, content: dict[str, Any], **more: Any) -> str:
    customizations = more.pop("customizations", None)
    wish = {"name": WORD, "type": "system", "content": content, "validationRules": {"requiredKeywords": ["thanks"]}}
    made = site.api("POST", "/api/instructions", json=wish | more)["familyId"]
    given = {"instructionId": made} | ({"customizations": customizations} if customizations else {})
    site.api("POST", f"/api/agents/{agent}/instructions", json=given)
    return made
