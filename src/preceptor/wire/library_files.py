"""A bundle as files: one of JSON, one of YAML, or a folder of Markdown files. What is written is read back the same."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from preceptor.domain.errors import Invalid, TooLarge
from preceptor.domain.instructions.bundle import LARGEST, Bundle, BundledInstruction
from preceptor.domain.instructions.documents import handle_of
from preceptor.domain.instructions.folding import folded
from preceptor.wire import markdown, strict_json, strict_yaml
from preceptor.wire.markdown import BadFile

ASSIGNMENTS = "assignments.yaml"
VERSIONS = "versions"
_LONGEST_NAME = 60
_NOT_A_FILE = frozenset(
    {"con", "prn", "aux", "nul", "readme", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)
"""Names that mean something else: to Windows, and to people."""


class BundleTooLarge(TooLarge):
    def __str__(self) -> str:
        return f"A library of more than {self.limit} bytes is not read. Split it, or leave old versions out."


def to_json(bundle: Bundle) -> str:
    return json.dumps(plain(bundle), ensure_ascii=False, indent=2) + "\n"


def from_json(raw: bytes, file: str = "the bundle") -> Bundle:
    _require_size(len(raw))
    return _bundle(file, strict_json.read(raw))


def to_yaml(bundle: Bundle) -> str:
    return strict_yaml.written(plain(bundle))


def from_yaml(raw: bytes, file: str = "the bundle") -> Bundle:
    _require_size(len(raw))
    return _bundle(file, _yaml(file, _text(file, raw)))


def to_files(bundle: Bundle, names: Mapping[str, str] | None = None, others: Iterable[str] = ()) -> dict[str, str]:
    """Texts by path. `names` are paths that instructions have already, by familyId; others get one after their name,
    which is none of the `others`, nor one that a disk might take for one of them.

    The newest version of each instruction has a file of its own; older ones are below `versions`.
    """
    files: dict[str, str] = {}
    taken = {folded(path) for path in (*(names or {}).values(), *others)}
    for one in bundle.instructions:
        path = (names or {}).get(one.family_id or "") or _free(one, taken)
        taken.add(folded(path))
        said = one.model_dump(mode="json", exclude_defaults=True)
        about = {name: said[name] for name in ("familyId", "labels") if name in said}
        *older, newest = said["versions"]
        files[path] = markdown.write(newest | about | {"status": newest.get("status", "active")})
        for version in older:
            files[f"{VERSIONS}/{path.removesuffix('.md')}/{version['version']}.md"] = markdown.write(version)
    if bundle.assignments:
        given = [one.model_dump(mode="json", exclude_defaults=True) for one in bundle.assignments]
        files[ASSIGNMENTS] = strict_yaml.written(given)
    return files


def from_files(files: Mapping[str, bytes]) -> Bundle:
    """A folder as one bundle. Markdown without front matter, such as a README, is nobody's instruction."""
    _require_size(sum(map(len, files.values())))
    texts = {path: _text(path, raw) for path, raw in files.items()}
    read = {path: markdown.read(path, text) for path, text in texts.items() if is_instruction(path, text)}
    main = {path: said for path, said in read.items() if not path.startswith(f"{VERSIONS}/")}
    instructions = [_instruction(path, said, _older(path, read)) for path, said in sorted(main.items())]
    given: object = _yaml(ASSIGNMENTS, texts[ASSIGNMENTS]) if ASSIGNMENTS in texts else ()
    return _bundle("the folder", {"format": "preceptor-library", "instructions": instructions, "assignments": given})


def is_instruction(path: str, text: str) -> bool:
    return path.endswith(".md") and markdown.has_front_matter(text)


def plain(bundle: Bundle) -> dict[str, Any]:
    """Without what is as usual."""
    told = bundle.model_dump(mode="json", exclude_defaults=True)
    return {"format": bundle.format, "formatVersion": bundle.format_version, "instructions": [], **told}


def _instruction(path: str, said: dict[str, Any], older: list[dict[str, Any]]) -> dict[str, Any]:
    about = {name: said.pop(name) for name in ("familyId", "labels") if name in said}
    instruction = {**about, "versions": [*older, said]}
    _checked(
        path, lambda: BundledInstruction.model_validate_json(_dumped(path, instruction), strict=True, by_name=False)
    )
    return instruction


def _older(path: str, read: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    folder = f"{VERSIONS}/{path.removesuffix('.md')}"
    found = [said for other, said in read.items() if other.rpartition("/")[0] == folder]
    return sorted(found, key=_number)


def _number(said: Mapping[str, Any]) -> list[int]:
    return [int(part) for part in str(said.get("version", "")).split(".") if part.isdecimal()]


def _free(one: BundledInstruction, taken: set[str]) -> str:
    """A file name that no file system misunderstands: many do not tell upper from lower case."""
    handle = handle_of(one.newest.name)[:_LONGEST_NAME].strip("-")
    name = handle if handle and handle not in _NOT_A_FILE else f"instruction-{handle}".strip("-")
    return next(path for path in _numbered(name) if folded(path) not in taken)


def _numbered(name: str) -> Iterator[str]:
    yield f"{name}.md"
    count = 2
    while True:
        yield f"{name}-{count}.md"
        count += 1


def _bundle(file: str, said: object) -> Bundle:
    return _checked(file, lambda: Bundle.model_validate_json(_dumped(file, said), strict=True, by_name=False))


def _yaml(file: str, text: str) -> object:
    try:
        return strict_yaml.read(text)
    except strict_yaml.NotYaml as error:
        raise BadFile(file=file, problem=str(error)) from None


def _dumped(file: str, said: object) -> str:
    try:
        return json.dumps(said, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BadFile(file=file, problem=str(error)) from None


def _checked(file: str, make: Any) -> Any:
    try:
        return make()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadFile(file=file, problem=f"{where}: {first['msg']}" if where else first["msg"]) from None
    except Invalid as error:
        raise BadFile(file=file, problem=str(error)) from None


def _text(file: str, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(file=file, problem=f"it is not UTF-8 (byte {error.start})") from None


def _require_size(size: int) -> None:
    if size > LARGEST:
        raise BundleTooLarge(LARGEST)
