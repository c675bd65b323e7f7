"""Effective instructions as one system prompt: the same input gives the same bytes."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

import msgspec

from preceptor.domain.instructions.content import Example, Step
from preceptor.domain.instructions.documents import HEADING, block_text
from preceptor.domain.instructions.effective import Effective, Source

HEADINGS = {
    "/tone": "## Style",
    "/guidelines": "## Guidelines",
    "/suggestions": "## Suggestions",
    "/doList": "## Do",
    "/dontList": "## Do not",
    "/steps": "## Steps",
    "/examples": "## Examples",
    "/documents": HEADING,
    "/constraints": "## Constraints (these always apply)",
}
"""In the order in which they stand. Hard constraints come last, where nothing that is added can talk over them."""
_INDENT = "  "
_NEWLINE = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


class RenderedLine(NamedTuple):
    """A line of the prompt and what it is there for. A heading has the sources of all that stands under it."""

    text: str
    path: str
    sources: tuple[Source, ...]


class Rendered(msgspec.Struct, frozen=True):
    prompt: str
    hash: str
    lines: tuple[RenderedLine, ...]


class _Block(NamedTuple):
    """What is rendered for one item; `path` is where the item is, `part` which of the sources of that path it has."""

    path: str
    text: str
    part: int | None = None

    def sources(self, said: Mapping[str, list[Source]]) -> tuple[Source, ...]:
        found = said.get(self.path, [])
        return tuple(found if self.part is None else found[self.part : self.part + 1])


class _Section(NamedTuple):
    path: str
    heading: str | None
    blocks: tuple[_Block, ...]


def render(effective: Effective) -> Rendered:
    """The locked constraints are the very last."""
    said: dict[str, list[Source]] = {}
    for source in effective.sources:
        said.setdefault(source.path, []).append(source)
    lines: list[RenderedLine] = []
    for section in _sections(effective):
        told = [(block, block.sources(said)) for block in section.blocks]
        under = tuple(chain.from_iterable(sources for _, sources in told))
        frame = [""] * bool(lines) + [section.heading] * (section.heading is not None)
        lines += [RenderedLine(text or "", section.path, under) for text in frame]
        for block, sources in told:
            lines += [RenderedLine(text, block.path, sources) for text in block.text.split("\n")]
    prompt = "\n".join(line.text for line in lines)
    return Rendered(prompt, hash_of(prompt), tuple(lines))


def hash_of(prompt: str) -> str:
    return hashlib.sha256(prompt.encode()).hexdigest()


def _sections(effective: Effective) -> Iterator[_Section]:
    if effective.prompts:
        yield _Section("/systemPrompt", None, tuple(_prompts(effective)))
    style = {"tone": effective.tone, "language": effective.language, "formality": effective.formality}
    written = {
        "/tone": tuple(_Block(f"/{name}", f"- {name.title()}: {value}") for name, value in style.items() if value),
        "/guidelines": _bullets("/guidelines", effective.guidelines),
        "/suggestions": _bullets("/suggestions", effective.suggestions),
        "/doList": _bullets("/doList", effective.do_list),
        "/dontList": _bullets("/dontList", effective.dont_list),
        "/steps": _blocks("/steps", map(_step, effective.steps)),
        "/examples": _blocks("/examples", map(_example, effective.examples)),
        "/documents": _blocks("/documents", map(block_text, effective.documents)),
        "/constraints": _bullets("/constraints", effective.constraints),
    }
    for path, heading in HEADINGS.items():
        if blocks := written[path]:
            yield _Section(path, heading, blocks)


def _prompts(effective: Effective) -> Iterator[_Block]:
    for part, text in enumerate(effective.prompts):
        yield _Block("/systemPrompt", f"\n{text}" if part else text, part)


def _bullets(path: str, items: Iterable[str]) -> tuple[_Block, ...]:
    return _blocks(path, (item_text("- ", item) for item in items))


def _blocks(path: str, texts: Iterable[str]) -> tuple[_Block, ...]:
    return tuple(_Block(f"{path}/{place}", text) for place, text in enumerate(texts))


def item_text(mark: str, text: str) -> str:
    """Further lines of an item are set in, so that no item can pass for a heading or for another item."""
    return mark + _NEWLINE.sub(f"\n{_INDENT}", text)


def step_text(number: int, name: str, description: str, optional: bool) -> str:
    said = f"{name}: {description}" if description else name
    return item_text(f"{number}. ", f"{said} (optional)" if optional else said)


def example_text(said: str, answer: str, explanation: str | None) -> str:
    parts = [f"Input: {said}", f"Answer: {answer}"]
    if explanation:
        parts.append(f"Why: {explanation}")
    return item_text("- ", "\n".join(parts))


def _step(step: Step) -> str:
    return step_text(step.order, step.name, step.description, step.optional)


def _example(example: Example) -> str:
    return example_text(example.input, example.expected_output, example.explanation)
