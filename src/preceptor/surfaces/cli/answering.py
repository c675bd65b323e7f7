"""The port on which a worker says how it is."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from socket import socket

import msgspec

from preceptor.adapters.observability.metrics import Metrics
from preceptor.app import Preceptor
from preceptor.surfaces.application import application
from preceptor.surfaces.cli.server import Server, listen
from preceptor.surfaces.rest import health


class Port(msgspec.Struct, frozen=True):
    socket: socket
    metrics: Metrics

    @classmethod
    def take(cls, host: str, port: int) -> "Port":
        return cls(listen(host, port, "PRECEPTOR_WORKER_PORT"), Metrics())

    @property
    def number(self) -> int:
        return self.socket.getsockname()[1]

    @asynccontextmanager
    async def answering(self, preceptor: Preceptor) -> AsyncGenerator[None]:
        """In the same event loop as the work: a worker that hangs does not say that it is well."""
        server = Server(application(preceptor, [health], self.metrics))
        serving = asyncio.create_task(server.serve([self.socket]))
        try:
            yield
        finally:
            server.stop()
            await serving
