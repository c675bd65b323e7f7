"""YAML as plain data. What it can do beyond JSON is refused: anchors, aliases, tags, dates, and words that mean truth.

`no` is a country, and 2026-01-01 is text: only true and false are truths, and only numbers are numbers.
"""

import re
from typing import Any, ClassVar, cast

import yaml

from preceptor.domain.errors import Malformed

DEEPEST = 32
_FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FAST_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class NotYaml(Malformed):
    line: int = 1
    problem: str = ""

    def __str__(self) -> str:
        return f"The YAML cannot be read at line {self.line}: {self.problem}. Correct it there."


class _Loader(_FAST):
    """Reads scalars as JSON would, and texts where JSON has nothing to say."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        built: Any = super()
        keys: list[Any] = [self.construct_object(key, deep=True) for key, _ in node.value]
        line = node.start_mark.line + 1
        if unnamed := [key for key in keys if not isinstance(key, str)]:
            raise NotYaml(line, f"the key {unnamed[0]!r} is not text; put it in quotes")
        if len(keys) != len(set(keys)):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise NotYaml(line, f"the key {twice!r} occurs twice")
        return built.construct_mapping(node, deep)

    def flatten_mapping(self, node: Any) -> None:
        """`<<` is a key like any other."""


class _Dumper(_FAST_DUMPER):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - its shape
        return True


_NOT_TEXT = (
    ("bool", r"^(?:true|false)$", "tf"),
    ("null", r"^(?:null|~|)$", ["n", "~", ""]),
    ("int", r"^-?(?:0|[1-9][0-9]*)$", "-0123456789"),
    ("float", r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)$", "-0123456789"),
)
for _name, _pattern, _begins in _NOT_TEXT:
    for _side in (_Loader, _Dumper):
        _side.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(_pattern), list(_begins))


def read(text: str) -> object:
    """One document of mappings with text keys, lists, texts, numbers, truths and null."""
    try:
        _refuse_cleverness(text)
        return cast("object", yaml.load(text, Loader=_Loader))  # noqa: S506 - a SafeLoader with less in it
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise NotYaml(line, error.problem or "it is not YAML") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise NotYaml(1, " ".join(str(error).split())[:200] or "it is not YAML") from None


def written(value: object) -> str:
    """The same text for the same value, in the order given, with long texts on one line and nothing escaped in vain."""
    return yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=1_000_000)


def _refuse_cleverness(text: str) -> None:
    """Before anything is built: an alias can make a small text huge, and a tag can name a type."""
    depth = documents = 0
    reader: Any = yaml
    for event in reader.parse(text, Loader=_FAST):
        line = event.start_mark.line + 1
        documents += isinstance(event, yaml.DocumentStartEvent)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise NotYaml(line, "anchors and aliases (& and *) are not read; write the value out, or quote the text")
        if getattr(event, "tag", None):
            raise NotYaml(line, "tags (!) are not read; leave them out, or quote the text")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST or documents > 1:
            raise NotYaml(
                line, f"it is nested more than {DEEPEST} levels deep" if documents < 2 else "a second document"
            )
