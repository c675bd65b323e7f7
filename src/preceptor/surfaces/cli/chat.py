"""`preceptor chat`: talk with an agent."""

import sys
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer

from preceptor.surfaces.cli.connection import Declined, api, path_to
from preceptor.surfaces.cli.console import AsJson, complain, out, say, say_json
from preceptor.surfaces.cli.slash import HELP, obey
from preceptor.surfaces.cli.talk import DEFAULT, Talk
from preceptor.surfaces.cli.telling import Live, Silent, answer_in


def chat(
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="What to say. Without it: a conversation, or a pipe's text.")
    ] = None,
    agent: Annotated[str | None, typer.Option(metavar="ID", help="Whom to talk with. Default: assistant.")] = None,
    conversation: Annotated[str | None, typer.Option(metavar="ID", help="Go on with this conversation.")] = None,
    queue: Annotated[
        bool,
        typer.Option("--queue", help="While another message is answered there, wait for it instead of being refused."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Talk with an agent. Answers appear as they are written; Ctrl-C stops one, and a second time leaves.

    With TEXT, or with text from a pipe, it says that and is done: into a pipe
    goes the answer and nothing else. Type /help for what else you can do.

    [bold]Examples[/bold]
      preceptor chat
      preceptor chat "Where is my order?" --agent support
      preceptor chat < letter.txt > answer.txt
      preceptor chat "And now?" --conversation 01a1e295-18f3-723d-bb9f-ca7802f2bfd3 --queue --json
    """
    if agent is not None and conversation is not None:
        raise typer.BadParameter("a conversation has its agent already: give --agent or --conversation")
    if text is not None and not text.strip():
        raise typer.BadParameter("say something")
    with api() as preceptor:
        if conversation is not None:
            preceptor.get(path_to("/api/conversations", conversation))
        talk = Talk(preceptor, agent or DEFAULT, conversation, queue=queue)
        if text is None and sys.stdin.isatty():
            _converse(talk)
        elif not _say_once(talk, _given(text), as_json=as_json):
            raise typer.Exit(1)


def _given(text: str | None) -> str:
    said = sys.stdin.read() if text is None else text
    if not said.strip():
        raise typer.BadParameter("nothing was said: give a text, or put one into the pipe")
    return said


def _say_once(talk: Talk, text: str, *, as_json: bool) -> bool:
    """Whether there was an answer."""
    live = sys.stdout.isatty() and not as_json
    turn = talk.say(text, Live(out()) if live else Silent())
    if as_json:
        say_json(
            {"conversationId": talk.conversation} | {name: turn[name] for name in turn if name not in {"seq", "at"}}
        )
    elif not live and answer_in(turn):
        sys.stdout.write(f"{answer_in(turn)}\n")  # to the letter, with its tabs
    _regret(turn)
    return turn.get("status") not in {"failed", "cancelled"}


def _regret(turn: dict[str, Any]) -> None:
    if turn.get("status") in {"failed", "cancelled"}:
        complain(turn.get("sentence") or f"The turn has {turn.get('status')}.")


def _converse(talk: Talk) -> None:
    say((f"Talking with {talk.agent}. ", "bold"), (HELP, "dim"))
    while (line := _read()) is not None:
        if not line.strip():
            continue
        try:
            if line.startswith("/"):
                if not obey(talk, line):
                    break
            else:
                _regret(talk.say(line, Live(out())))
        except Declined as declined:
            complain(str(declined))
    if talk.conversation is not None:
        say((f"Go on with: preceptor chat --conversation {talk.conversation}", "dim"))


def _read() -> str | None:
    """The next line that is typed; None when there will be no more."""
    with suppress(ImportError):
        import_module("readline")  # by being there it gives arrows and a history
    try:
        return input("> ")
    except (EOFError, KeyboardInterrupt):
        sys.stdout.write("\n")
        return None
