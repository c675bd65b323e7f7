"""Effective instructions as one system prompt: the same input gives the same bytes."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from preceptor.domain.instructions.content import Example, Step
from preceptor.domain.instructions.documents import HEADING, block_text
from preceptor.domain.instructions.effective import Effective, Source

_INDENT = "  "
_NEWLINE = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


class RenderedLine(NamedTuple):
    """A line of the prompt and what it is there for. A heading has the sources of all that stands under it."""

    text: str
    path: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Rendered:
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
    """Hard constraints come last, where nothing that is added can talk over them; the locked ones are the very last."""
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
    return Rendered(prompt, hashlib.sha256(prompt.encode()).hexdigest(), tuple(lines))


def _sections(effective: Effective) -> Iterator[_Section]:
    style = {"tone": effective.tone, "language": effective.language, "formality": effective.formality}
    sections = (
        _Section("/systemPrompt", None, tuple(_prompts(effective))),
        _Section("/tone", "## Style", tuple(_Block(f"/{k}", f"- {k.title()}: {v}") for k, v in style.items() if v)),
        _bullets("/guidelines", "## Guidelines", effective.guidelines),
        _bullets("/suggestions", "## Suggestions", effective.suggestions),
        _bullets("/doList", "## Do", effective.do_list),
        _bullets("/dontList", "## Do not", effective.dont_list),
        _Section("/steps", "## Steps", tuple(_Block(f"/steps/{n}", _step(s)) for n, s in enumerate(effective.steps))),
        _Section(
            "/examples",
            "## Examples",
            tuple(_Block(f"/examples/{n}", _example(example)) for n, example in enumerate(effective.examples)),
        ),
        _Section(
            "/documents",
            HEADING,
            tuple(_Block(f"/documents/{n}", block_text(document)) for n, document in enumerate(effective.documents)),
        ),
        _bullets("/constraints", "## Constraints (these always apply)", effective.constraints),
    )
    return (section for section in sections if section.blocks)


def _prompts(effective: Effective) -> Iterator[_Block]:
    for part, text in enumerate(effective.prompts):
        yield _Block("/systemPrompt", f"\n{text}" if part else text, part)


def _bullets(path: str, heading: str, items: tuple[str, ...]) -> _Section:
    return _Section(path, heading, tuple(_Block(f"{path}/{n}", item_text("- ", item)) for n, item in enumerate(items)))


def item_text(mark: str, text: str) -> str:
    """Further lines of an item are set in, so that no item can pass for a heading or for another item."""
    return mark + _NEWLINE.sub(f"\n{_INDENT}", text)


def _step(step: Step) -> str:
    said = f"{step.name}: {step.description}" if step.description else step.name
    return item_text(f"{step.order}. ", f"{said} (optional)" if step.optional else said)


def _example(example: Example) -> str:
    parts = [f"Input: {example.input}", f"Answer: {example.expected_output}"]
    if example.explanation:
        parts.append(f"Why: {example.explanation}")
    return item_text("- ", "\n".join(parts))
