"""A model that says what a script says: for tests, for demonstrations, and for nothing else."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from preceptor.adapters.tokens import counter
from preceptor.domain.errors import CannotStart
from preceptor.domain.messages.message import Text, Thinking, ToolCall
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Ask, Force, Prompt, Request
from preceptor.domain.prompts.reply import Delta, Fault, Finish, ModelFailure, ModelTimeout, Reply, Usage
from preceptor.wire.openai_chat import arguments_of, render

REMEMBERED = 1000
CAN_DO_ALL = Capabilities(forced=tuple(Force), prefill=True, images=True, plans=False, context_window=1_000_000)


class Called(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A tool call of the script. Without an id it gets one that depends on the request alone."""

    name: str
    arguments: dict[str, Any] = {}
    id: str | None = None
    malformed: str | None = None


class Say(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One reply of the script. With `chunk` its text arrives in pieces of so many characters."""

    text: str = ""
    tool_calls: tuple[Called, ...] = ()
    thinking: str = ""
    chunk: int = 0
    finish: Finish | None = None
    usage: Usage | None = None
    repeat: bool = False
    """Of the last reply: it is given again to every call that follows."""
    break_off: bool = False
    """The connection breaks after the text: the provider never says that this was all."""


class Hang(msgspec.Struct, frozen=True):
    """Nothing comes, until the deadline has passed. What had come by then is `text`."""

    text: str = ""


Line = str | Say | Reply | Hang | Exception | Mapping[str, Any]
Script = Iterable[Line] | Callable[[Prompt], Line]


@dataclass
class ScriptedModel:
    """Gives the replies of a script in order, or what a function makes of each prompt.

    `prompts` and `asks` are what it was sent, in order. A reply that is an exception is raised.
    """

    script: Script
    name: str = "scripted"
    capabilities: Capabilities = CAN_DO_ALL
    prompts: list[Prompt] = field(default_factory=list[Prompt], init=False)
    asks: list[Ask] = field(default_factory=list[Ask], init=False)
    requests: list[Request] = field(default_factory=list[Request], init=False)
    _rendered: dict[str, tuple[Prompt, Ask]] = field(default_factory=dict[str, tuple[Prompt, Ask]], init=False)
    _lines: Sequence[Line] = field(default=(), init=False)
    _spoken: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._lines = () if callable(self.script) else tuple(self.script)

    def render(self, prompt: Prompt, ask: Ask) -> Request:
        request = render(prompt, ask, prefill=self.capabilities.prefill)
        if len(self._rendered) >= REMEMBERED:
            self._rendered.pop(next(iter(self._rendered)))
        self._rendered[request.sha256] = prompt, ask
        return request

    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        prompt, ask = self._rendered[request.sha256]
        self.prompts.append(prompt)
        self.asks.append(ask)
        self.requests.append(request)
        match self._next(prompt):
            case Exception() as failure:
                raise failure
            case Hang(text=text):
                if text:
                    yield Delta(text)
                await _forever(deadline, text)
            case Reply() as reply:
                for part in reply.parts:
                    if not isinstance(part, ToolCall):
                        yield Delta(part.text, isinstance(part, Thinking))
                yield reply
            case line:
                for piece in self._spoken_by(read_line(line), request):
                    yield piece

    def _next(self, prompt: Prompt) -> Line:
        self._spoken += 1
        if callable(self.script):
            return self.script(prompt)
        if self._spoken > len(self._lines):
            last = self._lines[-1] if self._lines else None
            if isinstance(last, Say) and last.repeat:
                return last
            raise ModelFailure(
                Fault.REJECTED, f"The script has {len(self._lines)} replies, and this is call {self._spoken}. Add one."
            )
        return self._lines[self._spoken - 1]

    def _spoken_by(self, say: Say, request: Request) -> Iterable[Delta | Reply]:
        if say.thinking:
            yield Delta(say.thinking, thinking=True)
        size = say.chunk or len(say.text) or 1
        for start in range(0, len(say.text), size):
            yield Delta(say.text[start : start + size])
        if say.break_off:
            raise ModelFailure(Fault.BROKEN_STREAM, "The script broke off here, as it was told to.", partial=say.text)
        yield _reply(say, request, self.name)


def _reply(say: Say, request: Request, model: str) -> Reply:
    calls = tuple(
        ToolCall(call.id or f"call_{request.sha256[:12]}_{place}", call.name, call.arguments, call.malformed)
        for place, call in enumerate(say.tool_calls)
    )
    thinking = (Thinking(say.thinking),) if say.thinking else ()
    text = (Text(say.text),) if say.text else ()
    finish = say.finish or (Finish.TOOL_CALLS if calls else Finish.STOP)
    return Reply((*thinking, *text, *calls), finish, say.usage or _counted(say, calls, request), model)


def _counted(say: Say, calls: tuple[ToolCall, ...], request: Request) -> Usage:
    tokens = counter(CAN_DO_ALL.vocabulary)
    said = tokens.count(say.thinking) + tokens.count(say.text)
    called = sum(tokens.count(call.name) + tokens.count(arguments_of(call)) for call in calls)
    return Usage(input_tokens=request.tokens, output_tokens=said + called)


async def _forever(deadline: float, text: str) -> None:
    try:
        async with asyncio.timeout(deadline):
            await asyncio.Event().wait()
    except TimeoutError:
        raise ModelTimeout(Fault.TIMEOUT, "The script hangs here, as it was told to.", partial=text) from None


def read_line(line: str | Say | Mapping[str, Any]) -> Say:
    match line:
        case Say():
            return line
        case str():
            return Say(line)
        case _:
            return msgspec.convert(dict(line), Say)


def read_script(file: Path) -> tuple[Say, ...]:
    """The replies of `scripted:FILE`: a JSON list of texts, or of `{"text", "toolCalls": [{"name", "arguments"}]}`."""
    try:
        lines = msgspec.json.decode(file.read_bytes(), type=list[Say | str])
    except OSError as error:
        raise CannotStart(f"The script {file} cannot be read ({error.strerror}). Correct `scripted:FILE`.") from None
    except msgspec.DecodeError as error:
        raise CannotStart(
            f'The script {file} is not a list of replies: {error}. Write [{{"text": "Hello."}}, …].'
        ) from None
    return tuple(map(read_line, lines))
