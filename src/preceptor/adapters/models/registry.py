"""Which models an installation has: those of its settings, by the names that settings and agents use for them.

What speaks to a kind of model is loaded with the first model of that kind.
"""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from preceptor.adapters.egress import Door, Egress, NotAllowedOut, door_to, doors_of
from preceptor.adapters.models.corrections import Corrections, read_corrections
from preceptor.adapters.models.known import capabilities_of
from preceptor.adapters.sealing import SealBroken
from preceptor.adapters.tokens import counter
from preceptor.domain.errors import CannotStart, Invalid, phrased
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.reply import ModelFailure
from preceptor.domain.providers import ProviderKind
from preceptor.engine.means.connections import OwnProvider
from preceptor.engine.ports import ChatModel, TokenCounter
from preceptor.settings import Settings

if TYPE_CHECKING:
    from preceptor.adapters.mcp.servers import OperatorServer
    from preceptor.adapters.models.anthropic import Anthropic
    from preceptor.adapters.models.local import LocalModel
    from preceptor.adapters.models.openai_compatible import OpenAICompatible
    from preceptor.adapters.models.scripted import ScriptedModel

DEMO = "demo"
OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com/v1"
OPENAI_ELSEWHERE = "OPENAI_BASE_URL"
ANTHROPIC_ELSEWHERE = "ANTHROPIC_BASE_URL"
"""Where the providers' own clients look for a proxy, so people have these set."""
SMALL_OPENAI = "gpt-5-mini"
SMALL_ANTHROPIC = "claude-haiku-4-5"
LISTING = 5.0
FIRST_LISTED = "openai-compatible:"
"""The model of PRECEPTOR_MODEL_URL that its server lists first."""

_FORMS = (
    "local, openai:NAME, anthropic:NAME, openai-compatible:NAME or scripted:FILE; with the extra `providers` also "
    "PROVIDER:NAME"
)


class NoSuchModel(Invalid):
    """A model that cannot be had here: which, why, and what to do."""


