import json
import re
from pathlib import Path
from typing import Any

import pytest

from preceptor.surfaces.cli import connection
from tests.requirements import covers
from tests.serving import serving
from tests.surfaces.terminal import at_terminal
from tests.surfaces.test_cli import Cli, Outcome, cli, on

__all__ = ["cli", "on"]


def created(run: Cli, name: str = "Refund policy", *more: str) -> Any:
    return run("instructions", "create", "--name", name, "--type", "task", "--prompt", "30 days.", *more, "--json").json


def lines(outcome: Outcome) -> list[str]:
    assert outcome.code == 0, outcome.err
    return outcome.out.splitlines()


# Instructions


def test_an_instruction_is_created_listed_shown_revised_and_restored(on: Cli):
    made = created(on, "Refund policy", "--guideline", "Be brief", "--constraint", "Promise nothing")
    assert (made["version"], made["status"]) == ("1.0.0", "active")
    [row] = [line for line in lines(on("instructions", "list")) if made["familyId"] in line]
    assert "Refund policy" in row
    shown = on("instructions", "show", "refund-policy").out
    assert "30 days.\n\n## Guidelines\n\n- Be brief\n\n## Constraints\n\n- Promise nothing\n" in shown
    revised = on("instructions", "revise", "Refund policy", "--guideline", "Be kind", "--changelog", "Asked for")
    assert "Refund policy 1.1.0 (active) is the newest version." in revised.out
    assert on("instructions", "show", made["familyId"], "--json").json["content"]["guidelines"] == [
        "Be brief",
        "Be kind",
    ]
    assert "nothing changed" in on("instructions", "revise", "refund-policy", "--prompt", "30 days.").out
    difference = on("instructions", "diff", "refund-policy").out.splitlines()
    assert {"--- Refund policy 1.0.0", "+++ Refund policy 1.1.0", "+- Be kind"} <= set(difference)
    assert "1.1.1 says what 1.0.0 said" in on("instructions", "restore", "refund-policy", "1.0.0").out
    listed = lines(on("instructions", "versions", "refund-policy"))
    assert ["1.1.1 *" in listed[3], "1.1.0" in listed[4], "Asked for" in listed[4], "1.0.0" in listed[5]] == [True] * 4


def test_an_id_can_be_copied_from_a_terminal_of_the_usual_width(cli: Cli, tmp_path: Path):
    made = created(cli)
    with at_terminal(tmp_path / "data", "instructions", "list", COLUMNS="80") as terminal:
        assert terminal.ended() == 0
    assert made["familyId"] in terminal.seen
    assert "…" not in terminal.seen
    assert max(map(len, terminal.seen.splitlines())) <= 80


@pytest.mark.parametrize("columns", ["80", "100", "120"])
def test_no_word_of_a_table_is_broken_where_a_screen_is_too_narrow_for_it(cli: Cli, tmp_path: Path, columns: str):
    whole = cli("instructions", "templates", "--language", "en").out
    with at_terminal(tmp_path / "data", "instructions", "templates", "--language", "en", COLUMNS=columns) as terminal:
        assert terminal.ended() == 0
    assert max(map(len, terminal.seen.splitlines())) <= int(columns)
    words = set(re.findall(r"[\w.*-]+", whole))
    assert {"template-code-review-en", "programmingLanguage", "companyName*", "1.0.0"} <= words
    assert words - {"id"} <= set(re.findall(r"[\w.*-]+", terminal.seen))


def test_a_list_of_nothing_says_so(cli: Cli):
    for listed in ("webhooks", "providers", "mcp-servers", "executions", "experiments", "replay"):
        assert cli(listed, "list").out.strip() == "There are none."
    assert "Begin with `preceptor instructions templates`" in cli("instructions", "list").out


