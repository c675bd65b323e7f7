"""All tools of an installation: found, described, and run so that whatever they do, the turn goes on."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pydantic_core import to_json

from preceptor.adapters.running import limited
from preceptor.adapters.tools.built_in import built_in
from preceptor.adapters.tools.function import Tool, ToolError, ToolRun, UnusableTool, as_tool
from preceptor.adapters.tools.threads import THREADS
from preceptor.domain.messages.message import Outcome, ToolCall, ToolResult
from preceptor.domain.prompts.prompt import Effect, ToolSpec

_log = logging.getLogger(__name__)
GROUP = "preceptor.tools"
LARGEST_RESULT = 1_000_000


class ToolBox:
    """The tools by name. `run` always gives a result: a failure of a tool is something to tell the model."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for one in tools:
            if one.name in self._tools:
                raise UnusableTool(f"Two tools are named {one.name!r}. Rename one of them.")
            self._tools[one.name] = one

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        """Those of these tools that exist, in this order, each once."""
        return tuple(self._tools[name].spec for name in dict.fromkeys(names) if name in self._tools)

    async def run(self, call: ToolCall, key: str, deadline: float) -> ToolResult:
        """Run it for at most `deadline` seconds. With the same `key` it is the same call, run again."""
        found = self._tools.get(call.name)
        if found is None:
            return _failed(call, f"There is no tool {call.name!r:.80}. There are: {', '.join(self._tools) or 'none'}.")
        if call.malformed is not None:
            return _failed(call, f"The arguments of {call.name} are not a JSON object. Call it again with valid JSON.")
        try:
            arguments = found.read(call.arguments)
        except ToolError as error:
            return _failed(call, str(error))
        if found.takes_run is not None:
            arguments[found.takes_run] = ToolRun(key, call.id, call.name)
        return await _ran(found, call, arguments, min(found.timeout, deadline))


def open_toolbox(named: Sequence[str], now: Callable[[], datetime]) -> ToolBox:
    """The built-in tools, those of installed packages, and those that the settings name as `module:attribute`."""
    installed = [tool for entry in entry_points(group=GROUP) for tool in _installed(entry)]
    return ToolBox([*built_in(now), *installed, *(tool for name in named for tool in _imported(name))])


def _installed(entry: EntryPoint) -> tuple[Tool, ...]:
    told = f"The entry point {entry.name!r} of {GROUP}"
    try:
        found = entry.load()
    except UnusableTool:
        raise
    except Exception as error:
        raise UnusableTool(
            f"{told} cannot be loaded ({type(error).__name__}: {error}). Correct or remove the package that has it."
        ) from error
    return as_tool(found, told)


def _imported(name: str) -> tuple[Tool, ...]:
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise UnusableTool(f"PRECEPTOR_TOOLS names {name!r}. Write it as module:attribute.")
    try:
        found: Any = import_module(module)
        for step in attribute.split("."):
            found = getattr(found, step)
    except UnusableTool:
        raise
    except Exception as error:
        raise UnusableTool(
            f"PRECEPTOR_TOOLS names {name!r}, which cannot be loaded ({type(error).__name__}: {error}). "
            "Install the package, or correct the name."
        ) from error
    return as_tool(found, f"PRECEPTOR_TOOLS {name!r}")


async def _ran(tool: Tool, call: ToolCall, arguments: dict[str, Any], patience: float) -> ToolResult:
    limit = asyncio.timeout(patience)
    try:
        work = tool.function(**arguments) if tool.is_async else THREADS.run(tool.function, arguments)
        content = _written(await limited(work, limit))
    except ToolError as error:
        return _failed(call, str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a tool does, the turn goes on
        if limit.expired():
            outcome = Outcome.UNKNOWN if tool.effect is Effect.ONCE else Outcome.ERROR
            return _failed(call, f"{tool.name} did not finish within {patience:g} s.", outcome)
        _log.warning("tool_failed", exc_info=error, extra={"tool": tool.name})
        return _failed(call, f"{tool.name} failed with {type(error).__name__}.")
    return ToolResult(call.id, call.name, content)


def _failed(call: ToolCall, sentence: str, outcome: Outcome = Outcome.ERROR) -> ToolResult:
    return ToolResult(call.id, call.name, _kept(sentence), is_error=True, outcome=outcome)


def _written(answer: Any) -> str:
    if isinstance(answer, str):
        return _kept(answer)
    return _kept(to_json(answer, fallback=str, inf_nan_mode="strings", bytes_mode="base64").decode())


def _kept(text: str) -> str:
    text = text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
    if len(text) <= LARGEST_RESULT:
        return text
    return f"{text[:LARGEST_RESULT]}… [cut: {len(text):,} characters in all]"