@dataclass
class ModelRegistry:
    """Models are made when they are asked for: one that nobody uses needs no key and no server."""

    settings: Settings
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    mcp_servers: "Mapping[str, OperatorServer]" = field(init=False)
    egress: Egress = field(init=False)
    default: str = field(init=False)
    _made: dict[str, ChatModel] = field(default_factory=dict[str, ChatModel], init=False)
    _corrections: Corrections = field(default_factory=Corrections, init=False)
    _local: "LocalModel | None" = field(default=None, init=False)
    _first: str | None = field(default=None, init=False)
    _asking: "asyncio.Task[None] | None" = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.default = self.settings.model or self._chosen()
        if self.settings.model_capabilities is not None:
            self._corrections = read_corrections(self.settings.model_capabilities)
        self.mcp_servers = _servers(self.settings.mcp_servers)
        self.egress = Egress(
            (*self._own_doors(), *(door for one in self.settings.egress_allow for door in doors_of(one)))
        )
        for setting, name in self._named():
            try:
                form, _ = _form(name)
            except NoSuchModel as error:
                raise CannotStart(f"PRECEPTOR_{setting} is not usable: {error}") from None
            if form == "scripted" and name not in self._made:
                self._made[name] = _scripted(name)

    def add(self, name: str, model: ChatModel) -> None:
        """Have this model under this name, whatever the settings say of it: for tests and for models of one's own."""
        self._made[name] = model

    def find(self, name: str | None) -> ChatModel:
        wanted = name or self.default
        if wanted == FIRST_LISTED:
            if self._first is None:
                with suppress(RuntimeError):  # outside an event loop nobody can be asked
                    self._ask()
            wanted += self._first or ""
        return self._made.get(wanted) or self._make(wanted)

    def counter(self, name: str | None) -> TokenCounter:
        return self.counter_of(self.find(name))

    def check(self, name: str) -> None:
        if name not in self._made:
            _form(name)

    def counter_of(self, model: ChatModel) -> TokenCounter:
        return counter(model.capabilities.vocabulary, estimated=model.capabilities.estimated)

    def of(self, provider: OwnProvider, model: str) -> ChatModel:
        """A model of an organisation's own provider, with its key and at its address."""
        name = f"{provider.provider_id}:{model}"
        known = self._known(f"{provider.kind}:{model}", model)
        if provider.locked:
            raise SealBroken(
                phrased(
                    "The key of the provider %(provider)s cannot be opened: it was sealed with another "
                    "PRECEPTOR_SECRET_KEY, or changed where it is kept. Nothing was sent. Enter the key again, or "
                    "start the server with the former secret key.",
                    provider=repr(provider.provider_id),
                )
            )
        key = None if provider.key is None else SecretStr(provider.key)
        if key is None and provider.kind is not ProviderKind.OPENAI_COMPATIBLE:
            raise NoSuchModel(
                phrased(
                    "%(name)s needs a key. Enter it at the provider %(provider)s.",
                    name=name,
                    provider=repr(provider.provider_id),
                )
            )
        if provider.kind is ProviderKind.ANTHROPIC:
            from preceptor.adapters.models.anthropic import Anthropic

            return Anthropic(model, provider.url, key, self.egress, known)
        from preceptor.adapters.models.openai_compatible import OpenAICompatible

        return OpenAICompatible(model, provider.url, key, self.egress, known)

    async def prepare(self) -> None:
        """Where no model is named, wait until the server of PRECEPTOR_MODEL_URL has told its first, or failed to."""
        if self.default == FIRST_LISTED and self._first is None:
            await asyncio.shield(self._ask())

    async def listed(self) -> list[str]:
        """What the server of PRECEPTOR_MODEL_URL has, by the names that agents use; nothing if it does not answer."""
        with suppress(ModelFailure):
            if self.settings.model_url:
                return [f"openai-compatible:{name}" for name in await self._server("").list_models(LISTING)]
        return []

    async def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait({self._asking})
        if self._local is not None:
            await self._local.close()
        await self.egress.close()

    def _ask(self) -> "asyncio.Task[None]":
        """One question at a time. A server that is not there is asked again when its model is next wanted."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._listen())
        return self._asking

    async def _listen(self) -> None:
        with suppress(ModelFailure):  # whoever wants the model is told
            self._first = next(iter(await self._server("").list_models(LISTING)), None)

    def _chosen(self) -> str:
        if self.settings.model_url:
            return FIRST_LISTED
        if self.environment.get("OPENAI_API_KEY"):
            return f"openai:{SMALL_OPENAI}"
        if self.environment.get("ANTHROPIC_API_KEY"):
            return f"anthropic:{SMALL_ANTHROPIC}"
        return "local"

    def _named(self) -> list[tuple[str, str]]:
        """The models that the settings name, each with the setting."""
        summary, plan = self.settings.summary_model, self.settings.plan_model
        named = (("MODEL", self.default), ("SUMMARY_MODEL", summary), ("PLAN_MODEL", plan))
        corrected = [("MODEL_CAPABILITIES", name) for name in self._corrections.by_name]
        return [*((setting, name) for setting, name in named if name), *corrected]

    def _own_doors(self) -> tuple[Door, ...]:
        """The addresses of the settings: the operator named them, so they may lie in the operator's own network."""
        known = door_to(OPENAI), door_to(ANTHROPIC), *(one.door for one in self.mcp_servers.values() if one.door)
        named = {name: self.environment.get(name) for name in (OPENAI_ELSEWHERE, ANTHROPIC_ELSEWHERE)}
        named["PRECEPTOR_MODEL_URL"] = self.settings.model_url
        return (*known, *(_own_door(name, url) for name, url in named.items() if url))

    def _make(self, name: str) -> ChatModel:
        form, model = _form(name)
        match form:
            case "openai":
                return self._openai(model)
            case "openai-compatible" if not self.settings.model_url:
                raise NoSuchModel(phrased("%(name)s has no server. Set PRECEPTOR_MODEL_URL to its address.", name=name))
            case "openai-compatible" if not model:
                raise NoSuchModel(
                    "The server of PRECEPTOR_MODEL_URL has not told which models it has. Start it, or name one with "
                    "PRECEPTOR_MODEL=openai-compatible:NAME."
                )
            case "openai-compatible":
                return self._server(model)
            case "scripted":
                raise NoSuchModel(phrased("A script is named by the settings of the server, not by an agent."))
            case "anthropic":
                return self._anthropic(model)
            case "demo":
                from preceptor.adapters.models.recorded import RecordedModel

                return self._made.setdefault(DEMO, RecordedModel())
            case "local":
                return self._embedded()
            case _:
                from preceptor.adapters.models.provided import Provided, model_of

                made = Provided(name, model_of(name, self.egress), self._known(name, model))
                return self._made.setdefault(name, made)

    def _embedded(self) -> "LocalModel":
        """One for all: it is a process with weights in its memory."""
        from preceptor.adapters.models.local import find_local

        if self._local is None:
            self._local = find_local(self.settings.data_dir)
            self._local.capabilities = self._corrections.applied("local", self._local.capabilities)
        return self._local

    def _anthropic(self, model: str) -> "Anthropic":
        from preceptor.adapters.models.anthropic import Anthropic

        key = self.environment.get("ANTHROPIC_API_KEY")
        if not key:
            raise NoSuchModel(
                phrased(
                    "%(name)s needs a key. Set %(setting)s.", name=f"anthropic:{model}", setting="ANTHROPIC_API_KEY"
                )
            )
        url = base_of(self.environment.get(ANTHROPIC_ELSEWHERE) or ANTHROPIC)
        return Anthropic(model, url, SecretStr(key), self.egress, self._known(f"anthropic:{model}", model))

    def _known(self, name: str, model: str) -> Capabilities:
        return self._corrections.applied(name, capabilities_of(model))

    def _openai(self, model: str) -> "OpenAICompatible":
        from preceptor.adapters.models.openai_compatible import OpenAICompatible

        key = self.environment.get("OPENAI_API_KEY")
        if not key:
            raise NoSuchModel(
                phrased("%(name)s needs a key. Set %(setting)s.", name=f"openai:{model}", setting="OPENAI_API_KEY")
            )
        url = base_of(self.environment.get(OPENAI_ELSEWHERE) or OPENAI)
        return OpenAICompatible(model, url, SecretStr(key), self.egress, self._known(f"openai:{model}", model))

    def _server(self, model: str) -> "OpenAICompatible":
        from preceptor.adapters.models.openai_compatible import OpenAICompatible

        url = base_of(self.settings.model_url or "")
        known = self._known(f"openai-compatible:{model}", model)
        return OpenAICompatible(model, url, self.settings.model_api_key, self.egress, known)


