"""What the commands on instructions share: finding one by what people call it, and reading one from a file."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

from preceptor.domain.errors import Conflict, Invalid, NotFound
from preceptor.surfaces.cli.connection import Api, Declined, path_to

PATH = "/api/instructions"
path_of = partial(path_to, PATH)
ELSEWHERE = ("familyId", "version", "labels")
"""What a file says about where it belongs, and not about what is said."""


class Unreadable(Invalid):
    code: ClassVar[str] = "invalid"
    file: str = ""
    why: str = ""

    def __str__(self) -> str:
        return f"{self.file} cannot be read ({self.why})."


class Unwritable(Unreadable):
    def __str__(self) -> str:
        return f"{self.file} cannot be written ({self.why})."


def find(api: Api, given: str) -> dict[str, Any]:
    """An instruction by its id, by a version's id, or by its name in any spelling."""
    try:
        return api.get(path_of(given))
    except Declined as declined:
        if declined.status != 404:
            raise
    alike = list(_called(api, given))
    if len(alike) == 1:
        return alike[0]
    if not alike:
        raise NotFound("instruction", given)
    ids = ", ".join(one["familyId"] for one in alike)
    raise Conflict(f"{len(alike)} instructions are called {given!r}. Name one by its id: {ids}.")


def _called(api: Api, given: str) -> Iterator[dict[str, Any]]:
    from preceptor.domain.instructions.documents import handle_of

    wanted = handle_of(given)
    return (one for one in api.items(PATH) if wanted and handle_of(one["name"]) == wanted)


def find_version(api: Api, instruction: dict[str, Any], given: str) -> dict[str, Any]:
    """A version by its number or its id."""
    for version in api.items(path_of(instruction["familyId"], "versions")):
        if given in (version["version"], version["instructionId"]):
            return version
    raise NotFound("version", given)


def as_file(instruction: dict[str, Any]) -> str:
    """An instruction as the file that `pull` would write."""
    from preceptor.domain.instructions.bundle import BundledVersion
    from preceptor.wire import markdown

    fields = {name: instruction[name] for name in _alias(BundledVersion) if name in instruction}
    said = BundledVersion.model_validate(fields).model_dump(mode="json", exclude_defaults=True)
    return markdown.write(said | {"familyId": instruction["familyId"], "status": fields["status"]})


def _alias(kind: Any) -> list[str]:
    return [field.alias or name for name, field in kind.model_fields.items()]


def read_file(name: str) -> dict[str, Any]:
    """An instruction from a file of Markdown, YAML or JSON; `-` is standard input."""
    from preceptor.wire import markdown, strict_json, strict_yaml

    raw = sys.stdin.buffer.read() if name == "-" else read_bytes(Path(name))
    text = decoded(name, raw)
    if name.endswith(".md") or markdown.has_front_matter(text):
        said: object = markdown.read(name, text)
    elif name.endswith((".yaml", ".yml")):
        said = strict_yaml.read(text)
    else:
        said = strict_json.read(raw)
    if not isinstance(said, dict):
        raise Unreadable(file=name, why="it holds no instruction")
    return {str(key): value for key, value in cast("dict[Any, Any]", said).items() if key not in ELSEWHERE}


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(file=str(path), why=error.strerror or type(error).__name__) from None


def decoded(name: str, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(file=name, why="it is not UTF-8") from None


def settings_of(pairs: list[str]) -> dict[str, Any]:
    """`name=value` as people type it: a number is a number, true is true, and the rest is text."""
    told: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            import typer

            raise typer.BadParameter(f"{pair!r} is not NAME=VALUE")
        told[name] = _typed(value)
    return told


def _typed(value: str) -> Any:
    from preceptor.wire import strict_yaml

    try:
        read = strict_yaml.read(value)
    except strict_yaml.NotYaml:
        return value
    return read if isinstance(read, bool | int | float) else value
