"""Conversations that were held elsewhere, to be replayed here. Nothing in them was heard here, and they say so."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from preceptor.domain.messages.brought import Brought, settled
from preceptor.domain.messages.message import Role, Text
from preceptor.domain.value import AnyId, Json, Value
from preceptor.domain.value import Text as AnyText

MOST_RECORDS = 500
MOST_MESSAGES = 2_000
Format = Literal["auto", "openai", "langfuse", "langsmith"]


class NewImport(Value):
    """Records of an export, as they are in its file."""

    agent_id: AnyId = Field(default="assistant", description="The agent that takes these conversations on.")
    format: Format = "auto"
    records: Annotated[tuple[dict[AnyText, Json], ...], Field(min_length=1, max_length=MOST_RECORDS)]


class ImportedConversation(Value):
    conversation_id: str
    title: str | None
    turns: int
    messages: int


class LeftOut(Value):
    record: int
    why: str


class Imported(Value):
    """What was brought in, and what could not be."""

    format: str
    conversations: tuple[ImportedConversation, ...]
    turns: int
    left_out: tuple[LeftOut, ...]


class Exchange(NamedTuple):
    """A question and everything that was said to it."""

    question: Brought
    answers: tuple[Brought, ...]


def exchanges(said: Sequence[Brought]) -> list[Exchange]:
    """What was said as turns. A question that no one answered, and words before the first one, make none."""
    spoken = settled([one for one in said if one.role is not Role.SYSTEM])
    found: list[Exchange] = []
    asked: list[Brought] = []
    answers: list[Brought] = []
    for one in (*spoken, None):
        if one is not None and one.role is not Role.USER:
            answers.append(one)
            continue
        if asked and any(each.role is Role.ASSISTANT for each in answers):
            found.append(Exchange(_together(asked), tuple(answers)))
            asked = []
        answers = []
        asked += [] if one is None else [one]
    return found


def _together(asked: Iterable[Brought]) -> Brought:
    words = ["".join(part.text for part in one.parts if isinstance(part, Text)) for one in asked]
    return Brought(Role.USER, (Text("\n\n".join(words)),))
