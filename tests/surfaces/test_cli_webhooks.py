import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.surfaces.receiving import Post
from tests.surfaces.test_cli import Cli, cli, on

__all__ = ["cli", "on"]


@contextmanager
def receiver(status: int) -> Generator[tuple[str, list[Post]]]:
    """An address, and what was posted there."""
    posted: list[Post] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            posted.append(Post(headers, self.rfile.read(int(headers["content-length"]))))
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the library calls it
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", posted
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_webhooks_are_added_tried_listed_and_removed(on: Cli):
    with receiver(200) as (url, posted):
        allowed = {"PRECEPTOR_EGRESS_ALLOW": url}
        hook = on("webhooks", "add", url, "--event", "version.published", "--json", **allowed).json
        assert hook["events"] == ["version.published"]
        assert "It answered 200." in on("webhooks", "test", hook["webhookId"], **allowed).out
        assert posted[0].is_signed_with(hook["secret"])
        assert url in on("webhooks", "list", **allowed).out
        on("instructions", "create", "--name", "Manner", "--type", "system", "--prompt", "Be brief.", **allowed)
        [told] = on("webhooks", "deliveries", hook["webhookId"], "--json", **allowed).json
        assert told["event"] == "version.published"
        assert on("webhooks", "redeliver", hook["webhookId"], told["deliveryId"], **allowed).code == 0
        assert told["deliveryId"] in on("webhooks", "deliveries", hook["webhookId"], **allowed).out
        assert on("webhooks", "remove", hook["webhookId"], **allowed).code == 0
        assert on("webhooks", "list", "--json", **allowed).json == []


def test_a_secret_is_rotated_and_the_new_one_shown_once(on: Cli):
    with receiver(200) as (url, posted):
        allowed = {"PRECEPTOR_EGRESS_ALLOW": url}
        old = on("webhooks", "add", url, "--json", **allowed).json
        said = on("webhooks", "rotate", old["webhookId"], **allowed).out
        both = said.split()[0]
        assert both.startswith("whsec_")
        assert "Former secrets end at" in said
        on("webhooks", "test", old["webhookId"], **allowed)
        assert [posted[-1].is_signed_with(secret) for secret in (old["secret"], both)] == [True, True]
        alone = on("webhooks", "rotate", old["webhookId"], "--overlap-hours", "0", "--json", **allowed).json["secret"]
        on("webhooks", "test", old["webhookId"], **allowed)
        assert [posted[-1].is_signed_with(secret) for secret in (old["secret"], both, alone)] == [False, False, True]
        assert on("webhooks", "rotate", old["webhookId"], "--overlap-hours", "200", **allowed).code == 2


def test_a_webhook_that_is_not_taken_or_not_allowed_is_a_failure(on: Cli):
    with receiver(500) as (url, _):
        allowed = {"PRECEPTOR_EGRESS_ALLOW": url}
        refused = on("webhooks", "add", url)
        assert (refused.code, "PRECEPTOR_EGRESS_ALLOW" in refused.err) == (2, True)
        made = on("webhooks", "add", url, **allowed)
        assert made.out.startswith("whsec_")
        [hook] = on("webhooks", "list", "--json", **allowed).json
        tried = on("webhooks", "test", hook["webhookId"], **allowed)
        assert (tried.code, tried.out.startswith("It answered 500.")) == (1, True)
