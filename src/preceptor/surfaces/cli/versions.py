"""`preceptor instructions`: versions, labels, status, ratings and trials."""

from typing import Annotated, Any

import typer

from preceptor.surfaces.cli.connection import Api, api
from preceptor.surfaces.cli.console import AsJson, say, say_json, say_table, when
from preceptor.surfaces.cli.library import find, find_version, path_of

Which = Annotated[str, typer.Argument(metavar="INSTRUCTION", help="Its id, the id of a version, or its name.")]
Number = Annotated[str, typer.Argument(metavar="VERSION", help="Its number, such as 1.2.0, or its id.")]


def register(app: typer.Typer) -> None:
    for command in (versions, restore, status, label, rate):
        app.command()(command)
    app.command("test")(try_out)


def versions(which: Which, as_json: AsJson = False) -> None:
    """List every version of an instruction, newest first, with its labels.

    [bold]Example[/bold]
      preceptor instructions versions refund-policy
    """
    with api() as preceptor:
        family = find(preceptor, which)["familyId"]
        found = list(preceptor.items(path_of(family, "versions")))
        labels = list(preceptor.items(path_of(family, "labels")))
    if as_json:
        say_json(found)
        return
    rows = [
        (*_words(one), ", ".join(_labels_of(one, labels)), one["changelog"] or one["bumpReason"] or "") for one in found
    ]
    say_table(("version", "status", "made", "by", "id", "labels", "why"), rows)


def restore(which: Which, version: Number, as_json: AsJson = False) -> None:
    """Append a version that says what an older one said. Nothing is moved back.

    [bold]Example[/bold]
      preceptor instructions restore refund-policy 1.0.0
    """
    with api() as preceptor:
        found = find(preceptor, which)
        old = find_version(preceptor, found, version)
        made = preceptor.post(path_of(found["familyId"], "restore", old["instructionId"]))
    _tell(made, as_json, f"{made['name']} {made['version']} says what {old['version']} said.")


def status(
    which: Which,
    to: Annotated[str, typer.Argument(metavar="STATUS", help="draft, active, deprecated or archived.")],
    version: Annotated[str | None, typer.Option(metavar="VERSION", help="Default: the newest in force.")] = None,
    as_json: AsJson = False,
) -> None:
    """Move a version one step through its life: draft, active, deprecated, archived, and back to draft.

    [bold]Example[/bold]
      preceptor instructions status refund-policy active --version 1.1.0
    """
    with api() as preceptor:
        made = preceptor.post(path_of(_meant(preceptor, which, version), "status"), {"status": to})
    _tell(made, as_json, f"{made['name']} {made['version']} is {made['status']}.")


def label(
    which: Which,
    name: Annotated[
        str | None, typer.Argument(metavar="LABEL", help="Such as production. Without it: list them.")
    ] = None,
    version: Annotated[str | None, typer.Argument(metavar="VERSION", help="Where it is to point.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the label away.")] = False,
    as_json: AsJson = False,
) -> None:
    """List labels, point one at a version, or take one away.

    [bold]Examples[/bold]
      preceptor instructions label refund-policy
      preceptor instructions label refund-policy production 1.2.0
      preceptor instructions label refund-policy staging --remove
    """
    if name is not None and (version is None) != remove:
        raise typer.BadParameter("say where the label is to point, or --remove")
    with api() as preceptor:
        found = find(preceptor, which)
        if name is not None and version is not None:
            target = find_version(preceptor, found, version)["instructionId"]
            preceptor.put(path_of(found["familyId"], "labels", name), {"instructionId": target})
        elif name is not None:
            preceptor.delete(path_of(found["familyId"], "labels", name))
        labels = list(preceptor.items(path_of(found["familyId"], "labels")))
    if as_json:
        say_json(labels)
        return
    rows = [(one["name"], one["version"], when(one["movedAt"]), one["movedBy"]) for one in labels]
    say_table(("label", "version", "since", "by"), rows)


def rate(
    which: Which,
    score: Annotated[int, typer.Argument(metavar="SCORE", min=1, max=5, help="From 1 to 5.")],
    as_json: AsJson = False,
) -> None:
    """Say what you think of an instruction. Your last word counts.

    [bold]Example[/bold]
      preceptor instructions rate refund-policy 4
    """
    with api() as preceptor:
        found = find(preceptor, which)
        made = preceptor.post(path_of(found["familyId"], "ratings"), {"score": score})
    _tell(made, as_json, f"{found['name']} has {made['averageRating']:.1f} of 5 on average.")


def try_out(
    which: Which,
    input_: Annotated[str, typer.Argument(metavar="INPUT", help="What a user would say.")],
    agent: Annotated[str | None, typer.Option(metavar="ID", help="Together with all that this agent is told.")] = None,
    mode: Annotated[str | None, typer.Option(metavar="MODE", help="render (no model) or run.")] = None,
    version: Annotated[
        str | None, typer.Option(metavar="VERSION", help="A draft, too. Default: the one in force.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Try an instruction without anyone being told it: the prompt, and with a model its answer and the rules.

    [bold]Examples[/bold]
      preceptor instructions test refund-policy "Where is my money?"
      preceptor instructions test refund-policy "Where is my money?" --mode run --version 1.1.0
    """
    asked = {"input": input_, "agentId": agent, "mode": mode}
    body = {name: value for name, value in asked.items() if value is not None}
    with api() as preceptor:
        trial = preceptor.post(path_of(_meant(preceptor, which, version), "test"), body)
    if as_json:
        say_json(trial)
        return
    say(trial["prompt"])
    if trial["answer"] is not None:
        say(("\nAnswer", "bold"), f"\n{trial['answer']}")
    for rule in trial["rules"] or ():
        say(("kept  ", "green") if rule["passed"] else ("broken", "red"), f"  {rule['rule']}: {rule['detail']}")


def _meant(preceptor: Api, which: str, version: str | None) -> str:
    found = find(preceptor, which)
    if version is None:
        return found["instructionId"]
    return find_version(preceptor, found, version)["instructionId"]


def _words(one: dict[str, Any]) -> tuple[str, ...]:
    number = one["version"] + (" *" if one["isLatestVersion"] else "")
    return number, one["status"], when(one["createdAt"]), one["createdBy"], one["instructionId"]


def _labels_of(one: dict[str, Any], labels: list[dict[str, Any]]) -> list[str]:
    return [label["name"] for label in labels if label["instructionId"] == one["instructionId"]]


def _tell(made: dict[str, Any], as_json: bool, sentence: str) -> None:
    if as_json:
        say_json(made)
    else:
        say(sentence)
