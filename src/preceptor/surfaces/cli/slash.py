"""What can be done in a conversation at the terminal, besides talking."""

from collections.abc import Callable
from typing import Any

from preceptor.surfaces.cli.connection import path_to
from preceptor.surfaces.cli.console import complain, say, say_table
from preceptor.surfaces.cli.talk import Talk
from preceptor.surfaces.cli.telling import harmless

HELP = "/help for more, Ctrl-D to leave."
SHOWN = 60


def obey(talk: Talk, line: str) -> bool:
    """Do what a line with a slash says. False when it is to leave."""
    word, _, rest = line.strip().partition(" ")
    if word in {"/quit", "/exit", "/q"}:
        return False
    command = COMMANDS.get(word)
    if command is None:
        complain(f"{word} is not known here. There are {', '.join(COMMANDS)} and /quit.")
    else:
        command[0](talk, rest.strip())
    return True


def _help(_: Talk, __: str) -> None:
    for word, (___, does) in COMMANDS.items():
        say((f"  {word:<10}", "bold"), does)
    say(("  /quit     ", "bold"), "leave; so does Ctrl-D")


def _agent(talk: Talk, name: str) -> None:
    if name:
        found = talk.api.get(path_to("/api/agents", name))
        talk.agent, talk.conversation, talk.last = found["agentId"], None, None
    say((f"Talking with {talk.agent}.", "bold"))


def _new(talk: Talk, _: str) -> None:
    talk.conversation = talk.last = None
    say(("A new conversation.", "dim"))


def _context(talk: Talk, _: str) -> None:
    message = (talk.last or {}).get("message")
    if not message:
        complain("There is no answer yet whose context could be shown.")
        return
    context = talk.api.get(path_to("/api/messages", message["id"], "context"))
    rows = [_row(segment) for segment in context["segments"]]
    say_table(("role", "tokens", "from", "text"), rows)
    for left in context["leftOut"]:
        say((f"Left out: {left['what']}, because {left['why']}.", "dim"))
    intact = "as it was sent" if context["intact"] else "NOT as it was sent"
    say(f"{context['tokens']} tokens to {context['model']}, {intact}.")


def _row(segment: dict[str, Any]) -> tuple[str, ...]:
    text = " ".join(harmless(segment["text"]).split())
    begins = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    return segment["role"], str(segment["tokens"]), segment["source"]["kind"], begins


def _undo(talk: Talk, _: str) -> None:
    """Show again what was shown before the last change of the view."""
    views = talk.api.get(f"{talk.path}/views")["items"]
    parent = views[0]["parentViewId"] if views else None
    if parent is None:
        complain("Nothing of what models are shown was changed, so there is nothing to undo.")
        return
    view = talk.api.post(path_to(talk.path, "views", parent, "restore"))
    say((f"Back to {view['messages']} messages, {view['tokens']} tokens.", "dim"))


def _cleanup(talk: Talk, _: str) -> None:
    """Leave the working steps of specialists out of what models are shown."""
    before = talk.api.get(f"{talk.path}/views")["currentViewId"]
    view = talk.api.post(f"{talk.path}/compact", {"intermediate": True, "strategy": "drop"})
    if view["viewId"] == before:
        complain("Models are shown no steps of specialists, so there is nothing to clean up.")
        return
    say((f"{view['tokensFreed']} tokens freed; {view['messages']} messages are shown. /undo takes it back.", "dim"))


COMMANDS: dict[str, tuple[Callable[[Talk, str], None], str]] = {
    "/help": (_help, "this list"),
    "/agent": (_agent, "with a name: talk with another agent"),
    "/new": (_new, "begin a new conversation"),
    "/context": (_context, "what the model was shown for its last answer, and where it came from"),
    "/cleanup": (_cleanup, "leave the steps of specialists out of what models are shown"),
    "/undo": (_undo, "take the last change of what models are shown back"),
}
