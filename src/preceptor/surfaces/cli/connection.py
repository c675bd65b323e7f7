"""How commands reach Preceptor: through the server that runs, else in this process. Both ways are the same HTTP API."""

import json
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from preceptor.domain.errors import CannotStart, PreceptorError, Unavailable

if TYPE_CHECKING:
    import asyncio

    import httpx2

    from preceptor.settings import Settings

Result = TypeVar("Result")

HERE = "http://127.0.0.1"
PATIENCE = 30.0
"""Seconds for an answer."""
TURN = 5.0
"""Seconds to wait while another command holds the database: commands are short, so it will soon be our turn."""
LOOK_AGAIN = 0.05
AS_IT_IS = "*"
"""The ETag of whatever is there, which is what a typed command means, also where changes must come with an ETag."""


class Declined(PreceptorError):
    """The API said no."""

    status: int
    problem: str
    """The stable code of the problem document."""
    detail: str

    def __str__(self) -> str:
        return self.detail

    @property
    def exit_code(self) -> int:
        from preceptor.surfaces.problems import FACES

        return next((face.exit_code for face in FACES.values() if face.http == self.status), 1)


class Api(msgspec.Struct, frozen=True):
    """The HTTP API, for commands: it takes and gives plain JSON values."""

    runner: "asyncio.Runner"
    client: "httpx2.AsyncClient"
    server: str | None
    """Where the server answers; None when there is none and this process does the work."""

    def get(self, path: str, **query: Any) -> Any:
        return self._ask("GET", path, params=query)

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self._ask("POST", path, json=body)

    def put(self, path: str, body: Mapping[str, Any], etag: str = AS_IT_IS) -> Any:
        """Change what has not changed since it was read, if an ETag is given."""
        return self._ask("PUT", path, etag, json=body)

    def patch(self, path: str, body: Mapping[str, Any], etag: str = AS_IT_IS) -> Any:
        return self._ask("PATCH", path, etag, json=body)

    def delete(self, path: str) -> None:
        self._ask("DELETE", path)

    def items(self, path: str, **wanted: Any) -> Iterator[Any]:
        """All items of a list, page after page."""
        query: dict[str, Any] = {"limit": 200} | {name: value for name, value in wanted.items() if value is not None}
        while True:
            page = self.get(path, **query)
            yield from page["items"]
            if not page["nextCursor"]:
                return
            query["cursor"] = page["nextCursor"]

    def follow(self, path: str, body: Mapping[str, Any], hear: Callable[[str, Any], None]) -> None:
        """Post, and hear of each event as it happens. Ctrl-C stops the hearing, and not what was begun."""
        self._run(self._followed("POST", path, body, hear))

    def watch(self, path: str, hear: Callable[[str, Any], None]) -> None:
        """Hear of each event of something that goes on, until it has ended."""
        self._run(self._followed("GET", path, None, hear))

    async def _followed(
        self, method: str, path: str, body: Mapping[str, Any] | None, hear: Callable[[str, Any], None]
    ) -> None:
        headers = {"Accept": "text/event-stream"}
        async with self.client.stream(method, path, json=body, headers=headers) as response:
            if response.is_error:
                await response.aread()
                raise self._declined(response)
            kind = ""
            async for line in response.aiter_lines():
                name, _, value = line.partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    hear(kind, json.loads(value))

    def _ask(self, method: str, path: str, etag: str = AS_IT_IS, **options: Any) -> Any:
        response = self._run(self.client.request(method, path, headers={"If-Match": etag}, **options))
        if response.is_error:
            raise self._declined(response)
        return response.json() if response.content else None

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        import httpx2

        try:
            return self.runner.run(work)
        except httpx2.TransportError as error:
            why = type(error).__name__
            raise Unavailable(
                f"The server at {self.server}, which holds the database, gave no answer ({why})."
            ) from error

    def _declined(self, response: "httpx2.Response") -> PreceptorError:
        if response.status_code == 401 and self.server is not None:
            return CannotStart(
                f"The server at {self.server} does not know our admin key. "
                "Set PRECEPTOR_ADMIN_KEY to the one it was started with."
            )
        try:
            problem = response.json()
            return Declined(response.status_code, problem["code"], problem["detail"])
        except (ValueError, TypeError, KeyError):
            return Declined(response.status_code, "unknown", f"The server answered {response.status_code}.")


