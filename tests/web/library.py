"""Instructions and an agent for browser tests, made by the API."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from tests.web.browsing import Site

FIRST: dict[str, Any] = {
    "systemPrompt": "You are a professional support agent for ACME Corp.",
    "guidelines": ["Greet customers by name", "Listen actively and show empathy", "Give clear solutions"],
    "constraints": ["Never share passwords", {"id": "refunds", "text": "Do not promise refunds", "locked": True}],
    "tone": "professional",
}
SECOND: dict[str, Any] = {
    "systemPrompt": "You are a friendly support agent for ACME Corp.",
    "guidelines": ["Greet customers by name", "Give clear solutions", "Confirm that it is solved"],
}
RULES = {"requiredKeywords": ["thank you"], "maxResponseLength": 400}
ATTACK = '<img src=x onerror="window.__xss=1"><script>window.__xss=1</script> ![i](http://evil.example/x.png) {{gap}}'


@dataclass(frozen=True)
class Made:
    family_id: str
    versions: tuple[str, ...]
    agent_id: str


def make(site: Site, name: str = "Support", **content: Any) -> Made:
    """An instruction with two versions, given to an agent of its own."""
    agent_id = f"agent-{uuid4().hex[:8]}"
    first = site.api(
        "POST",
        "/api/instructions",
        json={"name": name, "type": "system", "content": FIRST | content, "validationRules": RULES},
    )
    path = f"/api/instructions/{first['familyId']}"
    second = site.api("PUT", path, json={"content": SECOND, "changelog": "Friendlier"}) if not content else first
    site.api("POST", "/api/agents", json={"agentId": agent_id, "name": f"{name} agent"})
    site.api("POST", f"/api/agents/{agent_id}/instructions", json={"instructionId": first["familyId"]})
    return Made(first["familyId"], (first["instructionId"], second["instructionId"]), agent_id)
