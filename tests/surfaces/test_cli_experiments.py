from tests.requirements import covers
from tests.surfaces.test_cli import Cli, cli, on

__all__ = ["cli", "on"]


def two_versions(run: Cli) -> None:
    made = run("instructions", "create", "--name", "Manner", "--type", "system", "--prompt", "Be brief.", "--json").json
    run("instructions", "revise", made["familyId"], "--prompt", "Be thorough.")
    run("agents", "assign", "assistant", "manner", "--version", "1.0.0")


@covers("R114")
def test_an_experiment_is_made_started_looked_at_and_promoted(on: Cli):
    two_versions(on)
    versions = ("manner", "1.0.0", "2.0.0", "--agent", "assistant")
    made = on("experiments", "create", "Length", *versions, "--days", "14", "--guard", "cost", "--draft", "--json").json
    assert (made["status"], made["duration"], made["guardrails"][0]["metric"]) == ("draft", 14.0, "cost")
    named = made["experimentId"]
    started = on("experiments", "start", named).out
    assert "Length  running" in started
    assert "It needs about" in started
    assert named in on("experiments", "list", "--status", "running").out
    shown = on("experiments", "results", named).out
    assert "It is too early to say anything: each arm needs at least 50 units." in shown
    assert "Health: green (srm green, crossover green, renderedMismatch green)" in shown
    assert on("experiments", "results", named, "--json").json["verdict"]["code"] == "too_early"
    assert "Length  promoted" in on("experiments", "promote", named).out
    assert on("experiments", "show", named, "--json").json["decision"]["promoted"] == "variant"
    assert "2.0.0" in on("agents", "show", "assistant").out


def test_what_cannot_be_is_refused_in_one_line(on: Cli):
    two_versions(on)
    versions = ("manner", "1.0.0", "2.0.0", "--agent", "assistant")
    first = on("experiments", "create", "Length", *versions, "--json").json
    again = on("experiments", "create", "Again", *versions)
    assert (again.code, again.out) == (1, "")
    assert first["experimentId"] in again.err
    assert on("experiments", "create", "Other", "manner", "1.0.0", "9.9.9", "--agent", "assistant").code == 1
    assert "stopped" in on("experiments", "stop", first["experimentId"]).out
    assert on("experiments", "show", "nothing").code == 1