def reached(settings: "Settings", server: str | None) -> "AbstractAsyncContextManager[httpx2.AsyncClient]":
    """The HTTP API as a client: of the server that runs, else in this process."""
    return _over_http(settings, server) if server else _in_process(settings)


@contextmanager
def api() -> Generator[Api]:
    import asyncio

    from preceptor.settings import Settings

    settings = Settings.load()
    with asyncio.Runner() as runner:

        def reach() -> "tuple[str | None, AbstractAsyncContextManager[httpx2.AsyncClient], httpx2.AsyncClient]":
            server = find_server(settings)
            opening = reached(settings, server)
            return server, opening, runner.run(opening.__aenter__())

        server, opening, client = in_turn(reach)
        try:
            yield Api(runner, client, server)
        finally:
            runner.run(opening.__aexit__(None, None, None))


def in_turn(attempt: Callable[[], Result]) -> Result:
    """Do what needs the database, once another command that has it is done. A server is not waited for."""
    from preceptor.adapters.storage.lockfile import InUse

    deadline = time.monotonic() + TURN
    while True:
        try:
            return attempt()
        except InUse as refused:
            if refused.url is not None or time.monotonic() > deadline:
                raise
            time.sleep(LOOK_AGAIN)


def path_to(collection: str, *parts: str) -> str:
    """Where something is, whatever signs there are in its id."""
    return "/".join((collection, *(quote(part, safe="") for part in parts)))


def find_server(settings: "Settings") -> str | None:
    """Where the server that holds our SQLite file answers. Waits for another command to finish, but not for long."""
    from preceptor.adapters.storage.locating import SqliteFile, locate
    from preceptor.adapters.storage.lockfile import holder

    database = locate(settings.database)
    if not isinstance(database, SqliteFile):
        return None
    deadline = time.monotonic() + TURN
    while said := holder(database.path):
        if said.get("url"):
            return str(said["url"])
        if time.monotonic() > deadline:
            break
        time.sleep(LOOK_AGAIN)
    return None


@asynccontextmanager
async def _over_http(settings: "Settings", server: str) -> AsyncGenerator["httpx2.AsyncClient"]:
    import httpx2

    headers = {"Authorization": f"Bearer {_known_key(settings, server)}"} | host_header(settings, server)
    # The machine's proxy has no business between two processes on it.
    async with httpx2.AsyncClient(base_url=server, headers=headers, timeout=PATIENCE, trust_env=False) as client:
        yield client


@asynccontextmanager
async def _in_process(settings: "Settings") -> AsyncGenerator["httpx2.AsyncClient"]:
    """Whoever may open the database may do anything with it, so there is no key to show."""
    import httpx2

    from preceptor.adapters.observability.logs import configure_logs
    from preceptor.app import open_preceptor
    from preceptor.settings import Auth
    from preceptor.surfaces.http import create_app
    from preceptor.surfaces.inward import Inward

    configure_logs("critical")
    open_to_us = settings.model_copy(update={"auth": Auth.OFF})
    async with open_preceptor(open_to_us) as preceptor:
        transport = Inward(create_app(preceptor))
        headers = host_header(settings, HERE)
        async with httpx2.AsyncClient(transport=transport, base_url=HERE, headers=headers) as client:
            yield client


def _known_key(settings: "Settings", server: str) -> str:
    """The admin key, if it is here. None is made: the server has one already."""
    from preceptor.kept_secrets import sendable

    if settings.admin_key is not None:
        return sendable(settings.admin_key.get_secret_value())
    try:
        return sendable((settings.data_dir / "admin.key").read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise CannotStart(
            f"The admin key of the server at {server} cannot be read from {settings.data_dir} ({why}). "
            "Set PRECEPTOR_ADMIN_KEY to the one it was started with."
        ) from error


def host_header(settings: "Settings", url: str) -> dict[str, str]:
    """A Host header the server answers to: it may be set up for other names than the address we call."""
    from preceptor.surfaces.hosts import host_name

    allowed = [host.strip("[]").lower() for host in settings.allowed_hosts]
    if "*" in allowed or not allowed or host_name(urlsplit(url).netloc) in allowed:
        return {}
    return {"Host": settings.allowed_hosts[0]}
