"""Assembling a prompt: system, history, the running turn, the closing words; always in this order."""

from collections.abc import Iterable, Sequence

from preceptor.domain.history.proof import Proof
from preceptor.domain.ids import TurnId
from preceptor.domain.messages.message import Kind, Message, Role
from preceptor.domain.prompts.placed import Placed, analysed, as_shown
from preceptor.domain.prompts.prompt import Prompt, Segment, ToolSpec
from preceptor.domain.prompts.source import FromEngine
from preceptor.domain.prompts.spelled import Spelled, Write

GO_ON = Segment(text="Go on.", source=FromEngine("go_on"), tokens=3)
"""A request may not end with words of the assistant: providers stop early there, or refuse."""
_PLAN = Kind.SYNTHETIC_PLAN


class Passage:
    """What was said, as the calls of one turn are shown it. It grows with the turn; nothing is gone through twice."""

    __slots__ = ("_analyses", "_spelled", "elsewhere", "proof", "runs", "said", "shown", "tokens", "turn_id")

    def __init__(self, said: Sequence[Placed] = (), turn_id: TurnId | None = None, analyses: int = 1) -> None:
        self.turn_id = turn_id
        """The turn whose calls they are."""
        self.said: list[Placed] = []
        self.shown: list[Placed] = []
        self.tokens = 0
        self.runs: list[tuple[int, int]] = []
        """Numbers of messages that follow each other, as first and last: a long history is a short record."""
        self.elsewhere: list[tuple[int, Message]] = []
        """Those that have no number, with where they stand in the passage."""
        self.proof = Proof()
        """That all of it may be shown, as far as it was looked at."""
        self._analyses = analysed(said, turn_id, analyses)
        self._spelled: dict[str, Spelled] = {}
        self.go_on(said)

    def __len__(self) -> int:
        return len(self.shown)

    def go_on(self, said: Iterable[Placed]) -> None:
        new = list(said)
        shown = [
            as_shown(each, self.turn_id, self._analyses) if each.withheld or each.message.kind is _PLAN else each
            for each in new
        ]
        self._number(new)
        self.tokens += sum([each.message.tokens for each in shown])
        self.shown += shown
        self.said += new

    def _number(self, new: Sequence[Placed]) -> None:
        """Take down which these are. As a rule each follows the one before."""
        places = [each.place for each in new]
        if places and places[0] and places == list(range(places[0], places[0] + len(places))):
            self._run(places[0], places[-1])
            return
        for at, each in enumerate(new, len(self.shown)):
            if each.place:
                self._run(each.place, each.place)
            else:
                self.elsewhere.append((at, each.message))

    def _run(self, first: int, last: int) -> None:
        runs = self.runs
        if runs and runs[-1][1] + 1 == first:
            first = runs.pop()[0]
        runs.append((first, last))

    def spelled(self, form: str, write: Write) -> Spelled:
        """What a format makes of it, made once: it is sent again with everything that follows it."""
        known = self._spelled.get(form)
        if known is None:
            known = self._spelled[form] = Spelled()
        return known.go_on(self.shown, form, write)


def assemble(
    system: tuple[Segment, ...],
    said: Passage,
    tail: tuple[Segment, ...],
    tools: tuple[ToolSpec, ...],
    *,
    overhead: int,
) -> Prompt:
    """`overhead` is what the format costs for each message."""
    shown = said.shown
    if not tail and (not shown or shown[-1].message.role is Role.ASSISTANT):
        tail = (GO_ON,)
    messages = len(shown) + bool(system) + bool(tail)
    prompt = Prompt(system=system, shown=tuple(shown), tail=tail, tools=tools, overhead=overhead * messages)
    return prompt.know(said.tokens, said.spelled)