def test_labels_status_ratings_and_trials(cli: Cli):
    created(cli)
    cli("instructions", "revise", "refund-policy", "--prompt", "14 days.")
    assert "production" in cli("instructions", "label", "refund-policy", "production", "1.0.0").out
    [label] = cli("instructions", "label", "refund-policy", "--json").json
    assert (label["name"], label["version"]) == ("production", "1.0.0")
    assert "production" in cli("instructions", "versions", "refund-policy").out
    assert cli("instructions", "label", "refund-policy", "production", "--remove", "--json").json == []
    assert "2.0.0 is deprecated" in cli("instructions", "status", "refund-policy", "deprecated").out
    assert (
        "1.0.0 is deprecated" in cli("instructions", "status", "refund-policy", "deprecated", "--version", "1.0.0").out
    )
    assert "4.0 of 5" in cli("instructions", "rate", "refund-policy", "4").out
    assert cli("instructions", "test", "refund-policy", "Hi", "--version", "1.0.0").out == "30 days.\n"
    assert cli("instructions", "test", "refund-policy", "Hi", "--json").json["prompt"] == "14 days."
    assert "hidden" in cli("instructions", "delete", "refund-policy").out
    assert cli("instructions", "list", "--json").json == []


@covers("R126")
def test_a_template_is_found_and_filled_in(cli: Cli):
    found = cli("instructions", "templates", "--category", "support", "--language", "vi", "--json").json
    assert [one["templateId"] for one in found] == ["template-support-vi"]
    assert "companyName*" in cli("instructions", "templates", "--category", "support").out
    filled = cli(
        "instructions", "create", "--template", "template-support-vi", "--set", "companyName=ACME Corp", "--json"
    ).json
    assert "ACME Corp" in filled["content"]["systemPrompt"]
    assert filled["createdFromTemplate"] == "template-support-vi@1.0.0"
    rounds = ("--template", "template-critic-en", "--set", "rounds=5", "--set", "goal=to be kind", "--json")
    assert "Stop after 5 rounds" in json.dumps(cli("instructions", "create", *rounds).json["content"])


def test_an_instruction_is_written_to_a_file_edited_and_read_back(cli: Cli, tmp_path: Path):
    created(cli, "Refund policy", "--guideline", "Be brief")
    file = tmp_path / "x.md"
    file.write_text(cli("instructions", "show", "refund-policy").out, encoding="utf-8")
    assert "nothing changed" in cli("instructions", "revise", "refund-policy", "--file", "x.md").out
    file.write_text(file.read_text(encoding="utf-8").replace("## Guidelines\n\n- Be brief\n", ""), encoding="utf-8")
    changed = cli("instructions", "revise", "refund-policy", "--file", "x.md", "--json").json
    assert (changed["version"], changed["content"]["guidelines"]) == ("1.1.0", [])
    (tmp_path / "y.yaml").write_text("name: Y\ntype: task\ncontent: {systemPrompt: y}\n")
    assert "Y 1.0.0" in cli("instructions", "create", "--file", "y.yaml").out
    (tmp_path / "z.json").write_text('{"name": "Z", "type": "task"}')
    assert "Z 1.0.0 (draft)" in cli("instructions", "create", "--file", "z.json", "--draft").out


def test_a_warning_is_said_and_the_result_is_still_clean(cli: Cli):
    outcome = cli("instructions", "create", "--name", "x", "--type", "task", "--category", "odd", "--json")
    assert outcome.json["category"] == "odd"
    assert outcome.err.startswith("warning: category is 'odd'")


REFUSED: dict[str, tuple[list[str], str]] = {
    "an instruction that is not there": (["show", "nonesuch"], "no instruction 'nonesuch'"),
    "a version that is not there": (["restore", "twin", "9.9.9"], "2 instructions are called 'twin'"),
    "a template that is not there": (["create", "--template", "nonesuch"], "no template 'nonesuch'"),
    "a file that is not there": (["import", "nonesuch.json"], "nonesuch.json cannot be read"),
    "a step that is not allowed": (["status", "lone", "archived"], "cannot become archived"),
    "a label that is not there": (["label", "lone", "x", "--remove"], "no label 'x'"),
}


