"""Two replicas behind a balancer that picks at random, and one that is killed in the middle of an answer."""

import random
import re
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, expect

from tests.postgres import Cluster
from tests.serving import Served, serving
from tests.web.browsing import AGENT, Site
from tests.web.conftest import QUIET
from tests.web.provider import Provider

KEYS = {"PRECEPTOR_ADMIN_KEY": "the-admin-key-of-both", "PRECEPTOR_SECRET_KEY": "the-secret-key-of-both"}


class Balancer:
    """Passes each connection on to one of the `live` servers, whichever."""

    def __init__(self, live: list[Served]) -> None:
        self.live = live
        self.chance = random.Random(7)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # closed: the test is over
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        where = urlsplit(self.chance.choice(self.live).url)
        try:
            server = socket.create_connection((where.hostname, where.port or 80))
        except OSError:
            client.close()
            return
        for one, other in ((client, server), (server, client)):
            threading.Thread(target=_pipe, args=(one, other), daemon=True).start()


def _pipe(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    for end in (one, other):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@contextmanager
def balanced(live: list[Served]) -> Generator[Balancer]:
    made = Balancer(live)
    try:
        yield made
    finally:
        made.listener.close()


def test_an_answer_is_whole_and_there_once_though_a_replica_was_killed(
    browser: Browser, provider: Provider, postgres: Cluster, postgres_template: str, tmp_path: Path
):
    url = postgres.new_database(template=postgres_template)
    settings = QUIET | KEYS | {"PRECEPTOR_DATABASE_URL": url, "PRECEPTOR_MODEL_URL": provider.url}
    with serving(tmp_path / "a", **settings) as first, serving(tmp_path / "b", **settings) as second:
        site = Site(second, provider, browser)
        site.sign_in()
        with balanced([first, second]) as balancer:
            cookies = [{**cookie, "url": balancer.url} for cookie in site.cookies]
            with site.context(cookies=cookies) as context, provider.holding() as gate:
                page = context.new_page()
                for _ in range(6):
                    answer = page.goto(f"{balancer.url}/conversations")
                    assert answer
                    assert answer.status == 200
                made = site.api("POST", "/api/conversations", json={"agentId": AGENT})["conversationId"]
                path = f"/api/conversations/{made}/messages"
                site.api("POST", path, json={"content": "¿Tell me, wait", "background": True})
                balancer.live = [first]
                page.goto(f"{balancer.url}/conversations/{made}")
                expect(page.locator(".final .raw")).to_have_text(re.compile("Understood"))
                balancer.live = [second]
                first.process.kill()
                gate.set()
                expect(page.locator("body[data-turn=done]")).to_be_attached()
                expect(page.locator(".final .body")).to_have_text("Understood, and done.")
                expect(page.locator(".turn")).to_have_count(1)
    postgres.drop(url)
