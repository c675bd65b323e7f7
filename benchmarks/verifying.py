"""How fast a log is verified, beside the least that must be done: read every row and hash its payload."""

import hashlib
import sqlite3
from pathlib import Path

import msgspec

from benchmarks.interleaved import compare
from preceptor.adapters.storage import schema
from preceptor.adapters.storage.opening import SqliteFile
from preceptor.adapters.storage.verifying import verify
from preceptor.domain.ids import OrgId, StreamId
from preceptor.domain.log import Head, NewEvent, seal

STREAMS, ROWS = 200, 100
PAYLOAD = '{"text":"' + "An event of ordinary size. " * 12 + '"}'


def filled(folder: Path) -> Path:
    path = folder / "log.db"
    schema.upgrade(f"sqlite:///{path}")
    with sqlite3.connect(path) as connection:
        for number in range(STREAMS):
            stream = StreamId(f"stream-{number:05}")
            new = [NewEvent("message.completed", PAYLOAD)] * ROWS
            sealed = seal(OrgId("default"), stream, Head(), new, at=1, salts=[bytes(16)] * ROWS)
            places = ", ".join("?" * 12)
            connection.executemany(f"INSERT INTO events VALUES ({places})", map(msgspec.structs.astuple, sealed))
            end = ("default", stream, ROWS, sealed[-1].hash, 0, 0, 1)
            connection.execute("INSERT INTO streams VALUES (?, ?, ?, ?, ?, ?, ?)", end)
    return path


class Floor:
    def __init__(self, folder: Path) -> None:
        self.connection = sqlite3.connect(filled(folder))

    def run(self, count: int) -> None:
        for _ in range(count):
            rows = self.connection.execute("SELECT salt, payload FROM events ORDER BY org, stream, seq")
            for salt, payload in rows:
                hashlib.sha256(salt + payload.encode()).digest()

    def close(self) -> None:
        self.connection.close()


class Ours:
    def __init__(self, folder: Path) -> None:
        self.database = SqliteFile(filled(folder))

    def run(self, count: int) -> None:
        for _ in range(count):
            assert verify(self.database, None).ok

    def close(self) -> None: ...


def main() -> list[str]:
    found = compare({"floor": Floor, "preceptor": Ours}, rounds=5, count=2)
    rows = STREAMS * ROWS
    lines = [f"{name:<10} {rows / figures.median('cpu'):>8.0f} rows/s of CPU" for name, figures in found.items()]
    return [
        *lines,
        f"{found['preceptor'].ratio(found['floor'], 'cpu'):.2f}x the CPU of reading and hashing every payload",
    ]


if __name__ == "__main__":
    print("\n".join(main()))