@pytest.mark.parametrize(("arguments", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_exits_with_1_and_says_why(cli: Cli, arguments: list[str], said: str):
    for name in ("Twin", "twin", "Lone"):
        created(cli, name)
    if "file" in said or "cannot be read" in said:
        outcome = cli("instructions", *arguments)
        assert (outcome.code in {1, 2}, said in outcome.err) == (True, True)
        return
    assert said in cli("instructions", *arguments).refusal


WRONG = {
    "no name": ["instructions", "create", "--type", "task"],
    "an unknown type": ["instructions", "create", "--name", "x", "--type", "wizard"],
    "an unknown status": ["instructions", "list", "--status", "lost"],
    "a score out of range": ["instructions", "rate", "x", "6"],
    "a gap left open": ["instructions", "create", "--template", "template-support-en"],
    "a gap that is none": ["instructions", "create", "--template", "template-critic-en", "--set", "x=1"],
    "a setting without a value": ["instructions", "create", "--template", "template-critic-en", "--set", "x"],
    "a label without a version": ["instructions", "label", "x", "production"],
    "a pin and a version": ["agents", "assign", "assistant", "x", "--pin", "latest", "--version", "1.0.0"],
    "a moment that is none": ["agents", "effective", "assistant", "--at", "yesterday"],
}


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG)
def test_wrong_usage_exits_with_2(cli: Cli, arguments: list[str]):
    outcome = cli(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err
    assert "Traceback" not in outcome.err


# A folder of Markdown files


def test_a_library_is_pulled_edited_pushed_and_pulled_again(on: Cli, tmp_path: Path):
    made = created(on, "Refund policy", "--guideline", "Be brief")
    assert lines(on("instructions", "pull", "prompts", "--dry-run")) == ["new       refund-policy.md"]
    assert not (tmp_path / "prompts").exists()
    assert lines(on("instructions", "pull", "prompts")) == ["new       refund-policy.md"]
    assert on("instructions", "diff", "--folder", "prompts").out == "Nothing differs.\n"
    file = tmp_path / "prompts" / "refund-policy.md"
    file.write_text(file.read_text().replace("- Be brief", "- Be brief\n- Be kind"))
    (tmp_path / "prompts" / "README.md").write_text("# Ours")
    (tmp_path / "prompts" / "new").mkdir()
    (tmp_path / "prompts" / "new" / "hello.md").write_text("---\nname: Hello\ntype: behavior\n---\nSay hello.\n")
    assert "+- Be kind" in lines(on("instructions", "diff", "--folder", "prompts"))
    dry = lines(on("instructions", "push", "prompts", "--dry-run"))
    assert [line.split()[0] for line in dry] == ["create", "revise", "Nothing"]
    assert len(on("instructions", "list", "--json").json) == 1
    pushed = on("instructions", "push", "prompts", "--json").json
    assert [(step["action"], step["version"]) for step in pushed["steps"]] == [("create", "1.0.0"), ("revise", "1.1.0")]
    assert "version: 1.1.0" in file.read_text()
    assert "familyId: " in (tmp_path / "prompts" / "new" / "hello.md").read_text()
    assert (tmp_path / "prompts" / "README.md").read_text() == "# Ours"
    assert {line.split()[0] for line in lines(on("instructions", "pull", "prompts"))} == {"same"}
    assert {line.split()[0] for line in lines(on("instructions", "push", "prompts"))} == {"unchanged"}
    assert on("instructions", "show", made["familyId"], "--json").json["content"]["guidelines"] == [
        "Be brief",
        "Be kind",
    ]


def test_nothing_anyone_wrote_is_lost_between_a_folder_and_the_library(cli: Cli, tmp_path: Path):
    created(cli)
    cli("instructions", "pull", "prompts")
    file = tmp_path / "prompts" / "refund-policy.md"
    mine = file.read_text().replace("30 days.", "Mine.")
    file.write_text(mine)
    cli("instructions", "revise", "refund-policy", "--prompt", "Theirs.")
    kept = cli("instructions", "pull", "prompts")
    assert (kept.code, kept.out.splitlines()[0]) == (1, "kept      refund-policy.md")
    assert file.read_text() == mine
    assert "2.0.0 has come since" in cli("instructions", "push", "prompts").refusal
    assert "conflict" in cli("instructions", "push", "prompts", "--dry-run").out
    assert lines(cli("instructions", "push", "prompts", "--force"))[0].startswith("revise")
    said = [one["content"]["systemPrompt"] for one in cli("instructions", "versions", "refund-policy", "--json").json]
    assert said == ["Mine.", "Theirs.", "30 days."]
    cli("instructions", "revise", "refund-policy", "--prompt", "Newer.")
    assert lines(cli("instructions", "pull", "prompts")) == ["updated   refund-policy.md"]
    file.write_text(file.read_text().replace("Newer.", "Scribble."))
    assert lines(cli("instructions", "pull", "prompts", "--force")) == ["updated   refund-policy.md"]
    assert "Newer." in file.read_text()


def test_a_folder_with_a_broken_file_changes_nothing(cli: Cli, tmp_path: Path):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "good.md").write_text("---\nname: Good\ntype: task\n---\nGood.\n")
    (tmp_path / "prompts" / "bad.md").write_text("---\nname: Bad\ntype: wizard\n---\n")
    outcome = cli("instructions", "push", "prompts")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: bad.md: ")
    assert cli("instructions", "list", "--json").json == []


def test_a_pull_writes_over_nothing_that_it_did_not_write(cli: Cli, tmp_path: Path):
    created(cli)
    created(cli, "Notes")
    folder, outside = tmp_path / "prompts", tmp_path / "outside.md"
    folder.mkdir()
    outside.write_text("Elsewhere.")
    (folder / "notes.md").write_text("Ask legal.")
    (folder / "refund-policy.md").symlink_to(outside)
    assert lines(cli("instructions", "pull", "prompts")) == ["new       notes-2.md", "new       refund-policy-2.md"]
    assert ((folder / "notes.md").read_text(), outside.read_text()) == ("Ask legal.", "Elsewhere.")
    unreadable = (folder / "notes-2.md").read_text() + "\n## Guidelines\n\n- One\nand more\n"
    (folder / "notes-2.md").write_text(unreadable)
    kept = cli("instructions", "pull", "prompts")
    assert (kept.code, kept.out.splitlines()[0]) == (1, "kept      notes-2.md")
    assert (folder / "notes-2.md").read_text() == unreadable
    assert lines(cli("instructions", "pull", "prompts", "--force"))[0] == "updated   notes-2.md"


def test_a_pull_makes_no_file_that_differs_from_another_in_its_case_alone(cli: Cli, tmp_path: Path):
    """Many disks take the two for one."""
    created(cli)
    created(cli, "Notes")
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "NOTES.md").write_text("Ask legal.")
    assert lines(cli("instructions", "pull", "prompts")) == ["new       notes-2.md", "new       refund-policy.md"]
    (folder / "refund-policy.md").rename(folder / "Refund-Policy.md")
    created(cli, "Refund policy!")
    pulled = lines(cli("instructions", "pull", "prompts"))
    assert pulled == ["same      Refund-Policy.md", "same      notes-2.md", "new       refund-policy-2.md"]


