"""Keys of others, on their way in: typed where nobody sees it, piped in, or from the environment. Never an argument."""

import os
import sys
from typing import Annotated

import typer

KeyEnv = Annotated[
    str | None, typer.Option("--key-env", metavar="NAME", help="The key is in this environment variable.")
]
KeyStdin = Annotated[bool, typer.Option("--key-stdin", help="The key is the first line of standard input.")]
NoKey = Annotated[bool, typer.Option("--no-key", help="There is none, so do not ask for it.")]


def read_key(env: str | None, *, stdin: bool, none: bool) -> dict[str, str]:
    """The field that carries the key; nothing if there is none. Without an option, whoever sits there is asked."""
    if sum((env is not None, stdin, none)) > 1:
        raise typer.BadParameter("give one of --key-env, --key-stdin and --no-key")
    if env is not None:
        if not (key := os.environ.get(env, "").strip()):
            raise typer.BadParameter(f"the environment variable {env} is not set", param_hint="--key-env")
        return {"apiKey": key}
    if stdin:
        if not (key := sys.stdin.readline().strip()):
            raise typer.BadParameter("standard input has no line with a key", param_hint="--key-stdin")
        return {"apiKey": key}
    if none or not sys.stdin.isatty():
        return {}
    key = str(typer.prompt("Key (it is not shown; leave it empty for none)", hide_input=True, default="", err=True))
    return {"apiKey": key.strip()} if key.strip() else {}
