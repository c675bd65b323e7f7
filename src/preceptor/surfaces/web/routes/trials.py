"""/instructions/{id}/test: a dry run of one version, or of two side by side. Nothing is written."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Any

import msgspec
from fastapi import Query, Request, Response

from preceptor.app import Preceptor
from preceptor.domain.errors import NotFound, PreceptorError
from preceptor.domain.instructions.content import checked
from preceptor.domain.instructions.instruction import InstructionType
from preceptor.domain.instructions.shown import Instruction
from preceptor.domain.instructions.trial import Mode, NewTrial, Trial
from preceptor.domain.ownership import Permission
from preceptor.surfaces.rest.parameters import Name
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.streams import Streamed
from preceptor.surfaces.web.pages import Form, Pages, TheForm
from preceptor.surfaces.web.rendering import PART, Call, look, page, render
from preceptor.surfaces.web.sentences import failure
from preceptor.surfaces.web.views.diff import compared
from preceptor.surfaces.web.views.editing import value_of

router = Pages("/instructions")
Words = Annotated[str, Query(max_length=128)]
LINES = "application/x-ndjson"


class Bench(msgspec.Struct, frozen=True):
    """What is tried: versions, and what is said to them."""

    preceptor: Preceptor
    versions: Sequence[Instruction]
    chosen: tuple[Instruction, ...]
    fields: dict[str, str]
    context: dict[str, str]

    def trial(self) -> NewTrial:
        kinds = {one.name: one.type for version in self.chosen for one in version.variables}
        given = {name: value_of(kinds[name], text) for name, text in self.context.items() if name in kinds and text}
        agent = self.fields["agent"]
        wish = {"input": self.fields["input"], "context": given, "mode": self.fields["mode"]}
        return checked(NewTrial, wish | ({"agentId": agent} if agent else {}))

    def call(self) -> Call:
        trial = self.trial().model_dump(mode="json", exclude_defaults=True, by_alias=True)
        return Call(f"/api/instructions/{self.chosen[0].instruction_id}/test", "POST", {"input": ""} | trial)


@router.get("/{instruction_id}/test")
@needs(Permission.INSTRUCTION_READ)
async def show(
    instruction_id: Name,
    request: Request,
    preceptor: ThePreceptor,
    version: Words = "",
    against: Words = "",
    agent: Words = "",
) -> Response:
    given = {"version": version, "against": against, "agent": agent, "input": "", "mode": Mode.RENDER.value}
    return await _page(request, await _bench(preceptor, instruction_id, given, {}), ())


@router.post("/{instruction_id}/test")
@needs(Permission.INSTRUCTION_READ)
async def test(instruction_id: Name, request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """A script hears the answers as they come; without one the page shows them in the end."""
    names = ("version", "against", "agent", "input", "mode")
    bench = await _bench(preceptor, instruction_id, {name: form.one(name) for name in names}, _context(form))
    trial = bench.trial()
    if request.headers.get(PART) == "trial" and trial.mode is Mode.RUN:
        told = request.app.state.streams.until_shutdown(_heard(request, bench, trial))
        return Streamed(told, media_type=LINES)
    done = [await preceptor.trials.test(one.instruction_id, trial) for one in bench.chosen]
    return await _page(request, bench, done)


async def _bench(preceptor: Preceptor, named: str, fields: dict[str, str], context: dict[str, str]) -> Bench:
    versions = (await preceptor.instructions.versions(named)).items
    shown = next((one for one in versions if one.instruction_id == named), None)
    first = shown or next((one for one in versions if one.is_latest_version), versions[0])
    chosen = (_named(versions, fields["version"]) if fields["version"] else first,)
    chosen += (_named(versions, fields["against"]),) if fields["against"] else ()
    mode = Mode.RUN if fields["mode"] == Mode.RUN else Mode.RENDER
    return Bench(preceptor, versions, chosen, fields | {"mode": mode.value}, context)


def _named(versions: Sequence[Instruction], name: str) -> Instruction:
    for version in versions:
        if name in (str(version.version), version.instruction_id):
            return version
    raise NotFound("version", name)


def _context(form: Form) -> dict[str, str]:
    return {name.removeprefix("context."): value for name, value in form.fields if name.startswith("context.")}


async def _page(request: Request, bench: Bench, done: Sequence[Trial]) -> Response:
    variables = {one.name: one for version in bench.chosen for one in version.variables}
    return page(
        request,
        "instruction_test.html",
        here="instructions",
        call=bench.call(),
        one=bench.versions[0],
        versions=bench.versions,
        chosen=bench.chosen,
        fields=bench.fields,
        context=bench.context,
        variables=variables.values() if bench.chosen[0].type is InstructionType.TEMPLATE else (),
        agents=(await bench.preceptor.agents.page(limit=200)).items,
        **_results(done, bench.fields["input"]),
    )


def _results(done: Sequence[Trial], said: str) -> dict[str, Any]:
    prompts = [one.prompt.splitlines() for one in done]
    return {"done": done, "said": said, "blocks": compared(prompts[0], prompts[1]) if len(prompts) > 1 else None}


async def _heard(request: Request, bench: Bench, trial: NewTrial) -> AsyncGenerator[bytes]:
    """One line for each piece of an answer, and in the end the whole result as the page would show it."""
    heard: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    async def one(side: int, version: Instruction) -> Trial:
        def piece(text: str) -> None:
            heard.put_nowait({"side": side, "text": text})

        return await bench.preceptor.trials.test(version.instruction_id, trial, heard=piece)

    async def both() -> list[Trial]:
        try:
            return list(await asyncio.gather(*(one(side, each) for side, each in enumerate(bench.chosen))))
        finally:
            heard.put_nowait(None)

    running = asyncio.create_task(both())
    try:
        while (told := await heard.get()) is not None:
            yield msgspec.json.encode(told) + b"\n"
        results = _results(await running, bench.fields["input"])
        html = render(look(request), "parts/trial.html", chosen=bench.chosen, **results)
        yield msgspec.json.encode({"html": html}) + b"\n"
    except PreceptorError as error:
        yield msgspec.json.encode({"problem": failure(look(request).speaker, error)}) + b"\n"
    finally:
        running.cancel()