def test_a_folder_that_is_not_there_is_not_an_empty_library(cli: Cli, tmp_path: Path):
    created(cli)
    for told in (["push", "prompst"], ["diff", "--folder", "prompst"]):
        refused = cli("instructions", *told)
        assert (refused.code, refused.out) == (2, "")
        assert refused.err == "error: prompst cannot be read (there is no such folder).\n"
    (tmp_path / "full.md").touch()
    outcome = cli("instructions", "export", "full.md/library.json")
    assert outcome.err == "error: full.md/library.json cannot be written (Not a directory).\n"


@covers("S30")
def test_links_and_hidden_files_of_a_folder_are_not_read_and_nothing_is_written_outside_it(cli: Cli, tmp_path: Path):
    text = "---\nname: Secret\ntype: task\n---\nSecret.\n"
    (tmp_path / "outside.md").write_text(text)
    (tmp_path / "prompts" / ".git").mkdir(parents=True)
    (tmp_path / "prompts" / ".git" / "x.md").write_text(text)
    (tmp_path / "prompts" / "link.md").symlink_to(tmp_path / "outside.md")
    assert cli("instructions", "push", "prompts").out == "There is nothing to bring in.\n"
    before = {path for path in tmp_path.rglob("*") if "prompts" not in path.parts}
    for name in ("../../escaped", "/tmp/escaped", "..", "con"):
        created(cli, name)
    assert cli("instructions", "pull", "prompts").code == 0
    written = {path.name for path in (tmp_path / "prompts").glob("*.md") if not path.is_symlink()}
    assert written == {"escaped.md", "tmp-escaped.md", "instruction.md", "instruction-con.md"}
    assert {path for path in tmp_path.rglob("*") if "prompts" not in path.parts and "data" not in path.parts} <= before


