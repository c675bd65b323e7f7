"""The servers that W5 compares. `python -m benchmarks.api_servers NAME PORT FOLDER` runs one.

- `raw`: bare ASGI and `sqlite3`, one durable commit per POST. No framework, no checks: the floor.
- `raw_group`: the same with a group-committing writer thread.
- `sqlalchemy`: FastAPI with SQLAlchemy's async engine on aiosqlite, as the tutorials have it.
- `preceptor`: the product as `preceptor serve` runs it, with every check on: key, tenancy, rate limit, strict JSON, log
  with hash chain. Only its access log is off, as it is for the others.
"""

import asyncio
import json
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Annotated, Any

import orjson
import uvicorn

BODY = "Instruction body text. " * 20
TABLE = (
    "CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT NOT NULL, body TEXT NOT NULL, priority INTEGER NOT NULL,"
    " tags TEXT NOT NULL, created REAL NOT NULL)"
)
INSERT = "INSERT INTO items(name, body, priority, tags, created) VALUES(?, ?, ?, ?, ?)"
SELECT = "SELECT id, name, body, priority, tags, created FROM items WHERE id = ?"


def connect(folder: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "items.db", isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def prepared(folder: Path) -> sqlite3.Connection:
    connection = connect(folder)
    connection.execute(TABLE)
    connection.execute("BEGIN")
    connection.executemany(INSERT, [(f"item {n}", BODY, n % 10, '["a","b"]', 1e9) for n in range(1000)])
    connection.execute("COMMIT")
    return connection


class Raw:
    def __init__(self, folder: Path) -> None:
        self.connection = prepared(folder)

    async def put(self, item: dict[str, Any]) -> tuple[int, float]:
        now = time.time()
        row = (item["name"], item["body"], item["priority"], json.dumps(item["tags"]), now)
        return self.connection.execute(INSERT, row).lastrowid or 0, now

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        if scope["method"] == "GET":
            row = self.connection.execute(SELECT, (int(scope["path"].rsplit("/", 1)[1]),)).fetchone()
            names = ("id", "name", "body", "priority", "tags", "created")
            status, body = 200, orjson.dumps(dict(zip(names, (*row[:4], json.loads(row[4]), row[5]), strict=True)))
        else:
            raw = (await receive())["body"]
            item = orjson.loads(raw)
            number, now = await self.put(item)
            status, body = 201, orjson.dumps({"id": number, **item, "created": now})
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class RawGroup(Raw):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.writing = connect(folder)
        self.waiting: list[tuple[dict[str, Any], asyncio.Future[tuple[int, float]]]] = []
        self.lock, self.bell = threading.Lock(), threading.Event()
        threading.Thread(target=self._write_on, daemon=True).start()

    async def put(self, item: dict[str, Any]) -> tuple[int, float]:
        self.loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[int, float]] = self.loop.create_future()
        with self.lock:
            self.waiting.append((item, answer))
        self.bell.set()
        return await answer

    def _write_on(self) -> None:
        while True:
            self.bell.wait()
            self.bell.clear()
            with self.lock:
                batch, self.waiting = self.waiting, []
            if not batch:
                continue
            now, told = time.time(), []
            self.writing.execute("BEGIN IMMEDIATE")
            for item, answer in batch:
                row = (item["name"], item["body"], item["priority"], json.dumps(item["tags"]), now)
                told.append((answer, (self.writing.execute(INSERT, row).lastrowid or 0, now)))
            self.writing.execute("COMMIT")
            self.loop.call_soon_threadsafe(lambda told=told: [a.set_result(r) for a, r in told])


def sqlalchemy_app(folder: Path) -> Any:
    from fastapi import Depends, FastAPI
    from pydantic import BaseModel, ConfigDict
    from sqlalchemy import JSON, event
    from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
    from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

    prepared(folder)
    engine = create_async_engine(f"sqlite+aiosqlite:///{folder / 'items.db'}")

    @event.listens_for(engine.sync_engine, "connect")
    def durable(connection: Any, _: Any) -> None:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=5000"):
            connection.cursor().execute(f"PRAGMA {pragma}")

    sessions = async_sessionmaker(engine, expire_on_commit=False)

    class Base(DeclarativeBase): ...

    class Row(Base):
        __tablename__ = "items"
        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str]
        body: Mapped[str]
        priority: Mapped[int]
        tags: Mapped[list[str]] = mapped_column(JSON)
        created: Mapped[float]

    class NewItem(BaseModel):
        name: str
        body: str
        priority: int
        tags: list[str]

    class Item(NewItem):
        model_config = ConfigDict(from_attributes=True)
        id: int
        created: float

    async def session() -> Any:
        async with sessions() as opened:
            yield opened

    app = FastAPI()

    @app.get("/items/{number}", response_model=Item)
    async def get(number: int, database: Annotated[AsyncSession, Depends(session)]) -> Any:
        return await database.get(Row, number)

    @app.post("/items", status_code=201, response_model=Item)
    async def post(new: NewItem, database: Annotated[AsyncSession, Depends(session)]) -> Any:
        row = Row(**new.model_dump(), created=time.time())
        database.add(row)
        await database.commit()
        return row

    return app


async def serve(app: Any, port: int) -> None:
    config = uvicorn.Config(app, port=port, access_log=False, log_level="error", lifespan="off")
    await uvicorn.Server(config).serve()


async def serve_preceptor(port: int, folder: Path) -> None:
    from preceptor import Settings, open_preceptor
    from preceptor.surfaces.cli.server import Server, listen
    from preceptor.surfaces.http import create_app

    settings = Settings.load(
        data_dir=folder,
        port=port,
        admin_key="benchmark",
        access_log=False,
        rate_limit_per_key=1e6,
        rate_limit_per_org=1e6,
    )
    async with open_preceptor(settings) as preceptor:
        server = Server(create_app(preceptor))
        with server.heeding_signals():
            await server.serve([listen(settings.host, settings.port)])


def main(name: str, port: int, folder: Path) -> None:
    import uvloop

    if name == "preceptor":
        uvloop.run(serve_preceptor(port, folder))
        return
    app = {"raw": Raw, "raw_group": RawGroup, "sqlalchemy": sqlalchemy_app}[name](folder)
    uvloop.run(serve(app, port))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
