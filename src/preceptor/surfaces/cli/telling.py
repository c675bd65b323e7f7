"""What a terminal shows of a turn while it goes on: the answer as it is said, the work behind it folded to a line."""

import re
from typing import Any, Protocol

import msgspec
from rich.console import Console
from rich.text import Text

ENDINGS = frozenset({"turn.completed", "turn.blocked", "turn.clarify", "turn.failed", "turn.cancelled"})
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """Without what would steer the terminal: a model says what it likes."""
    return _CONTROL.sub("", text)


class Teller(Protocol):
    turn: dict[str, Any]
    """What came of it."""

    def hear(self, event: str, data: dict[str, Any]) -> None: ...


class Silent(msgspec.Struct):
    """Shows nothing, and knows the end: for pipes and scripts."""

    turn: dict[str, Any] = {}

    def hear(self, event: str, data: dict[str, Any]) -> None:
        if event in ENDINGS:
            self.turn = data


class Live(msgspec.Struct):
    console: Console
    turn: dict[str, Any] = {}
    _said: str = ""
    """What was shown of the main agent's last message."""
    _spans: dict[str, str | None] = {}
    """Messages that are being said, and the delegations they are said in."""
    _steps: int = 0
    _line_is_open: bool = False

    def hear(self, event: str, data: dict[str, Any]) -> None:
        match event:
            case "plan.ready" if understood := data.get("userIntent"):
                self._note(f"Understood: {understood}")
            case "message.started":
                self._spans[data["messageId"]] = data.get("spanId")
                self._said = "" if data.get("spanId") is None else self._said
            case "message.delta" if self._spans.get(data["messageId"]) is None:
                self._say(data["text"])
            case "message.completed" if data.get("spanId"):
                self._steps += 1
            case "message.abandoned" if self._line_is_open:
                self._note("(it broke off; it is asked again)")
            case "tool.started" if not data.get("spanId"):
                self._note(f"· {data['name']}")
            case "delegation.opened" if data["depth"] == 1:
                self._steps = 0
                self._note(f"▸ a specialist works{': ' + data['reason'] if data.get('reason') else ''}")
            case "delegation.closed" if data["depth"] == 1:
                self._note(f"◂ done, after {self._steps} steps")
            case _ if event in ENDINGS:
                self._end(data)
            case _:
                pass

    def _end(self, turn: dict[str, Any]) -> None:
        self.turn = turn
        response = answer_in(turn)
        if response and response.strip() != harmless(self._said).strip():
            self._break()
            self._say(response)
        self._break()

    def _say(self, text: str) -> None:
        self._said += text
        self._line_is_open = True
        self.console.print(Text(harmless(text)), end="", soft_wrap=True)

    def _note(self, line: str) -> None:
        self._break()
        self.console.print(Text(harmless(line), style="dim"), soft_wrap=True)

    def _break(self) -> None:
        if self._line_is_open:
            self._line_is_open = False
            self.console.print()


def answer_in(turn: dict[str, Any]) -> str:
    """What the user is told."""
    told: dict[str, Any] = turn.get("ui") or {}
    return harmless(str(told.get("response", "")))