# One file


@pytest.mark.parametrize("file", ["library.json", "library.yaml"])
def test_a_library_leaves_in_one_file_and_comes_back(cli: Cli, tmp_path: Path, file: str):
    created(cli, "Refund policy", "--guideline", "Be brief")
    cli("instructions", "revise", "refund-policy", "--prompt", "14 days.")
    cli("instructions", "label", "refund-policy", "production", "1.0.0")
    cli("agents", "assign", "assistant", "refund-policy", "--pin", "label:production")
    assert cli("instructions", "export", file, "--assignments").out == f"1 instructions are in {file}.\n"
    elsewhere = {"PRECEPTOR_DATA_DIR": str(tmp_path / "elsewhere")}
    dry = lines(cli("instructions", "import", file, "--dry-run", **elsewhere))
    assert [line.split()[0] for line in dry] == ["create", "add_version", "label", "assign", "Nothing"]
    assert [line.split()[0] for line in lines(cli("instructions", "import", file, **elsewhere))] == [
        "create",
        "add_version",
        "label",
        "assign",
    ]
    assert cli("agents", "effective", "assistant", **elsewhere).out == cli("agents", "effective", "assistant").out
    there = json.loads(cli("instructions", "export", **elsewhere).out)
    here = json.loads(cli("instructions", "export").out)
    assert [one["versions"] for one in there["instructions"]] == [one["versions"] for one in here["instructions"]]


@covers("S30")
def test_a_file_that_is_no_bundle_is_refused_by_its_name(cli: Cli, tmp_path: Path):
    (tmp_path / "bomb.yaml").write_text("a: &a [x]\nb: [*a, *a]\n")
    (tmp_path / "odd.json").write_text('{"format": "preceptor-library", "lc": 1}')
    (tmp_path / "large.json").write_bytes(b" " * 5_000_001)
    for file, said in {"bomb.yaml": "anchors", "odd.json": "lc", "large.json": "5000000"}.items():
        outcome = cli("instructions", "import", file)
        assert (outcome.code in {1, 2}, outcome.out) == (True, "")
        assert said in outcome.err


# Agents


