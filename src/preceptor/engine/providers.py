"""Providers of an organisation's own: where its models are, with keys that are sealed at once and never told."""

from contextlib import aclosing
from typing import Any

import msgspec
from pydantic import SecretStr

from preceptor.domain.errors import Conflict, Invalid, NotFound
from preceptor.domain.messages.message import texts
from preceptor.domain.paging import Page, page_of, position_of
from preceptor.domain.prompts.prompt import Ask, Prompt, Sampling, Segment
from preceptor.domain.prompts.reply import ModelFailure, Reply
from preceptor.domain.prompts.source import FromEngine
from preceptor.domain.providers import NewProvider, Provider, ProviderAnswer, ProviderChange, ProviderQuestion
from preceptor.domain.value import made, told
from preceptor.engine.audit import note
from preceptor.engine.connecting import own_provider
from preceptor.engine.means.connections import Connector, OwnProvider
from preceptor.engine.ports import ChatModel
from preceptor.engine.preconditions import IfMatch, check
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session

QUESTION = "Say hello in one short sentence."
LONGEST = 64
PATIENCE = 30.0


class Providers(msgspec.Struct, frozen=True):
    session: Session

    async def create(self, given: NewProvider | None = None, **fields: Any) -> Provider:
        new = made(NewProvider, given, fields)
        url = self._connector.address_of(new.kind, new.url)
        self._connector.check(url)

        async def program(work: Work) -> Provider:
            if await work.providers.find(new.provider_id) is not None:
                raise Conflict(
                    f"There is a provider {new.provider_id!r} already. Choose another id, or change that one."
                )
            provider = Provider(
                provider_id=new.provider_id,
                kind=new.kind,
                url=url,
                has_key=new.api_key is not None,
                created_at=work.now,
                updated_at=work.now,
                revision=1,
            )
            await work.providers.add(provider, self._sealed(work, provider, new.api_key))
            await note(work, self.session.caller, "provider.created", providerId=new.provider_id, url=url)
            return provider

        return await self.session.write(program)

    async def change(
        self, provider_id: str, given: ProviderChange | None = None, if_match: IfMatch = None, **fields: Any
    ) -> Provider:
        """Change it. A key belongs to one address: whoever changes the address enters the key again.

        A key that is entered counts as another one: what it is compared with is not opened for that.
        """
        news = told(made(ProviderChange, given, fields))
        if "url" in news:
            self._connector.check(news["url"])

        async def program(work: Work) -> Provider:
            before, sealed = await _found(work, provider_id)
            check(if_match, before.etag)
            url = self._connector.address_of(before.kind, news["url"]) if "url" in news else before.url
            after = before.model_copy(update={"url": url})
            if "api_key" in news or url != before.url:
                sealed = self._sealed(work, after, news.get("api_key"))
            after = after.model_copy(update={"has_key": sealed is not None})
            if after == before and news.get("api_key") is None:
                return before
            after = after.model_copy(update={"updated_at": work.now, "revision": before.revision + 1})
            await work.providers.replace(after, sealed)
            facts = {"providerId": provider_id, "url": after.url, "fields": sorted(news), "hasKey": after.has_key}
            await note(work, self.session.caller, "provider.changed", **facts)
            return after

        return await self.session.write(program)

    async def get(self, provider_id: str) -> Provider:
        async def program(work: Work) -> Provider:
            return (await _found(work, provider_id))[0]

        return await self.session.read(program)

    async def page(self, cursor: str | None = None, limit: int = 50) -> Page[Provider]:
        after = position_of(cursor)

        async def program(work: Work) -> Page[Provider]:
            found = [one for one, _ in await work.providers.all() if one.provider_id > (after or "")]
            return page_of(found[: limit + 1], limit, lambda one: one.provider_id)

        return await self.session.read(program)

    async def remove(self, provider_id: str, if_match: IfMatch = None) -> None:
        async def program(work: Work) -> None:
            before, _ = await _found(work, provider_id)
            check(if_match, before.etag)
            await work.providers.remove(provider_id)
            await note(work, self.session.caller, "provider.removed", providerId=provider_id)

        await self.session.write(program)

    async def test(self, provider_id: str, question: ProviderQuestion) -> ProviderAnswer:
        """Ask one short question, at the stored address with the stored key and with nothing else."""

        async def program(work: Work) -> OwnProvider:
            return own_provider(self.session.seal, work.org, *await _found(work, provider_id))

        own = await self.session.read(program)
        models = self._connector.models(self.session.means.models, [own])
        began = self.session.world.monotonic()
        try:
            said = await _asked(models.find(f"{provider_id}:{question.model}"))
            answer = ProviderAnswer(ok=True, sentence=said, seconds=0)
        except (ModelFailure, Invalid) as failure:
            answer = ProviderAnswer(ok=False, sentence=str(failure), seconds=0)
        return answer.model_copy(update={"seconds": round(self.session.world.monotonic() - began, 3)})

    @property
    def _connector(self) -> Connector:
        connector = self.session.means.connector
        assert connector is not None, "this session was opened without a way out"
        return connector

    def _sealed(self, work: Work, provider: Provider, key: SecretStr | None) -> bytes | None:
        if key is None:
            return None
        return self.session.seal.seal(key.get_secret_value().encode(), provider.context(work.org))


async def _found(work: Work, provider_id: str) -> tuple[Provider, bytes | None]:
    row = await work.providers.find(provider_id)
    if row is None:
        raise NotFound("provider", provider_id)
    return row


async def _asked(model: ChatModel) -> str:
    prompt = Prompt(system=(), shown=(), tail=(Segment(QUESTION, FromEngine("trial"), 0),))
    request = model.render(prompt, Ask(model.name, Sampling(max_completion_tokens=LONGEST)))
    async with aclosing(model.send(request, PATIENCE)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Reply):
                return texts(piece.parts).strip() or "It answered without words."
    return "It answered without words."
