"""What is said in a turn, and what each step of telling it changes on a page."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from preceptor.domain.delegation import CONTROL_TOOLS
from preceptor.domain.messages.message import Attachment, Message
from preceptor.domain.messages.message import Text as Said
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.markdown import whole_until

LEVELS = (msg("Safe"), msg("Controversial"), msg("Unsafe"))
"""What a guardian finds."""


EMPTY_LINE = re.compile(r"\n[ \t\r]*\n")


class Question(msgspec.Struct, frozen=True):
    """What someone said, apart from what stands in the files they sent with it."""

    id: str
    text: str
    files: tuple[Attachment, ...] = ()


class ToolUse(msgspec.Struct):
    name: str
    arguments: str
    result: str | None = None
    is_error: bool = False


class Step(msgspec.Struct):
    """Something that was said, whole or as far as it has come."""

    message_id: str
    span_id: str | None = None
    text: str = ""
    whole: bool = False
    broken: bool = False
    """It will not be completed, and no model is shown it."""
    intermediate: bool = False
    tokens: int = 0
    weight: int = 0
    """The tokens that are freed with it: its own, and those of what its tools answered."""
    tools: dict[str, ToolUse] = {}
    answers: list[str] = []
    """The messages in which its calls were answered: they are shown with it."""
    call_id: str | None = None
    stands_for: int = 0
    """How many messages it stands for."""
    settled: int = 0
    """How much of a text that is still written is shown as it will be; the rest is shown as it is written."""
    looked_for: int = 0
    """How long the rest must be before whole blocks are looked for again: a list can go on for very long."""
    kind: str = "step"

    @property
    def rest(self) -> str:
        return self.text[self.settled :]

    def hear(self, text: str) -> "Block | None":
        """Go on with the text. Answers with the blocks that have become whole, if any: they end with an empty line."""
        self.text += text
        before = self.settled
        if "\n" in text and len(self.text) - before >= self.looked_for and EMPTY_LINE.search(self.text, before):
            self.settled += whole_until(self.rest)
            self.looked_for = len(self.rest) * 9 // 8
        if self.settled == before:
            return None
        return Block(f"s-{self.message_id}-{before}", self.text[before : self.settled])

    @property
    def visible(self) -> bool:
        return bool(self.text.strip() or self.tools) or not self.whole


class Block(msgspec.Struct, frozen=True):
    """A part of a text that is whole while the rest is written."""

    id: str
    text: str


class Group(msgspec.Struct):
    """A delegation, and what was said in it."""

    span_id: str
    reason: str | None = None
    asked: str | None = None
    parent: str | None = None
    items: "list[Step | Group]" = []
    closed: bool = False
    carried: bool = False
    """It hears the next message first."""
    tokens: int = 0
    """What its calls took."""
    weight: int = 0
    """What everything that was said in it takes in the context."""
    why: str | None = None
    hidden: int = 0
    kind: str = "group"

    @property
    def steps(self) -> list[Step]:
        """What is in it and in those within it."""
        return [step for step in steps_in(self.items) if step.visible]

    @property
    def tool_names(self) -> list[str]:
        return list(dict.fromkeys(tool.name for step in self.steps for tool in step.tools.values()))


class Put(msgspec.Struct, frozen=True):
    """Show a part: in the place of what has its id, or at the end of `into`."""

    part: str
    id: str
    into: str
    shown: Any


class Text(msgspec.Struct, frozen=True):
    id: str
    text: str


class Fold(msgspec.Struct, frozen=True):
    id: str
    shown: "Group"


class Drop(msgspec.Struct, frozen=True):
    id: str


Change = Put | Text | Fold | Drop


def question_of(message: Message) -> Question:
    files = [part for part in message.parts if isinstance(part, Attachment)]
    own = [
        part.text
        for before, part in zip((None, *message.parts), message.parts, strict=False)
        if isinstance(part, Said) and not isinstance(before, Attachment)
    ]
    return Question(message.id, "".join(own), tuple(files))


def completed(step: Step, message: Message) -> Step:
    step.text, step.whole = message.text, True
    step.tokens = step.weight = message.tokens
    step.intermediate = message.is_intermediate
    step.call_id = message.call_id
    step.stands_for = len(message.sources)
    step.tools = {
        call.id: ToolUse(call.name, call.malformed or msgspec.json.encode(call.arguments).decode())
        for call in message.tool_calls
        if call.name not in CONTROL_TOOLS
    }
    return step


def steps_in(items: Sequence[Step | Group]) -> Iterator[Step]:
    for item in items:
        if isinstance(item, Step):
            yield item
        else:
            yield from steps_in(item.items)