def test_an_agent_is_made_given_instructions_and_asked_what_it_is_told(on: Cli):
    assert on("agents", "create", "support", "Support", "--role", "assistant").code == 0
    assert {"assistant", "support"} <= {one["agentId"] for one in on("agents", "list", "--json").json}
    assert "Support" in on("agents", "list").out
    assert "told nothing" in on("agents", "effective", "support").out
    created(on, "Refund policy", "--constraint", "Promise nothing")
    on("instructions", "revise", "refund-policy", "--prompt", "14 days.")
    assert (
        "follows Refund policy 2.0.0 (latest, priority 100)" in on("agents", "assign", "support", "refund-policy").out
    )
    changed = on("agents", "assign", "support", "refund-policy", "--priority", "5", "--guideline", "In Vietnamese")
    assert "(latest, priority 5)" in changed.out
    told = on("agents", "effective", "support").out
    assert told.startswith("14 days.\n\n## Guidelines\n- In Vietnamese\n\n## Constraints")
    [named] = [line for line in lines(on("agents", "effective", "support", "--sources")) if "/guidelines/0" in line]
    assert "Refund policy" in named
    assert "added_by_customization" in named
    assert on("agents", "effective", "support", "--json").json["guidelines"] == ["In Vietnamese"]
    assert "Refund policy" in on("agents", "show", "support").out
    assert [one["priority"] for one in on("agents", "show", "support", "--json").json["assignments"]] == [5]
    assert "no longer follows" in on("agents", "unassign", "support", "refund-policy").out
    stays = on("agents", "assign", "support", "refund-policy", "--version", "1.0.0")
    assert "1.0.0 (exact" in stays.out
    assert "2.0.0 is newer" in on("agents", "show", "support").out
    assert "2.0.0 (exact" in on("agents", "assign", "support", "refund-policy", "--version", "2.0.0").out
    assert "is newer" not in on("agents", "show", "support").out


def test_what_an_agent_was_told_before_can_be_asked(cli: Cli):
    created(cli)
    cli("agents", "assign", "assistant", "refund-policy")
    moment = cli("instructions", "revise", "refund-policy", "--prompt", "14 days.", "--json").json["createdAt"]
    assert cli("agents", "effective", "assistant").out == "14 days.\n"
    before = moment.replace("Z", "").rstrip("0123456789")
    past = cli("agents", "effective", "assistant", "--at", f"{before}000000Z")
    assert past.code == 0


# While a server runs


def test_every_change_can_be_typed_where_changes_must_say_what_they_change(cli: Cli):
    def strict(*arguments: str) -> Outcome:
        return cli(*arguments, PRECEPTOR_REQUIRE_IF_MATCH="true")

    created(strict)
    changes = (
        "instructions revise refund-policy --prompt 14",
        "instructions label refund-policy production 1.0.0",
        "instructions label refund-policy production 2.0.0",
        "instructions label refund-policy production --remove",
        "instructions restore refund-policy 1.0.0",
        "agents change assistant --model local",
        "agents assign assistant refund-policy",
        "agents assign assistant refund-policy --priority 5",
        "agents unassign assistant refund-policy",
        "instructions status refund-policy deprecated",
        "instructions delete refund-policy",
    )
    refused = {change: said.err for change in changes if (said := strict(*change.split())).code != 0}
    assert refused == {}


def test_commands_speak_to_the_server_that_runs(cli: Cli, tmp_path: Path):
    with serving(tmp_path / "data") as server:
        made = created(cli)
        with server.client() as client:
            assert client.get(f"/api/instructions/{made['familyId']}").json()["name"] == "Refund policy"
            with connection.api() as api:
                assert api.server == server.url
        assert lines(cli("instructions", "pull", "prompts")) == ["new       refund-policy.md"]
        file = tmp_path / "prompts" / "refund-policy.md"
        file.write_text(file.read_text().replace("30 days.", "14 days."))
        assert lines(cli("instructions", "push", "prompts"))[0].startswith("revise")
        cli("agents", "assign", "assistant", "refund-policy")
        with server.client() as client:
            told = client.get("/api/agents/assistant/instructions/effective?format=prompt").text
        assert told == "14 days."
        assert "no instruction 'nonesuch'" in cli("instructions", "show", "nonesuch").refusal
