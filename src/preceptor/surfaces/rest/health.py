"""/healthz, /readyz, /metrics: the truth about this process."""

import asyncio
import shutil
from collections.abc import Iterator
from typing import Literal

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse

from preceptor.adapters.storage.opening import SqliteFile, locate
from preceptor.app import Preceptor
from preceptor.domain.errors import PreceptorError
from preceptor.domain.ownership import SYSTEM
from preceptor.domain.reasoning.verdict import GuardFailure
from preceptor.domain.value import Value
from preceptor.engine.means.guarding import GuardClient
from preceptor.surfaces.rest.routing import Api, open_to_anyone

router = Api("", "health")

LEAST_FREE = 0.05
PATIENCE = 3.0


class Health(Value):
    status: Literal["ok"] = "ok"


class Check(Value):
    name: str
    ok: bool
    detail: str


class Readiness(Value):
    ready: bool
    checks: tuple[Check, ...]


@router.get("/healthz")
@open_to_anyone
async def healthz() -> Health:
    """Whether the process is alive."""
    return Health()


@router.get(
    "/readyz",
    responses={
        200: {"model": Readiness, "description": "It can."},
        503: {"model": Readiness, "description": "Something it needs is missing."},
    },
)
@open_to_anyone
async def readyz(request: Request) -> Response:
    """Whether it can do its work right now: each thing it needs, tried."""
    readiness = await look(request.app.state.gate.preceptor)
    status = 200 if readiness.ready else 503
    headers = {} if readiness.ready else {"Retry-After": "1"}
    return Response(readiness.model_dump_json(), status, headers, media_type="application/json")


@router.get("/metrics", response_class=PlainTextResponse)
@open_to_anyone
async def metrics(request: Request) -> Response:
    """Counters for Prometheus. They name routes, never people or texts."""
    body, media_type = request.app.state.streams.metrics.render()
    return Response(body, media_type=media_type)


async def look(preceptor: Preceptor) -> Readiness:
    database, guard = await asyncio.gather(_database(preceptor), _guard(preceptor))
    checks = (database, _disk(preceptor), *_queues(preceptor), *guard)
    return Readiness(ready=all(check.ok for check in checks), checks=checks)


async def _database(preceptor: Preceptor) -> Check:
    """A transaction of its own, through the same writer as everything else."""

    async def nothing(_: object) -> None: ...

    try:
        async with asyncio.timeout(PATIENCE):
            await preceptor.acting_as(SYSTEM).session.write(nothing)
    except TimeoutError:
        return Check(name="database", ok=False, detail=f"It did not answer within {PATIENCE:.0f} s.")
    except PreceptorError as error:
        return Check(name="database", ok=False, detail=str(error))
    return Check(name="database", ok=True, detail="It answers.")


async def _guard(preceptor: Preceptor) -> tuple[Check, ...]:
    """Of a guardian without whose verdict no message is answered."""
    means = preceptor.session.means
    client = GuardClient(means.guardian, means.guard)
    if not client.indispensable:
        return ()
    try:
        async with asyncio.timeout(PATIENCE):
            judged = await means.guard_watch.look(client, preceptor.session.world.monotonic)
    except TimeoutError:
        return (Check(name="guard", ok=False, detail=f"It gave no verdict within {PATIENCE:.0f} s."),)
    if isinstance(judged, GuardFailure):
        return (Check(name="guard", ok=False, detail=f"It gives no verdict: {judged.kind.value}."),)
    return (Check(name="guard", ok=True, detail="It gives verdicts."),)


def _disk(preceptor: Preceptor) -> Check:
    database = locate(preceptor.settings.database)
    folder = database.path.parent if isinstance(database, SqliteFile) else preceptor.settings.data_dir.absolute()
    usage = shutil.disk_usage(next(place for place in (folder, *folder.parents) if place.exists()))
    share = usage.free / usage.total
    detail = f"{share:.0%} of the disk is free."
    return Check(name="disk", ok=share >= LEAST_FREE, detail=detail if share >= LEAST_FREE else f"Only {detail}")


def _queues(preceptor: Preceptor) -> Iterator[Check]:
    """Of a process that takes work out of them."""
    errands = preceptor.session.means.errands
    neglected = None if errands is None else errands.neglected()
    if neglected is not None:
        said = f"No work is taken out of: {', '.join(neglected)}." if neglected else "Work is taken out of every queue."
        yield Check(name="queues", ok=not neglected, detail=said)
