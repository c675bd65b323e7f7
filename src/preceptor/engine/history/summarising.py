"""Summarising: what a model is shown that is to write a summary, alone and without tools, and what it wrote."""

from collections.abc import Sequence

import msgspec

from preceptor.domain.history.summary import quotation
from preceptor.domain.ids import CallId
from preceptor.domain.messages.message import texts
from preceptor.domain.prompts.assemble import Passage, assemble
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.prompts.prompt import Ask, Prompt, Request, Segment
from preceptor.domain.prompts.reply import Finish, Reply
from preceptor.domain.prompts.source import AnySource, FromEngine, FromMessage
from preceptor.domain.turns.calls import Call
from preceptor.domain.turns.turn import SUMMARY
from preceptor.engine.ports import ChatModel, TokenCounter
from preceptor.engine.telling.voice import Kept, keep


class SummaryCall(msgspec.Struct, frozen=True):
    """A call that is ready to be noted, and then sent."""

    call: Call
    request: Request
    kept: Kept


def summary_prompt(
    template: str, instruction: str, said: Sequence[Placed], model: ChatModel, counter: TokenCounter
) -> Prompt:
    """The instruction, and the messages as one quotation."""

    def segment(text: str, source: AnySource) -> Segment:
        return Segment(text=text, source=source, tokens=counter.count(text))

    frame = FromEngine("transcript")
    transcript = (
        segment("<transcript>", frame),
        *(
            segment(quotation(number, each.message), FromMessage(each.message.id, each.place))
            for number, each in enumerate(said, 1)
        ),
        segment("</transcript>", frame),
    )
    system = (segment(instruction, FromEngine(f"template {template}")),)
    return assemble(system, Passage(), transcript, (), overhead=model.capabilities.message_overhead)


def summary_call(call_id: CallId, prompt: Prompt, model: ChatModel, attempt: int = 1) -> SummaryCall:
    asked = Ask(model=model.name)
    request, kept = model.render(prompt, asked), keep(prompt.system)
    call = Call(
        call_id=call_id,
        purpose=SUMMARY,
        model=model.name,
        attempt=attempt,
        tokens=prompt.tokens,
        format=request.format,
        sha256=request.sha256,
        ask=asked,
        system=kept.sha256,
        shown=(),
        tail=prompt.tail,
        overhead=prompt.overhead,
    )
    return SummaryCall(call, request, kept)


def written_in(reply: Reply) -> str:
    return texts(reply.parts).strip()


def fault_in(reply: Reply) -> str | None:
    """Why it is no summary, if it is none."""
    if not written_in(reply):
        return "it said nothing"
    return {Finish.LENGTH: "its answer was cut off", Finish.CONTENT_FILTER: "its answer was withheld"}.get(reply.finish)
