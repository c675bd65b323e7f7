"""What is shipped for Grafana and Prometheus speaks of metrics that there are, with labels that they have."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

from preceptor import Hearers, open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.observability.metrics import Metrics
from preceptor.surfaces.http import create_app
from preceptor.testing import ScriptedModel
from tests.packaging.installing import ROOT
from tests.talking import settings_in

SHIPPED = ROOT / "deploy" / "observability"
METRIC = re.compile(r"\bpreceptor_[a-z_]+")
LABELLED = re.compile(r"(preceptor_[a-z_]+)\{([^}]*)\}")
GROUPED = re.compile(r"by \(([^)]*)\)")
ADDED = {"le", "instance", "job"}
"""Labels of every histogram, and of whoever scrapes."""


def expressions() -> Iterator[str]:
    dashboard: Any = json.loads((SHIPPED / "grafana-dashboard.json").read_text(encoding="utf-8"))
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel["targets"])
    for rule in rules():
        yield rule["expr"]


def rules() -> list[Any]:
    return yaml.safe_load((SHIPPED / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]


async def exposed(folder: Path) -> dict[str, set[str]]:
    """Every series of a server that has done a little of everything, and the labels it has."""
    metrics = Metrics()
    settings = settings_in(folder, guard_enabled=True)
    models = ModelRegistry(settings)
    models.add("local", ScriptedModel(lambda _: "Understood."))
    metrics.webhook_attempt(taken=True)
    metrics.storage_error("disk_full")
    metrics.rate_limited("key")
    async with open_preceptor(settings, models=models, hearers=Hearers(metrics.commit, metrics.turn)) as preceptor:
        await preceptor.conversations.say("Hello", agent="assistant")
        create_app(preceptor, metrics)
        metrics.request("GET", "/healthz", 200, 0.001)
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(metrics.render()[0].decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


async def test_every_metric_and_label_that_is_shown_or_watched_exists(tmp_path: Path):
    known = await exposed(tmp_path)
    for expression in expressions():
        named = METRIC.findall(expression)
        assert set(named) <= set(known), expression
        labels = set[str]().union(*(known[name] for name in named)) | ADDED
        for name, said in LABELLED.findall(expression):
            assert {one.split("=")[0].strip("~! ") for one in said.split(",")} <= known[name] | ADDED, expression
        for said in GROUPED.findall(expression):
            assert {one.strip() for one in said.split(",")} <= labels, expression


def test_every_metric_that_we_have_is_shown_somewhere():
    shown = {name for expression in expressions() for name in METRIC.findall(expression)}
    families = {family.name for family in text_string_to_metric_families(Metrics().render()[0].decode())}
    ours = {name for name in families if not name.endswith("_created")}
    assert {name for name in ours if not any(one.startswith(name) for one in shown)} == set()


def test_every_alert_says_what_is_wrong_and_what_to_do():
    assert len({rule["alert"] for rule in rules()}) == len(rules())
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"].endswith(".")
        assert rule["expr"].count("(") == rule["expr"].count(")")


def test_no_two_panels_lie_on_each_other():
    dashboard: Any = json.loads((SHIPPED / "grafana-dashboard.json").read_text(encoding="utf-8"))
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