def _servers(file: Path | None) -> "Mapping[str, OperatorServer]":
    if file is None:
        return {}
    from preceptor.adapters.mcp.servers import read_servers

    return read_servers(file)


def _own_door(name: str, url: str) -> Door:
    try:
        return door_to(url, private=True)
    except NotAllowedOut as error:
        raise CannotStart(f"{name} is not usable: {error}") from None


def base_of(url: str) -> str:
    """Where the API begins. People also give the server's address alone, or that of the one call."""
    base = url.rstrip("/").removesuffix("/chat/completions")
    return f"{base}/v1" if base.count("/") == 2 else base


def _form(name: str) -> tuple[str, str]:
    form, colon, model = name.partition(":")
    if name in {"local", DEMO, FIRST_LISTED}:
        return form, ""
    ours = form in {"openai", "anthropic", "openai-compatible", "scripted"}
    if not colon or not model.strip() or not (ours or _is_provided(form)):
        raise NoSuchModel(
            phrased("%(name)s is not the name of a model. Write %(forms)s.", name=repr(name), forms=_FORMS)
        )
    return form, model


def _is_provided(form: str) -> bool:
    from preceptor.adapters.models.provided import knows

    return knows(form)


def _scripted(name: str) -> "ScriptedModel":
    from preceptor.adapters.models.scripted import ScriptedModel, read_script

    file = Path(name.removeprefix("scripted:")).expanduser()
    return ScriptedModel(read_script(file), name="scripted")
